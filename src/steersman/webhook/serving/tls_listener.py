"""`TlsFront`: a port on which an operator's webhooks are asked, over TLS and not otherwise.

It loads the cryptography library: import it where webhooks are served.
"""

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass

from steersman.client.client import Client
from steersman.clock import Clock
from steersman.protocol.http import App
from steersman.webhook.certificates.sources import CertificateSource, MemoryStore, OwnCertificates, SecretStore
from steersman.webhook.serving.address import ServiceAddress, UrlAddress
from steersman.webhook.serving.listener import Presence
from steersman.webhook.serving.server import ServerPlace, WebhookServer


@dataclass(frozen=True, slots=True, kw_only=True)
class TlsFront:
    """Listens on a port."""

    place: ServerPlace
    #: Makes the source of certificates, from a client that may keep them in the cluster.
    certificates: Callable[[Client, Clock], CertificateSource]
    installs: bool = False

    @asynccontextmanager
    async def serving(self, app: App, client: Client, *, clock: Clock) -> AsyncIterator[Presence]:
        """Serve an app over TLS."""
        source = self.certificates(client, clock)
        async with WebhookServer.serving(app, source, self.place, clock=clock) as server:
            yield server


def local_front(url: str = "", *, host: str = "127.0.0.1", port: int = 0) -> TlsFront:
    """Serve on this machine, for an API server that can call it: at a URL, or at the loopback with any port.

    Certificates live as long as the process, and so do the configurations that lead to it.
    """
    address = UrlAddress(url) if url else None
    names = address.names if address is not None else (host, "localhost")
    return TlsFront(
        place=ServerPlace(host=host, port=port, address=address),
        certificates=lambda _, clock: OwnCertificates(MemoryStore(), names, clock=clock),
        installs=True,
    )


def service_front(address: ServiceAddress, secret: str, *, host: str, port: int) -> TlsFront:
    """Serve behind a Service, with certificates of the operator's own, in a Secret that all replicas share."""
    return TlsFront(
        place=ServerPlace(host=host, port=port, address=address),
        certificates=lambda client, clock: OwnCertificates(
            SecretStore(client, address.namespace, secret), address.names, clock=clock
        ),
    )
