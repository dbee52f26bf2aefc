"""The wanted Kubernetes objects of a replica set: pure functions."""

from steersman import Quantity, meta
from steersman.kinds.apps_v1 import StatefulSet, StatefulSetSpec, StatefulSetUpdateStrategy
from steersman.kinds.core_v1 import (
    Container,
    ContainerPort,
    EmptyDirVolumeSource,
    EnvVar,
    EnvVarSource,
    ObjectFieldSelector,
    PersistentVolumeClaim,
    PersistentVolumeClaimSpec,
    Pod,
    PodSecurityContext,
    PodSpec,
    PodTemplateSpec,
    Probe,
    SecretKeySelector,
    SecretVolumeSource,
    Service,
    ServicePort,
    ServiceSpec,
    TCPSocketAction,
    Volume,
    VolumeMount,
    VolumeResourceRequirements,
)
from steersman.kinds.meta_v1 import LabelSelector

from mgors.api.mgors_v1 import Mgors, Storage

CLUSTER = "mongo.example.com/cluster"
ROLE = "mongo.example.com/role"
_EXPORTER = "percona/mongodb_exporter:0.47"
#: The user that the image runs as.
_MONGODB = 999
_KEY = "/etc/mgors/keyfile"
_GRACE = 60
_PORT = "mongodb"


def arbiters_name(mgors: Mgors) -> str:
    """Return the name of the StatefulSet of the arbiters."""
    return f"{mgors.name}-arbiter"


def keyfile_name(mgors: Mgors) -> str:
    """Return the name of the Secret with which members authenticate each other."""
    return f"{mgors.name}-keyfile"


def admin_name(mgors: Mgors) -> str:
    """Return the name of the administrator's Secret."""
    return (mgors.spec.auth and mgors.spec.auth.secret_name) or f"{mgors.name}-admin"


def selector_of(mgors: Mgors) -> str:
    """Return the selector of all pods of a replica set."""
    return f"{CLUSTER}={mgors.name}"


def host_of(pod: Pod, mgors: Mgors) -> str:
    """Return the address of a member; empty while it is not known.

    It is the DNS name of the pod. Where pods are local processes with loopback addresses, names cannot be resolved, and
    the IP is used. The port is the one that the pod was started with, whatever the current spec is.
    """
    address = pod.status.pod_ip or ""
    if not address:
        return ""
    where = address if address.startswith("127.") else f"{pod.name}.{mgors.name}.{mgors.namespace}.svc"
    ports = [port.container_port for one in pod.spec.containers for port in one.ports or [] if port.name == _PORT]
    return f"{where}:{ports[0] if ports else mgors.spec.port}"


def service_of(mgors: Mgors) -> Service:
    """Return the Service that gives pods DNS names, also before they are ready: members must find each other."""
    ports = [ServicePort(name=_PORT, port=mgors.spec.port)]
    if mgors.spec.monitoring and mgors.spec.monitoring.enabled:
        ports.append(ServicePort(name="metrics", port=mgors.spec.monitoring.port))
    return Service(
        meta(mgors.name, labels={CLUSTER: mgors.name}),
        spec=ServiceSpec(
            cluster_ip="None", publish_not_ready_addresses=True, selector={CLUSTER: mgors.name}, ports=ports
        ),
    )


def disk_size(mgors: Mgors) -> Quantity:
    """Return the wanted size of each disk."""
    return Quantity(str((mgors.spec.storage or Storage()).size or "10Gi"))


def members_of(mgors: Mgors, replicas: int, existing: StatefulSet | None = None) -> StatefulSet:
    """Return the StatefulSet of the members. The operator replaces their pods, because it knows the primary.

    The template of claims of an existing StatefulSet cannot change, so it stays; claims are resized one by one.
    """
    claim = PersistentVolumeClaim(
        meta("data"),
        spec=PersistentVolumeClaimSpec(
            access_modes=["ReadWriteOnce"],
            storage_class_name=(mgors.spec.storage or Storage()).class_name,
            resources=VolumeResourceRequirements(requests={"storage": _first_size(existing) or disk_size(mgors)}),
        ),
    )
    return _stateful_set(mgors, mgors.name, "member", replicas, [claim])


def _first_size(existing: StatefulSet | None) -> Quantity | None:
    """Return the size that the disks of a StatefulSet were created with."""
    for claim in (existing.spec.volume_claim_templates or []) if existing else []:
        if claim.spec.resources and claim.spec.resources.requests:
            return claim.spec.resources.requests.get("storage")
    return None


def arbiters_of(mgors: Mgors, replicas: int) -> StatefulSet:
    """Return the StatefulSet of the arbiters: they vote and have no data, so they need no disk."""
    return _stateful_set(mgors, arbiters_name(mgors), "arbiter", replicas, [])


def _stateful_set(
    mgors: Mgors, name: str, role: str, replicas: int, claims: list[PersistentVolumeClaim]
) -> StatefulSet:
    labels = {CLUSTER: mgors.name, ROLE: role}
    volumes = [
        Volume(name="secret", secret=SecretVolumeSource(secret_name=keyfile_name(mgors), default_mode=0o440)),
        Volume(name="keyfile", empty_dir=EmptyDirVolumeSource()),
    ]
    if not claims:
        volumes.append(Volume(name="data", empty_dir=EmptyDirVolumeSource()))
    return StatefulSet(
        meta(name, labels=labels),
        spec=StatefulSetSpec(
            replicas=replicas,
            service_name=mgors.name,
            pod_management_policy="Parallel",
            update_strategy=StatefulSetUpdateStrategy(type="OnDelete"),
            selector=LabelSelector(match_labels=labels),
            volume_claim_templates=claims or None,
            template=PodTemplateSpec(
                metadata=meta(labels=labels),
                spec=PodSpec(
                    termination_grace_period_seconds=_GRACE,
                    security_context=PodSecurityContext(
                        run_as_non_root=True, run_as_user=_MONGODB, run_as_group=_MONGODB, fs_group=_MONGODB
                    ),
                    init_containers=[_key_copy(mgors)],
                    containers=[_mongod(mgors), *_exporter(mgors)],
                    volumes=volumes,
                ),
            ),
        ),
    )


def _key_copy(mgors: Mgors) -> Container:
    """Copy the keyfile: mongod requires that it owns the file and that no other user can read it."""
    return Container(
        name="keyfile",
        image=mgors.spec.image,
        command=["sh", "-c", f"cp /run/secret/keyfile {_KEY} && chmod 400 {_KEY}"],
        volume_mounts=[
            VolumeMount(name="secret", mount_path="/run/secret", read_only=True),
            VolumeMount(name="keyfile", mount_path="/etc/mgors"),
        ],
    )


def _mongod(mgors: Mgors) -> Container:
    port = mgors.spec.port
    probe = Probe(tcp_socket=TCPSocketAction(port=port), period_seconds=5)
    where = EnvVarSource(field_ref=ObjectFieldSelector(field_path="status.podIP"))
    return Container(
        name="mongod",
        image=mgors.spec.image,
        args=[
            *("--replSet", mgors.set_name),
            *("--bind_ip", "$(POD_IP)"),
            *("--port", str(port)),
            *("--dbpath", "/data/db"),
            *("--keyFile", _KEY),
        ],
        env=[EnvVar(name="POD_IP", value_from=where)],
        ports=[ContainerPort(name=_PORT, container_port=port)],
        readiness_probe=probe,
        volume_mounts=[
            VolumeMount(name="data", mount_path="/data/db"),
            VolumeMount(name="keyfile", mount_path="/etc/mgors", read_only=True),
        ],
    )


def _exporter(mgors: Mgors) -> list[Container]:
    monitoring = mgors.spec.monitoring
    if monitoring is None or not monitoring.enabled:
        return []
    keys = {"MONGODB_USER": "username", "MONGODB_PASSWORD": "password"}
    env = [EnvVar(name="POD_IP", value_from=EnvVarSource(field_ref=ObjectFieldSelector(field_path="status.podIP")))]
    env += [
        EnvVar(name=name, value_from=EnvVarSource(secret_key_ref=SecretKeySelector(name=admin_name(mgors), key=key)))
        for name, key in keys.items()
    ]
    return [
        Container(
            name="exporter",
            image=_EXPORTER,
            args=[
                f"--mongodb.uri=mongodb://$(POD_IP):{mgors.spec.port}",
                f"--web.listen-address=:{monitoring.port}",
                "--collect-all",
            ],
            env=env,
            ports=[ContainerPort(name="metrics", container_port=monitoring.port)],
        )
    ]
