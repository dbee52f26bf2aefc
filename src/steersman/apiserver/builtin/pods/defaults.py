"""Defaults of pods and pod templates."""

from collections.abc import Callable, Iterator

from steersman.apiserver.builtin.common.defaults import set_default
from steersman.apiserver.builtin.pods.pod_resources import default_pod_resources
from steersman.golang.empty_values import GivenMap
from steersman.json_types import JsonObject

_MODE = 0o644


def default_pull_policy(image: str) -> str:
    """Return ``Always`` for images without a fixed tag or digest."""
    if not image:
        return "IfNotPresent"
    name = image.rpartition("@")
    if name[1]:
        return "IfNotPresent"
    _, _, last = image.rpartition("/")
    _, colon, tag = last.partition(":")
    return "Always" if not colon or tag == "latest" else "IfNotPresent"


def _default_http(handler: JsonObject) -> None:
    if handler.get("httpGet") is not None:
        set_default(handler["httpGet"], path="/", scheme="HTTP")


def _default_probe(probe: JsonObject) -> None:
    set_default(probe, timeoutSeconds=1, periodSeconds=10, successThreshold=1, failureThreshold=3)
    _default_http(probe)
    if probe.get("grpc") is not None:
        set_default(probe["grpc"], service="")


def _default_env(container: JsonObject) -> None:
    for variable in container.get("env") or ():
        source = variable.get("valueFrom") or {}
        if source.get("fieldRef") is not None:
            set_default(source["fieldRef"], apiVersion="v1")
        if source.get("fileKeyRef") is not None:
            set_default(source["fileKeyRef"], optional=False)


def _default_container(container: JsonObject) -> None:
    set_default(
        container,
        terminationMessagePath="/dev/termination-log",
        terminationMessagePolicy="File",
        imagePullPolicy=default_pull_policy(container.get("image", "")),
    )
    for port in container.get("ports") or ():
        set_default(port, protocol="TCP")
    for name in ("livenessProbe", "readinessProbe", "startupProbe"):
        if container.get(name) is not None:
            _default_probe(container[name])
    for hook in (container.get("lifecycle") or {}).values():
        if hook.__class__ is dict:
            _default_http(hook)
    _default_env(container)


def containers_of(spec: JsonObject) -> Iterator[JsonObject]:
    """Yield every container of a pod."""
    for name in ("initContainers", "containers", "ephemeralContainers"):
        yield from spec.get(name) or ()


def _default_claim_template(source: JsonObject) -> None:
    spec = (source.get("volumeClaimTemplate") or {}).get("spec")
    if spec is not None:
        set_default(spec, volumeMode="Filesystem")


def _default_projected(source: JsonObject) -> None:
    set_default(source, defaultMode=_MODE)
    for part in source.get("sources") or ():
        if part.get("serviceAccountToken") is not None:
            set_default(part["serviceAccountToken"], expirationSeconds=3600)
        if part.get("downwardAPI") is not None:
            _default_items(part["downwardAPI"])


def _default_items(source: JsonObject) -> None:
    for item in source.get("items") or ():
        if item.get("fieldRef") is not None:
            set_default(item["fieldRef"], apiVersion="v1")


def _default_downward(source: JsonObject) -> None:
    set_default(source, defaultMode=_MODE)
    _default_items(source)


def _default_image(source: JsonObject) -> None:
    set_default(source, pullPolicy=default_pull_policy(source.get("reference", "")))


_VOLUMES: dict[str, Callable[[JsonObject], None]] = {
    "secret": lambda source: set_default(source, defaultMode=_MODE),
    "configMap": lambda source: set_default(source, defaultMode=_MODE),
    "hostPath": lambda source: set_default(source, type=""),
    "downwardAPI": _default_downward,
    "projected": _default_projected,
    "ephemeral": _default_claim_template,
    "image": _default_image,
    "iscsi": lambda source: set_default(source, iscsiInterface="default"),
    "rbd": lambda source: set_default(source, pool="rbd", user="admin", keyring="/etc/ceph/keyring"),
    "azureDisk": lambda source: set_default(
        source, cachingMode="ReadWrite", kind="Shared", fsType="ext4", readOnly=False
    ),
    "scaleIO": lambda source: set_default(source, storageMode="ThinProvisioned", fsType="xfs"),
}


def _default_volume(volume: JsonObject) -> None:
    if set(volume) <= {"name"}:
        volume["emptyDir"] = {}
        return
    for name, source in volume.items():
        default = _VOLUMES.get(name)
        if default is not None and source is not None:
            default(source)


def _open_on_host(spec: JsonObject) -> None:
    """Set the host ports of a pod that uses the network of its node."""
    for container in containers_of(spec):
        for port in container.get("ports") or ():
            if not port.get("hostPort"):
                port["hostPort"] = port.get("containerPort", 0)


def default_pod_spec(spec: JsonObject) -> None:
    """Set the defaults of a pod's spec, in a pod or in a template."""
    set_default(
        spec,
        restartPolicy="Always",
        dnsPolicy="ClusterFirst",
        schedulerName="default-scheduler",
        terminationGracePeriodSeconds=30,
        securityContext={},
    )
    if spec.get("serviceAccountName"):
        spec["serviceAccount"] = spec["serviceAccountName"]
    elif spec.get("serviceAccount"):
        spec["serviceAccountName"] = spec["serviceAccount"]
    for container in containers_of(spec):
        _default_container(container)
    for volume in spec.get("volumes") or ():
        _default_volume(volume)


def default_template(template: JsonObject | None) -> None:
    """Set the defaults of a pod template."""
    if template is not None and template.get("spec") is not None:
        default_pod_spec(template["spec"])


def default_requests(resources: JsonObject | None) -> None:
    """Set requests to the limits where no request is given."""
    limits = (resources or {}).get("limits")
    if resources is None or limits is None:
        return
    requests = resources.get("requests") or {}
    merged = {**{name: value for name, value in limits.items() if name not in requests}, **requests}
    if merged:
        resources["requests"] = merged
    else:
        # Empty limits lead to empty requests.
        resources.setdefault("requests", GivenMap())


def default_pod(obj: JsonObject) -> None:
    """Set the defaults of a pod."""
    spec = obj["spec"]
    default_pod_spec(spec)
    set_default(spec, enableServiceLinks=True)
    for container in containers_of(spec):
        default_requests(container.get("resources"))
    default_pod_resources(spec)
    if spec.get("hostNetwork"):
        _open_on_host(spec)


def default_pod_template(obj: JsonObject) -> None:
    """Set the defaults of a PodTemplate."""
    default_template(obj.get("template"))
