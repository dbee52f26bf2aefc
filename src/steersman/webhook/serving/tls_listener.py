"""`TlsListener`: serves webhooks over HTTPS on a port.

It imports the cryptography library: import it only where webhooks are served.
"""

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass

from steersman.client.client import Client
from steersman.clock import Clock
from steersman.protocol.http import App
from steersman.webhook.certificates.sources import (
    CertificateSource,
    MemoryBundleStore,
    OwnCertificates,
    SecretBundleStore,
)
from steersman.webhook.serving.address import ServiceAddress, UrlAddress
from steersman.webhook.serving.listener import ServedWebhooks
from steersman.webhook.serving.server import ServerPlace, WebhookServer


@dataclass(frozen=True, slots=True, kw_only=True)
class TlsListener:
    """Listen on a port."""

    place: ServerPlace
    #: Returns the source of certificates; the client can store them in the cluster.
    certificates: Callable[[Client, Clock], CertificateSource]
    installs: bool = False
    checks_conversions: bool = True

    @asynccontextmanager
    async def serving(self, app: App, client: Client, *, clock: Clock) -> AsyncIterator[ServedWebhooks]:
        """Serve an app over TLS."""
        source = self.certificates(client, clock)
        async with WebhookServer.serving(app, source, self.place, clock=clock) as server:
            yield server


def local_listener(url: str = "", *, host: str = "127.0.0.1", port: int = 0) -> TlsListener:
    """Return a listener for an operator outside the cluster, at a URL or at a loopback port.

    Its certificates and the webhook configurations exist as long as the process.
    """
    address = UrlAddress(url) if url else None
    names = address.names if address is not None else (host, "localhost")
    return TlsListener(
        place=ServerPlace(host=host, port=port, address=address),
        certificates=lambda _, clock: OwnCertificates(MemoryBundleStore(), names, clock=clock),
        installs=True,
    )


def service_listener(address: ServiceAddress, secret: str, *, host: str, port: int) -> TlsListener:
    """Return a listener behind a Service, with the operator's own certificates in a Secret that all replicas share."""
    return TlsListener(
        place=ServerPlace(host=host, port=port, address=address),
        certificates=lambda client, clock: OwnCertificates(
            SecretBundleStore(client, address.namespace, secret), address.names, clock=clock
        ),
    )
