"""Where the API server finds the webhooks: by a Service of the cluster, or by a URL."""

from dataclasses import dataclass
from typing import Any, Protocol
from urllib.parse import urlsplit

from steersman.errors import ConfigError


class Address(Protocol):
    """A place that the API server can call."""

    def client_config(self, path: str) -> dict[str, Any]:
        """Give the ``clientConfig`` of a webhook at a path, without its ``caBundle``."""

    @property
    def names(self) -> tuple[str, ...]:
        """The names that a serving certificate must be for."""


@dataclass(frozen=True, slots=True)
class ServiceAddress:
    """A Service in the cluster."""

    namespace: str
    name: str

    def client_config(self, path: str) -> dict[str, Any]:
        """Refer to the Service."""
        return {"service": {"namespace": self.namespace, "name": self.name, "path": path}}

    @property
    def names(self) -> tuple[str, ...]:
        """The name that the API server calls a Service by."""
        return (f"{self.name}.{self.namespace}.svc",)

    def __str__(self) -> str:
        return f"{self.namespace}/{self.name}"


@dataclass(frozen=True, slots=True)
class UrlAddress:
    """A URL: for an operator that runs outside of the cluster."""

    base: str

    def __post_init__(self) -> None:
        parts = urlsplit(self.base)
        if parts.scheme != "https" or not parts.hostname or parts.path.strip("/") or parts.query:
            raise ConfigError(f"{self.base!r} is not an address of webhooks: write https://HOST:PORT")

    def client_config(self, path: str) -> dict[str, Any]:
        """Give the whole URL."""
        return {"url": f"{self.base.rstrip('/')}{path}"}

    @property
    def names(self) -> tuple[str, ...]:
        """The host."""
        return (urlsplit(self.base).hostname or "",)

    def __str__(self) -> str:
        return self.base
