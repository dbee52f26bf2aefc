"""The objects that a RedisFailover consists of, under the names that spotahome's operator gives them. Plain functions.

Every server starts as a replica of itself: it has no master and is none, until it is told. So one that restarts with
an empty disk never hands its emptiness to others.
"""

from steersman import meta
from steersman.kinds.apps_v1 import Deployment, DeploymentSpec, StatefulSet, StatefulSetSpec, StatefulSetUpdateStrategy
from steersman.kinds.apps_v1 import StatefulSetPersistentVolumeClaimRetentionPolicy as Retention
from steersman.kinds.core_v1 import (
    ConfigMap,
    ConfigMapVolumeSource,
    Container,
    ContainerPort,
    EmptyDirVolumeSource,
    EnvVar,
    EnvVarSource,
    ObjectFieldSelector,
    PersistentVolumeClaim,
    PodSpec,
    PodTemplateSpec,
    Probe,
    SecretKeySelector,
    Service,
    ServicePort,
    ServiceSpec,
    TCPSocketAction,
    Volume,
    VolumeMount,
)
from steersman.kinds.meta_v1 import LabelSelector
from steersman.kinds.policy_v1 import PodDisruptionBudget, PodDisruptionBudgetSpec
from steersman.objects.resource import KubeObject

from redisfailover.api.redis_failover_v1 import RedisFailover
from redisfailover.names import (
    ROLE,
    SENTINEL_PORT,
    labels_of,
    master_service,
    redis_name,
    replica_service,
    sentinel_name,
)
from redisfailover.settings import redis_conf

_POD_IP = EnvVar(name="POD_IP", value_from=EnvVarSource(field_ref=ObjectFieldSelector(field_path="status.podIP")))


def services_of(failover: RedisFailover) -> list[KubeObject]:
    """Give the services, and the budgets for whoever drains nodes."""
    name, port = failover.name, failover.spec.redis.port
    redis, sentinel = labels_of(name, "redis"), labels_of(name, "sentinel")
    return [
        _service(master_service(name), "redis", port, {**redis, ROLE: "master"}),
        _service(replica_service(name), "redis", port, {**redis, ROLE: "slave"}),
        _service(sentinel_name(name), "sentinel", SENTINEL_PORT, sentinel),
        _budget(redis_name(name), failover.spec.redis.replicas, redis),
        _budget(sentinel_name(name), failover.spec.sentinel.replicas, sentinel),
        ConfigMap(meta(sentinel_name(name), labels=sentinel), data={"sentinel.conf": f"port {SENTINEL_PORT}\n"}),
    ]


def config_map_of(failover: RedisFailover) -> ConfigMap:
    """Give what servers read when they start."""
    data = {"redis.conf": redis_conf(failover.spec.redis.custom_config)}
    return ConfigMap(meta(redis_name(failover.name), labels=labels_of(failover.name, "redis")), data=data)


def stateful_set_of(failover: RedisFailover) -> StatefulSet:
    """Give the servers. Their pods are replaced by the operator, which knows who is master."""
    name, redis = redis_name(failover.name), failover.spec.redis
    labels = labels_of(failover.name, "redis")
    claim = redis.storage.persistent_volume_claim
    data = claim.metadata.name if claim is not None else "redis-data"
    volumes = [Volume(name="config", config_map=ConfigMapVolumeSource(name=name))]
    if claim is None:
        volumes.append(Volume(name=data, empty_dir=EmptyDirVolumeSource()))
    when_deleted = "Retain" if redis.storage.keep_after_deletion else "Delete"
    return StatefulSet(
        meta(name, labels=labels),
        spec=StatefulSetSpec(
            replicas=redis.replicas,
            service_name=name,
            selector=LabelSelector(match_labels=labels),
            pod_management_policy="Parallel",
            update_strategy=StatefulSetUpdateStrategy(type="OnDelete"),
            template=PodTemplateSpec(
                metadata=meta(labels=labels),
                spec=PodSpec(containers=[_redis_container(failover, data)], volumes=volumes),
            ),
            volume_claim_templates=[PersistentVolumeClaim(meta(data), spec=claim.spec)] if claim else None,
            persistent_volume_claim_retention_policy=Retention(when_deleted=when_deleted, when_scaled="Retain"),
        ),
    )


def deployment_of(failover: RedisFailover) -> Deployment:
    """Give the sentinels. Each keeps what it knows in a file of its own, so it gets a copy that it can write to."""
    name, sentinel = sentinel_name(failover.name), failover.spec.sentinel
    labels = labels_of(failover.name, "sentinel")
    config = VolumeMount(name="config", mount_path="/redis")
    writable = VolumeMount(name="writable", mount_path="/redis-writable")
    copy = Container(
        name="sentinel-config-copy",
        image=sentinel.image,
        command=["cp", "/redis/sentinel.conf", "/redis-writable/sentinel.conf"],
        volume_mounts=[config, writable],
    )
    container = Container(
        name="sentinel",
        image=sentinel.image,
        command=["redis-sentinel", "/redis-writable/sentinel.conf", *_at("$(POD_IP)")],
        env=[_POD_IP],
        ports=[ContainerPort(name="sentinel", container_port=SENTINEL_PORT)],
        resources=sentinel.resources,
        readiness_probe=_listens(SENTINEL_PORT),
        volume_mounts=[writable],
    )
    volumes = [
        Volume(name="config", config_map=ConfigMapVolumeSource(name=name)),
        Volume(name="writable", empty_dir=EmptyDirVolumeSource()),
    ]
    return Deployment(
        meta(name, labels=labels),
        spec=DeploymentSpec(
            replicas=sentinel.replicas,
            selector=LabelSelector(match_labels=labels),
            template=PodTemplateSpec(
                metadata=meta(labels=labels),
                spec=PodSpec(init_containers=[copy], containers=[container], volumes=volumes),
            ),
        ),
    )


def _redis_container(failover: RedisFailover, data: str) -> Container:
    redis, secret = failover.spec.redis, failover.spec.auth.secret_path
    env, password = [_POD_IP], []
    if secret:
        key = SecretKeySelector(name=secret, key="password")
        env = [_POD_IP, EnvVar(name="REDIS_PASSWORD", value_from=EnvVarSource(secret_key_ref=key))]
        password = ["--requirepass", "$(REDIS_PASSWORD)", "--masterauth", "$(REDIS_PASSWORD)"]
    port = str(redis.port)
    # The settings are included: a file of its own is one that Redis, told by a sentinel, would write to.
    command = ["redis-server", "--include", "/redis/redis.conf", *_at("$(POD_IP)"), "--port", port, "--dir", "/data"]
    return Container(
        name="redis",
        image=redis.image,
        command=[*command, *password, "--replicaof", "$(POD_IP)", port],
        env=env,
        ports=[ContainerPort(name="redis", container_port=redis.port)],
        resources=redis.resources,
        readiness_probe=_listens(redis.port),
        termination_message_policy="FallbackToLogsOnError",
        volume_mounts=[VolumeMount(name="config", mount_path="/redis"), VolumeMount(name=data, mount_path="/data")],
    )


def _listens(port: int) -> Probe:
    return Probe(tcp_socket=TCPSocketAction(port=port), initial_delay_seconds=1, period_seconds=2, timeout_seconds=2)


def _at(address: str) -> list[str]:
    """Listen at one address and speak from it: peers know each other by where they hear each other from."""
    return ["--bind", address, "--bind-source-addr", address, "--protected-mode", "no"]


def _service(name: str, port_name: str, port: int, selector: dict[str, str]) -> Service:
    ports = [ServicePort(name=port_name, port=port, target_port=port)]
    return Service(meta(name, labels=selector), spec=ServiceSpec(ports=ports, selector=selector))


def _budget(name: str, replicas: int, labels: dict[str, str]) -> PodDisruptionBudget:
    # As spotahome's: two stay if there are more than two, otherwise one.
    spec = PodDisruptionBudgetSpec(
        min_available=min(2, max(replicas - 1, 1)), selector=LabelSelector(match_labels=labels)
    )
    return PodDisruptionBudget(meta(name, labels=labels), spec=spec)
