"""The address at which the API server calls the webhooks: a Service of the cluster, or a URL."""

from dataclasses import dataclass
from typing import Protocol
from urllib.parse import urlsplit

from steersman.errors import ConfigError
from steersman.json_types import JsonObject


class Address(Protocol):
    """An address that the API server can call."""

    def client_config(self, path: str) -> JsonObject:
        """Return the ``clientConfig`` of a webhook at a path, without its ``caBundle``."""

    @property
    def names(self) -> tuple[str, ...]:
        """Host names that the serving certificate must cover."""


@dataclass(frozen=True, slots=True)
class ServiceAddress:
    """A Service in the cluster."""

    namespace: str
    name: str

    def client_config(self, path: str) -> JsonObject:
        """Return a reference to the Service."""
        return {"service": {"namespace": self.namespace, "name": self.name, "path": path}}

    @property
    def names(self) -> tuple[str, ...]:
        """Host name by which the API server calls the Service."""
        return (f"{self.name}.{self.namespace}.svc",)

    def __str__(self) -> str:
        return f"{self.namespace}/{self.name}"


@dataclass(frozen=True, slots=True)
class UrlAddress:
    """A URL, for an operator that runs outside the cluster."""

    base: str

    def __post_init__(self) -> None:
        parts = urlsplit(self.base)
        if parts.scheme != "https" or not parts.hostname or parts.path.strip("/") or parts.query:
            raise ConfigError(f"{self.base!r} is not a webhook URL: write https://HOST:PORT")

    def client_config(self, path: str) -> JsonObject:
        """Return the full URL."""
        return {"url": f"{self.base.rstrip('/')}{path}"}

    @property
    def names(self) -> tuple[str, ...]:
        """Host of the URL."""
        return (urlsplit(self.base).hostname or "",)

    def __str__(self) -> str:
        return self.base
