"""The Kubernetes objects that a replica set consists of, as they are wanted. Pure."""

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
    """Give the name of what runs the arbiters."""
    return f"{mgors.name}-arbiter"


def keyfile_name(mgors: Mgors) -> str:
    """Give the name of the Secret by which members know each other."""
    return f"{mgors.name}-keyfile"


def admin_name(mgors: Mgors) -> str:
    """Give the name of the administrator's Secret."""
    return (mgors.spec.auth and mgors.spec.auth.secret_name) or f"{mgors.name}-admin"


def selector_of(mgors: Mgors) -> str:
    """Give the selector of all its pods."""
    return f"{CLUSTER}={mgors.name}"


def host_of(pod: Pod, mgors: Mgors) -> str:
    """Return the address of a member; empty while it is not known.

    It is the pod's name in the cluster. On a laptop, where pods are processes with loopback addresses, names cannot be
    resolved, and addresses stay. The port is the one that the pod was started with, whatever the object says by now.
    """
    address = pod.status.pod_ip or ""
    if not address:
        return ""
    where = address if address.startswith("127.") else f"{pod.name}.{mgors.name}.{mgors.namespace}.svc"
    ports = [port.container_port for one in pod.spec.containers for port in one.ports or [] if port.name == _PORT]
    return f"{where}:{ports[0] if ports else mgors.spec.port}"


def service_of(mgors: Mgors) -> Service:
    """Give the pods their names, ready or not: members must find each other before they are."""
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
    """Return the size that each disk is to have."""
    return Quantity(str((mgors.spec.storage or Storage()).size or "10Gi"))


def members_of(mgors: Mgors, replicas: int, existing: StatefulSet | None = None) -> StatefulSet:
    """Return the members that have data. The operator replaces their pods: it knows which one is the primary.

    Templates of claims cannot change: those of a StatefulSet that exists stay, and claims grow by themselves.
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
    """Give the arbiters: they vote and have no data, so what they write may go with their pod."""
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
    """Copy the keyfile: mongod takes only one that is its own and that nobody else can read."""
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
    asked = Probe(tcp_socket=TCPSocketAction(port=port), period_seconds=5)
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
        readiness_probe=asked,
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
