"""`Shape`: how an operator is deployed, where its declarations leave that open."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from steersman.errors import ConfigError, DeclarationError
from steersman.json_types import JsonObject
from steersman.manager.operator import Operator
from steersman.objects.quantity import Quantity
from steersman.scaffold.manifests.settings import Volume, parsed
from steersman.validation.names import dns1035_faults, label_faults

#: The port of probes and metrics, and that of webhooks.
PORT: Final = 8080
WEBHOOK_PORT: Final = 9443
_DEFAULT_REPLICAS: Final = 2
#: Seconds of ``steer run --grace``, and those that a pod gets beyond it to end.
_GRACE: Final = 30.0
_BEYOND_GRACE: Final = 10.0
#: Default resource requests and limits of the operator's container.
RESOURCES: Final = {
    "requests": {"cpu": "10m", "memory": "64Mi"},
    "limits": {"cpu": "500m", "memory": "256Mi"},
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Shape:
    """How and where an operator is deployed."""

    image: str
    namespace: str
    #: Replicas, of which one leads; all of an operator with shards work.
    replicas: int = _DEFAULT_REPLICAS
    #: The namespaces that the operator watches; empty means all, and needs permissions for the whole cluster.
    watch: tuple[str, ...] = ()
    #: An existing Secret with the certificate of the webhooks; without one the operator creates its own.
    webhook_secret: str = ""
    #: The folder of a container in which another program puts that certificate.
    webhook_certs: str = ""
    #: What the pods mount, by folder: all that an operator can keep.
    volumes: Mapping[str, Volume] = field(default_factory=dict)
    #: Further arguments of ``steer run``.
    args: tuple[str, ...] = ()
    #: Environment variables and their sources, as Kubernetes writes them.
    env: tuple[JsonObject, ...] = ()
    env_from: tuple[JsonObject, ...] = ()
    resources: Mapping[str, Mapping[str, str]] = field(default_factory=lambda: RESOURCES)
    node_selector: Mapping[str, str] = field(default_factory=dict)
    tolerations: tuple[JsonObject, ...] = ()
    image_pull_secrets: tuple[JsonObject, ...] = ()
    #: Whether a ServiceMonitor, alert rules and a dashboard belong to the manifests.
    monitoring: bool = False

    def __post_init__(self) -> None:
        for namespace in (self.namespace, *self.watch):
            if faults := label_faults(namespace):
                raise ConfigError(f"{namespace!r} is not a namespace: {faults[0]}")
        if not self.image or any(letter.isspace() for letter in self.image):
            raise ConfigError(f"{self.image!r} is not an image: write one such as registry.example.com/operator:1.0")
        if self.replicas < 1:
            raise ConfigError(f"an operator needs at least one replica, not {self.replicas}")
        _grace_in(self.args)
        limits = self.resources.get("limits", {})
        for name, amount in self.resources.get("requests", {}).items():
            if name in limits and Quantity(amount) > Quantity(limits[name]):
                raise ConfigError(f"resources: {amount} of {name} is requested, more than its limit {limits[name]}")

    @property
    def termination_seconds(self) -> int:
        """Grace period of a pod in seconds: that of ``--grace`` among the arguments, and some."""
        return int(_grace_in(self.args) + _BEYOND_GRACE)

    @property
    def processes(self) -> int:
        """Number of processes in a pod: that of ``--processes`` among the arguments."""
        return int(_number_in(self.args, "--processes", 1, "a number"))


def _grace_in(args: tuple[str, ...]) -> float:
    return _number_in(args, "--grace", _GRACE, "a number of seconds")


def _number_in(args: tuple[str, ...], name: str, default: float, what: str) -> float:
    """Return the number of ``--grace=60`` or ``--grace 60``."""
    for number, argument in enumerate(args):
        option, equals, value = argument.partition("=")
        if option == name:
            try:
                return float(value if equals else args[number + 1])
            except (ValueError, IndexError):
                raise ConfigError(f"args: {argument!r} is not followed by {what}") from None
    return default


def shape_from(settings: JsonObject, name: str, *, version: str, image: str = "") -> Shape:
    """Return the shape of ``[tool.steersman]`` of a project; ``ConfigError`` names the key that is wrong."""
    found = parsed(settings)
    if "resources" in found:
        found["resources"] = RESOURCES | found["resources"]
    if image:
        found["image"] = image
    return Shape(**{"image": f"{name}:{version}", "namespace": f"{name}-system", **found})


def name_of(operator: Operator) -> str:
    """Return the name that all objects of an operator share."""
    if faults := dns1035_faults(operator.name):
        raise DeclarationError(f"an operator named {operator.name!r} cannot be deployed: {faults[0]}")
    return operator.name


def labels_of(name: str) -> dict[str, str]:
    """Return the labels of all objects of an operator."""
    return {"app.kubernetes.io/name": name, "app.kubernetes.io/managed-by": "steer"}


def selector_of(name: str) -> dict[str, str]:
    """Return the labels that select the operator's pods; they never change."""
    return {"app.kubernetes.io/name": name}


def metadata(name: str, *, of: str, namespace: str = "") -> JsonObject:
    """Return the metadata of an object of an operator."""
    place = {"namespace": namespace} if namespace else {}
    return {"name": name, **place, "labels": labels_of(of)}
