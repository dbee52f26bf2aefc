"""Webhook listeners for tests: certificates of other days, rotated by hand."""

import asyncio
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from steersman.client.client import Client
from steersman.clock import Clock, RealClock
from steersman.protocol.http import App
from steersman.webhook.certificates.sources import OwnCertificates
from steersman.webhook.serving.address import Address
from steersman.webhook.serving.listener import ServedWebhooks, TrustPublisher
from steersman.webhook.serving.server import ServerPlace, WebhookServer

LOOPBACK = ("127.0.0.1", "localhost")


class Calendar(RealClock):
    """The machine's clock shifted by days: OpenSSL compares certificates with the real one."""

    def __init__(self, days: float = 0.0) -> None:
        self.days = days

    def now(self) -> datetime:
        """Return the time some days from now."""
        return super().now() + timedelta(days=self.days)


@dataclass
class ByHand:
    """A listener that checks its certificates on request, instead of every half minute."""

    clock: Clock
    source: OwnCertificates
    installs: bool = True
    server: WebhookServer | None = None
    turns: asyncio.Queue[asyncio.Event] = field(default_factory=asyncio.Queue)

    @asynccontextmanager
    async def serving(self, app: App, client: Client, *, clock: Clock) -> AsyncIterator[ServedWebhooks]:
        """Serve over TLS."""
        del client, clock
        async with WebhookServer.serving(app, self.source, ServerPlace(), clock=self.clock) as server:
            self.server = server
            yield self

    @property
    def address(self) -> Address:
        """Address of the server."""
        assert self.server is not None
        return self.server.address

    @property
    def authority(self) -> bytes:
        """CA bundle to trust."""
        assert self.server is not None
        return self.server.authority

    @property
    def valid_until(self) -> datetime:
        """End of the certificate's validity."""
        assert self.server is not None
        return self.server.valid_until

    def check(self) -> str:
        """Check the server's health."""
        assert self.server is not None
        return self.server.check()

    async def keep(self, publish: TrustPublisher) -> None:
        """Wait for a call of `turn`."""
        while True:
            done = await self.turns.get()
            assert self.server is not None
            await self.server.renew(publish)
            done.set()

    async def turn(self) -> None:
        """Check the certificates now."""
        done = asyncio.Event()
        await self.turns.put(done)
        await done.wait()


async def presented(address: Address, authority: bytes) -> bytes:
    """Return the certificate that a server presents to a client that trusts a CA."""
    host, _, port = str(address).removeprefix("https://").rpartition(":")
    context = ssl.create_default_context(cadata=authority.decode())
    _, writer = await asyncio.open_connection(host, int(port), ssl=context)
    certificate: bytes = writer.get_extra_info("ssl_object").getpeercert(binary_form=True)
    writer.close()
    await writer.wait_closed()
    return certificate
