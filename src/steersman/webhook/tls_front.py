"""`TlsFront`: a port on which an operator's webhooks are asked, over TLS and not otherwise.

It loads the cryptography library: import it where webhooks are served.
"""

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass

from steersman.client.client import Client
from steersman.clock import Clock
from steersman.protocol.http import App
from steersman.webhook.certificates import CertificateSource
from steersman.webhook.front import Presence
from steersman.webhook.server import ServerPlace, WebhookServer


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
