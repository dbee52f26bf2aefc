"""Pod templates for given settings."""

from steersman import meta
from steersman.kinds.core_v1 import Container, EmptyDirVolumeSource, EnvVar, PodTemplateSpec, Probe, SecurityContext
from steersman.kinds.core_v1 import HTTPGetAction as HttpGet
from steersman.objects import encode_json

from redisfailover.api.pod_settings import Exporter
from redisfailover.api.redis_failover_v1 import (
    AuthSettings,
    RedisFailover,
    RedisFailoverSpec,
    RedisSettings,
    SentinelSettings,
    StorageSettings,
)
from redisfailover.children import services_of
from redisfailover.pods import redis_pod, sentinel_pod

AUTH = "redis-auth"


def pods(redis: RedisSettings, sentinel: SentinelSettings | None = None, secret: str = "") -> list[PodTemplateSpec]:
    """Return the pod templates of a server and of a sentinel."""
    auth = AuthSettings(secret_path=secret)
    spec = RedisFailoverSpec(redis=redis, sentinel=sentinel or SentinelSettings(), auth=auth)
    failover = RedisFailover(meta("a", namespace="default"), spec)
    return [redis_pod(failover, "redis-data"), sentinel_pod(failover)]


def containers(pod: PodTemplateSpec) -> dict[str, Container]:
    """Return the containers of a pod, keyed by name."""
    assert pod.spec is not None
    return {one.name: one for one in [*(pod.spec.init_containers or ()), *pod.spec.containers]}


def test_settings_that_are_not_set_leave_no_trace_in_pods() -> None:
    """A new field of the CRD must not change running pods: each change replaces them all."""
    for pod in pods(RedisSettings()):
        assert pod.spec is not None
        text = encode_json(pod).decode()
        for field in ("affinity", "tolerations", "annotations", "securityContext", "imagePull", "nodeSelector"):
            assert field not in text


def test_servers_and_sentinels_have_settings_of_their_own() -> None:
    """Each may have its own image."""
    redis = RedisSettings(container_security_context=SecurityContext(run_as_user=7), node_selector={"disk": "fast"})
    server, sentinel = pods(redis, SentinelSettings(image="redis:7.4", pod_annotations={"a": "b"}))
    assert server.spec is not None
    assert sentinel.spec is not None
    assert (server.spec.node_selector, sentinel.spec.node_selector) == ({"disk": "fast"}, None)
    assert containers(server)["redis"].security_context == SecurityContext(run_as_user=7)
    assert {one.image for one in containers(sentinel).values()} == {"redis:7.4"}
    assert sentinel.metadata is not None
    assert sentinel.metadata.annotations == {"a": "b"}


def test_sidecars_come_after_the_main_container() -> None:
    """The first container is the default of kubectl logs and exec."""
    beside = Container(name="beside", image="busybox")
    redis = RedisSettings(extra_containers=[beside], init_containers=[Container(name="before", image="busybox")])
    server, sentinel = pods(redis, SentinelSettings(extra_containers=[beside], init_containers=[beside]))
    assert list(containers(server)) == ["before", "redis", "beside"]
    assert sentinel.spec is not None
    assert [one.name for one in sentinel.spec.init_containers or ()] == ["sentinel-config-copy", "beside"]
    assert [one.name for one in sentinel.spec.containers] == ["sentinel", "beside"]


def test_an_exporter_knows_where_its_redis_is_and_its_password() -> None:
    """Servers listen only at the address of the pod; sentinels require no password."""
    exporter = Exporter(enabled=True, env=[EnvVar(name="REDIS_EXPORTER_LOG_FORMAT", value="txt")])
    redis = RedisSettings(port=7000, exporter=exporter)
    server, sentinel = pods(redis, SentinelSettings(exporter=exporter), secret=AUTH)
    of_server = {one.name: one for one in containers(server)["redis-exporter"].env or ()}
    of_sentinel = {one.name: one.value for one in containers(sentinel)["sentinel-exporter"].env or ()}
    assert of_server["REDIS_ADDR"].value == "redis://$(POD_IP):7000"
    password = of_server["REDIS_PASSWORD"].value_from
    assert password is not None
    assert password.secret_key_ref is not None
    assert password.secret_key_ref.name == AUTH
    assert of_sentinel["REDIS_ADDR"] == "redis://$(POD_IP):26379"
    assert "REDIS_PASSWORD" not in of_sentinel
    assert of_sentinel["REDIS_EXPORTER_LOG_FORMAT"] == "txt"
    off, _ = pods(RedisSettings(exporter=Exporter()))
    assert list(containers(off)) == ["redis"]


def test_a_probe_of_the_user_replaces_ours() -> None:
    """A container has only one readiness probe."""
    probe = Probe(http_get=HttpGet(port=80))
    server, _ = pods(RedisSettings(custom_readiness_probe=probe, custom_startup_probe=probe))
    redis = containers(server)["redis"]
    assert (redis.readiness_probe, redis.startup_probe, redis.liveness_probe) == (probe, probe, None)


def test_data_can_be_stored_in_memory() -> None:
    """A cache needs no disk."""
    memory = EmptyDirVolumeSource(medium="Memory")
    server, _ = pods(RedisSettings(storage=StorageSettings(empty_dir=memory)))
    assert server.spec is not None
    assert [one.empty_dir for one in server.spec.volumes or () if one.name == "redis-data"] == [memory]


def test_services_have_the_annotations_of_their_component() -> None:
    """Cloud providers configure load balancers by annotations."""
    spec = RedisFailoverSpec(redis=RedisSettings(service_annotations={"lead": "redis"}))
    found = services_of(RedisFailover(meta("a", namespace="default"), spec))
    annotated = {one.name: one.metadata.annotations for one in found}
    assert annotated["rfrm-a"] == annotated["rfrs-a"] == {"lead": "redis"}
    assert annotated["rfs-a"] == {}
