"""`Shape`: how an operator is deployed, where its declarations leave that open."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from steersman.errors import ConfigError, DeclarationError
from steersman.manager.operator import Operator
from steersman.schema.names import dns1035_faults, label_faults, subdomain_faults

#: The port of probes and metrics, and that of webhooks.
PORT: Final = 8080
WEBHOOK_PORT: Final = 9443
_DEFAULT_REPLICAS: Final = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class Shape:
    """Where and as what an operator runs."""

    image: str
    namespace: str
    #: Replicas, of which one leads.
    replicas: int = _DEFAULT_REPLICAS
    #: The namespaces that the operator looks at; none of them means all, and needs permissions for the whole cluster.
    watch: tuple[str, ...] = ()
    #: A Secret of somebody else's with the certificate of the webhooks; without one the operator makes its own.
    webhook_secret: str = ""
    #: The folder of a container in which somebody else puts that certificate.
    webhook_certs: str = ""
    #: Claims that the pods mount, by the folders that they are mounted at: all that an operator can keep.
    volumes: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for namespace in (self.namespace, *self.watch):
            if faults := label_faults(namespace):
                raise ConfigError(f"{namespace!r} is no namespace: {faults[0]}")
        if not self.image or any(letter.isspace() for letter in self.image):
            raise ConfigError(f"{self.image!r} is no image: write one such as registry.example.com/operator:1.0")
        if self.replicas < 1:
            raise ConfigError(f"an operator needs at least one replica, not {self.replicas}")
        for folder, claim in self.volumes.items():
            if not folder.startswith("/") or ":" in folder:
                raise ConfigError(f"volumes: {folder!r} is no folder to mount a claim at: it must begin with /")
            if faults := subdomain_faults(claim):
                raise ConfigError(f"volumes: {claim!r}, at {folder}, is no name of a claim: {faults[0]}")


def shape_from(settings: dict[str, Any], name: str, *, version: str, image: str = "") -> Shape:
    """Make the shape that a project's settings say; they have the names of its fields."""
    typed: dict[str, type] = {
        "image": str,
        "namespace": str,
        "replicas": int,
        "watch": list,
        "webhook_secret": str,
        "volumes": dict,
    }
    for key, kind in typed.items():
        if key in settings and not isinstance(settings[key], kind):
            raise ConfigError(f"[tool.steersman] {key} must be a {kind.__name__}, not {settings[key]!r}")
    return Shape(
        image=image or settings.get("image") or f"{name}:{version}",
        namespace=settings.get("namespace") or f"{name}-system",
        replicas=settings.get("replicas", _DEFAULT_REPLICAS),
        watch=tuple(str(namespace) for namespace in settings.get("watch", ())),
        webhook_secret=settings.get("webhook_secret", ""),
        volumes={folder: str(claim) for folder, claim in settings.get("volumes", {}).items()},
    )


def name_of(operator: Operator) -> str:
    """Give the name that all objects of an operator share."""
    if faults := dns1035_faults(operator.name):
        raise DeclarationError(f"an operator named {operator.name!r} cannot be deployed: {faults[0]}")
    return operator.name


def labels_of(name: str) -> dict[str, str]:
    """Give the labels of all objects of an operator."""
    return {"app.kubernetes.io/name": name, "app.kubernetes.io/managed-by": "steer"}


def selector_of(name: str) -> dict[str, str]:
    """Give the labels that select the operator's pods; they never change."""
    return {"app.kubernetes.io/name": name}


def metadata(name: str, *, of: str, namespace: str = "") -> dict[str, Any]:
    """Make the metadata of an object of an operator."""
    place = {"namespace": namespace} if namespace else {}
    return {"name": name, **place, "labels": labels_of(of)}
