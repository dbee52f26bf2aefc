"""The pod template of a replica set: mongod, a copy of its keyfile, and the exporter. Pure functions."""

from dataclasses import dataclass
from decimal import Decimal

from steersman import Quantity, meta
from steersman.kinds.core_v1 import (
    Affinity,
    Container,
    ContainerPort,
    EmptyDirVolumeSource,
    EnvVar,
    EnvVarSource,
    ObjectFieldSelector,
    PodAffinityTerm,
    PodAntiAffinity,
    PodSecurityContext,
    PodSpec,
    PodTemplateSpec,
    Probe,
    SecretKeySelector,
    SecretVolumeSource,
    TCPSocketAction,
    Volume,
    VolumeMount,
    WeightedPodAffinityTerm,
)
from steersman.kinds.meta_v1 import LabelSelector

from mgors.api.mgors_v1 import Mgors, MongodSettings, PodSettings, Tls, TlsMode
from mgors.names import CLUSTER, PORT, admin_name, keyfile_name, tls_name
from mgors.tls import OPTION, ignores_hostnames, uses_tls, wanted_tls

#: Annotation of pods that identifies their keyfile.
KEYFILE = "mongo.example.com/keyfile"
_EXPORTER = "percona/mongodb_exporter:0.47"
#: The user that the image runs as.
_MONGODB = 999
_KEY = "/etc/mgors/keyfile"
_TLS = "/etc/tls"
_GRACE = 60
_GIBI = Decimal(2**30)
#: Gibibytes of the smallest cache that mongod accepts as its default.
_SMALLEST_CACHE = Decimal("0.25")
_POD_IP = EnvVar(name="POD_IP", value_from=EnvVarSource(field_ref=ObjectFieldSelector(field_path="status.podIP")))


@dataclass(frozen=True, slots=True, kw_only=True)
class Revision:
    """What the current pod template has where the spec alone does not decide it: changes that need several steps."""

    image: str
    #: Identifies the keyfile, so that pods are replaced when it changes; empty if it was never rotated.
    keyfile: str = ""
    tls_mode: TlsMode = "disabled"

    @property
    def annotations(self) -> dict[str, str]:
        """Annotations of the pods."""
        return {KEYFILE: self.keyfile} if self.keyfile else {}


def pod_template(mgors: Mgors, revision: Revision, labels: dict[str, str], *, has_disk: bool) -> PodTemplateSpec:
    """Return the template of the pods of one StatefulSet."""
    volumes = [
        Volume(name="secret", secret=SecretVolumeSource(secret_name=keyfile_name(mgors), default_mode=0o440)),
        Volume(name="keyfile", empty_dir=EmptyDirVolumeSource()),
    ]
    if revision.tls_mode != "disabled":
        volumes.append(Volume(name="tls", secret=SecretVolumeSource(secret_name=tls_name(mgors), default_mode=0o440)))
    if not has_disk:
        volumes.append(Volume(name="data", empty_dir=EmptyDirVolumeSource()))
    pods = mgors.spec.pods or PodSettings()
    return PodTemplateSpec(
        metadata=meta(labels=labels, annotations=revision.annotations),
        spec=PodSpec(
            termination_grace_period_seconds=_GRACE,
            security_context=PodSecurityContext(
                run_as_non_root=True, run_as_user=_MONGODB, run_as_group=_MONGODB, fs_group=_MONGODB
            ),
            affinity=_affinity(mgors.name, pods),
            node_selector=pods.node_selector,
            tolerations=pods.tolerations,
            priority_class_name=pods.priority_class_name,
            init_containers=[_key_copy(revision)],
            containers=[_mongod(mgors, revision), *_exporter(mgors, revision)],
            volumes=volumes,
        ),
    )


def _affinity(cluster: str, pods: PodSettings) -> Affinity | None:
    """Return the rule that keeps members apart: a node that fails must not take a majority with it."""
    selector = LabelSelector(match_labels={CLUSTER: cluster})
    term = PodAffinityTerm(label_selector=selector, topology_key=pods.anti_affinity_topology_key)
    match pods.anti_affinity:
        case "None":
            return None
        case "Required":
            rule = PodAntiAffinity(required_during_scheduling_ignored_during_execution=[term])
        case "Preferred":
            weighted = WeightedPodAffinityTerm(weight=100, pod_affinity_term=term)
            rule = PodAntiAffinity(preferred_during_scheduling_ignored_during_execution=[weighted])
    return Affinity(pod_anti_affinity=rule)


def _key_copy(revision: Revision) -> Container:
    """Copy the keyfile: mongod requires that it owns the file and that no other user can read it."""
    return Container(
        name="keyfile",
        image=revision.image,
        command=["sh", "-c", f"cp /run/secret/keyfile {_KEY} && chmod 400 {_KEY}"],
        volume_mounts=[
            VolumeMount(name="secret", mount_path="/run/secret", read_only=True),
            VolumeMount(name="keyfile", mount_path="/etc/mgors"),
        ],
    )


def _mongod(mgors: Mgors, revision: Revision) -> Container:
    port = mgors.spec.port
    return Container(
        name="mongod",
        image=revision.image,
        args=[
            *("--replSet", mgors.set_name),
            *("--bind_ip", "$(POD_IP)"),
            *("--port", str(port)),
            *("--dbpath", "/data/db"),
            *("--keyFile", _KEY),
            *_tls_options(wanted_tls(mgors), revision.tls_mode),
            *_own_options(mgors),
        ],
        env=[_POD_IP],
        ports=[ContainerPort(name=PORT, container_port=port)],
        readiness_probe=Probe(tcp_socket=TCPSocketAction(port=port), period_seconds=5),
        resources=(mgors.spec.pods or PodSettings()).resources,
        volume_mounts=[
            VolumeMount(name="data", mount_path="/data/db"),
            VolumeMount(name="keyfile", mount_path="/etc/mgors", read_only=True),
            *_tls_mounts(revision.tls_mode),
        ],
    )


def _tls_options(tls: Tls, mode: TlsMode) -> list[str]:
    """Return the options of TLS. Clients need no certificate: they authenticate with a password, members by keyfile."""
    if mode == "disabled":
        return []
    files = ["--tlsCertificateKeyFile", f"{_TLS}/server.pem", "--tlsCAFile", f"{_TLS}/ca.crt"]
    names = ["--tlsAllowInvalidHostnames"] if ignores_hostnames(tls) else []
    return [OPTION, mode, *files, "--tlsAllowConnectionsWithoutCertificates", *names]


def _tls_mounts(mode: TlsMode) -> list[VolumeMount]:
    return [VolumeMount(name="tls", mount_path=_TLS, read_only=True)] if mode != "disabled" else []


def _own_options(mgors: Mgors) -> list[str]:
    """Return the options of the spec, sorted, so that their order in the object does not replace pods."""
    settings = mgors.spec.mongod or MongodSettings()
    found: list[str] = []
    if cache := cache_gigabytes(mgors):
        found += ["--wiredTigerCacheSizeGB", cache]
    for name, value in sorted((settings.options or {}).items()):
        found += [f"--{name}", value] if value else [f"--{name}"]
    for name, value in sorted((settings.parameters or {}).items()):
        found += ["--setParameter", f"{name}={value}"]
    return found


def cache_gigabytes(mgors: Mgors) -> str:
    """Return the size of the cache as mongod reads it; empty if nothing limits it.

    Not all versions of mongod know the memory limit of their container: some would take half of the node's memory.
    """
    settings, pods = mgors.spec.mongod or MongodSettings(), mgors.spec.pods or PodSettings()
    if settings.cache_size is not None:
        size = Quantity(str(settings.cache_size)).value / _GIBI
    else:
        limit = (pods.resources.limits or {}).get("memory") if pods.resources else None
        if limit is None:
            return ""
        size = max((limit.value / _GIBI - 1) / 2, _SMALLEST_CACHE)
    return f"{size:.3f}".rstrip("0").rstrip(".")


def _exporter(mgors: Mgors, revision: Revision) -> list[Container]:
    monitoring = mgors.spec.monitoring
    if monitoring is None or not monitoring.enabled:
        return []
    keys = {"MONGODB_USER": "username", "MONGODB_PASSWORD": "password"}
    secret = admin_name(mgors)
    # It connects within the pod, so it verifies nothing.
    tls = "/?tls=true&tlsInsecure=true" if uses_tls(revision.tls_mode) else ""
    credentials = [
        EnvVar(name=name, value_from=EnvVarSource(secret_key_ref=SecretKeySelector(name=secret, key=key)))
        for name, key in keys.items()
    ]
    return [
        Container(
            name="exporter",
            image=_EXPORTER,
            args=[
                f"--mongodb.uri=mongodb://$(POD_IP):{mgors.spec.port}{tls}",
                f"--web.listen-address=:{monitoring.port}",
                "--collect-all",
            ],
            env=[_POD_IP, *credentials],
            ports=[ContainerPort(name="metrics", container_port=monitoring.port)],
        )
    ]
