"""Pod templates of servers and sentinels: pure functions of their settings."""

from steersman import meta
from steersman.kinds.core_v1 import (
    ConfigMapVolumeSource,
    Container,
    ContainerPort,
    EmptyDirVolumeSource,
    EnvVar,
    EnvVarSource,
    ObjectFieldSelector,
    PodSpec,
    PodTemplateSpec,
    Probe,
    SecretKeySelector,
    SecretVolumeSource,
    TCPSocketAction,
    Volume,
    VolumeMount,
)

from redisfailover.api.pod_settings import PodSettings
from redisfailover.api.redis_failover_v1 import RedisFailover
from redisfailover.names import SENTINEL_PORT, labels_of, redis_name, sentinel_name, users_name

_EXPORTER_PORT = 9121
_POD_IP = EnvVar(name="POD_IP", value_from=EnvVarSource(field_ref=ObjectFieldSelector(field_path="status.podIP")))


def redis_pod(failover: RedisFailover, data: str) -> PodTemplateSpec:
    """Return the pod template of a server; ``data`` names the volume for its data, which may be a claim."""
    redis = failover.spec.redis
    claim, empty = redis.storage.persistent_volume_claim, redis.storage.empty_dir
    volumes = [
        Volume(name="config", config_map=ConfigMapVolumeSource(name=redis_name(failover.name))),
        Volume(name="users", secret=SecretVolumeSource(secret_name=users_name(failover.name))),
    ]
    if claim is None:
        volumes.append(Volume(name=data, empty_dir=empty or EmptyDirVolumeSource()))
    spec = _pod(failover, "redis", redis, [_server(failover, data)], volumes)
    spec.init_containers = redis.init_containers
    spec.termination_grace_period_seconds = redis.termination_grace_period
    return _template(failover, "redis", redis, spec)


def sentinel_pod(failover: RedisFailover) -> PodTemplateSpec:
    """Return the pod template of a sentinel. A sentinel rewrites its configuration file, so it gets a writable copy."""
    sentinel = failover.spec.sentinel
    config = VolumeMount(name="config", mount_path="/redis")
    writable = VolumeMount(name="writable", mount_path="/redis-writable")
    copy = Container(
        name="sentinel-config-copy",
        image=sentinel.image,
        image_pull_policy=sentinel.image_pull_policy,
        command=["cp", "/redis/sentinel.conf", "/redis-writable/sentinel.conf"],
        security_context=sentinel.container_security_context,
        volume_mounts=[config, writable],
    )
    command = ["redis-sentinel", "/redis-writable/sentinel.conf", *_at("$(POD_IP)")]
    container = _container("sentinel", sentinel, SENTINEL_PORT, command, [writable])
    volumes = [
        Volume(name="config", config_map=ConfigMapVolumeSource(name=sentinel_name(failover.name))),
        Volume(name="writable", empty_dir=EmptyDirVolumeSource()),
    ]
    spec = _pod(failover, "sentinel", sentinel, [container], volumes)
    spec.init_containers = [copy, *(sentinel.init_containers or ())]
    return _template(failover, "sentinel", sentinel, spec)


def _template(failover: RedisFailover, component: str, settings: PodSettings, spec: PodSpec) -> PodTemplateSpec:
    labels = labels_of(failover.name, component)
    return PodTemplateSpec(metadata=meta(labels=labels, annotations=settings.pod_annotations or {}), spec=spec)


def _pod(
    failover: RedisFailover, component: str, settings: PodSettings, own: list[Container], volumes: list[Volume]
) -> PodSpec:
    return PodSpec(
        containers=[*own, *_exporters(failover, component, settings), *(settings.extra_containers or ())],
        volumes=[*volumes, *(settings.extra_volumes or ())],
        affinity=settings.affinity,
        image_pull_secrets=settings.image_pull_secrets,
        node_selector=settings.node_selector,
        priority_class_name=settings.priority_class_name,
        security_context=settings.security_context,
        service_account_name=settings.service_account_name,
        tolerations=settings.tolerations,
        topology_spread_constraints=settings.topology_spread_constraints,
    )


def _server(failover: RedisFailover, data: str) -> Container:
    redis, password = failover.spec.redis, []
    if failover.spec.auth.secret_path:
        password = [
            "--requirepass",
            "$(REDIS_PASSWORD)",
            "--masteruser",
            "default",
            "--masterauth",
            "$(REDIS_PASSWORD)",
        ]
    port = str(redis.port)
    # The settings are included: Redis would rewrite its main configuration file when a sentinel asks for it.
    command = ["redis-server", "--include", "/redis/redis.conf", "--include", "/redis-users/users.conf"]
    command += [*_at("$(POD_IP)"), "--port", port, "--dir", "/data"]
    # A replica of itself: it has no master and does not act as one until the operator decides.
    command += [*password, "--replicaof", "$(POD_IP)", port]
    mounts = [
        VolumeMount(name="config", mount_path="/redis"),
        VolumeMount(name="users", mount_path="/redis-users", read_only=True),
        VolumeMount(name=data, mount_path="/data"),
    ]
    container = _container("redis", redis, redis.port, command, mounts)
    container.env = [_POD_IP, *_password(failover)]
    container.termination_message_policy = "FallbackToLogsOnError"
    return container


def _container(name: str, settings: PodSettings, port: int, command: list[str], mounts: list[VolumeMount]) -> Container:
    return Container(
        name=name,
        image=settings.image,
        image_pull_policy=settings.image_pull_policy,
        command=command,
        env=[_POD_IP],
        ports=[ContainerPort(name=name, container_port=port)],
        resources=settings.resources,
        security_context=settings.container_security_context,
        liveness_probe=settings.custom_liveness_probe,
        readiness_probe=settings.custom_readiness_probe or _listens(port),
        startup_probe=settings.custom_startup_probe,
        volume_mounts=[*mounts, *(settings.extra_volume_mounts or ())],
    )


def _exporters(failover: RedisFailover, component: str, settings: PodSettings) -> list[Container]:
    exporter = settings.exporter
    if exporter is None or not exporter.enabled:
        return []
    port = failover.spec.redis.port if component == "redis" else SENTINEL_PORT
    address = EnvVar(name="REDIS_ADDR", value=f"redis://$(POD_IP):{port}")
    password = _password(failover) if component == "redis" else []
    return [
        Container(
            name=f"{component}-exporter",
            image=exporter.image,
            image_pull_policy=exporter.image_pull_policy,
            args=exporter.args,
            env=[_POD_IP, address, *password, *(exporter.env or ())],
            ports=[ContainerPort(name="http-metrics", container_port=_EXPORTER_PORT)],
            resources=exporter.resources,
            security_context=exporter.container_security_context,
        )
    ]


def _password(failover: RedisFailover) -> list[EnvVar]:
    secret = failover.spec.auth.secret_path
    key = SecretKeySelector(name=secret, key="password")
    return [EnvVar(name="REDIS_PASSWORD", value_from=EnvVarSource(secret_key_ref=key))] if secret else []


def _listens(port: int) -> Probe:
    return Probe(tcp_socket=TCPSocketAction(port=port), initial_delay_seconds=1, period_seconds=2, timeout_seconds=2)


def _at(address: str) -> list[str]:
    """Return options to listen at an address and connect from it: peers identify each other by source address."""
    return ["--bind", address, "--bind-source-addr", address, "--protected-mode", "no"]
