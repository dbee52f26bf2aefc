"""`WebhookServer`: serves routes over TLS, and only so, with certificates that change while it runs."""

import logging
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from steersman.clock import Clock
from steersman.errors import SteersmanError
from steersman.protocol.http import App
from steersman.serving.limits import ServerLimits
from steersman.serving.server import Listen, Server
from steersman.serving.tls import replace_certificate, server_context
from steersman.webhook.certificates.bundle import span_of
from steersman.webhook.certificates.sources import Certificates, CertificateSource
from steersman.webhook.reviews.failure import refusal
from steersman.webhook.serving.address import Address, UrlAddress
from steersman.webhook.serving.listener import Publish
from steersman.webhook.serving.routes import LARGEST

_log = logging.getLogger("steersman.webhook")
#: Seconds between looks at the certificates.
LOOK_EVERY: Final = 30.0
_LIMITS: Final = ServerLimits(head=64 * 1024, body=LARGEST, read_body=30.0)


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerPlace:
    """Where the server listens, and where the API server finds it: without an address, at this host and port."""

    host: str = "127.0.0.1"
    port: int = 0
    address: Address | None = None


class WebhookServer:
    """A running server. ``serving`` makes one."""

    def __init__(
        self,
        context: ssl.SSLContext,
        first: Certificates,
        source: CertificateSource,
        *,
        address: Address,
        clock: Clock,
    ) -> None:
        #: Where the API server finds it.
        self.address = address
        self._context = context
        self._source = source
        self._clock = clock
        self._loaded = first
        self._valid = span_of(first.serving.certificate)

    @classmethod
    @asynccontextmanager
    async def serving(
        cls, app: App, source: CertificateSource, place: ServerPlace, *, clock: Clock
    ) -> AsyncIterator["WebhookServer"]:
        """Serve an app inside the block."""
        first = await source.current()
        context = server_context(certificate=first.serving.certificate, key=first.serving.key)
        listen = Listen(host=place.host, port=place.port, tls=context)
        async with Server(app, clock=clock, listen=listen, limits=_LIMITS, refusal=refusal) as server:
            address = place.address if place.address is not None else UrlAddress(server.url)
            _log.info("webhooks are served", extra={"url": server.url, "address": str(address)})
            yield cls(context, first, source, address=address, clock=clock)

    @property
    def authority(self) -> bytes:
        """Whom the API server must trust for what is presented now."""
        return self._loaded.authority

    @property
    def valid_until(self) -> datetime:
        """When the certificate that is presented ends."""
        return self._valid.ends

    def check(self) -> str:
        """Say why the certificate is no good; empty when it is."""
        now = self._clock.now()
        if now >= self._valid.ends:
            return f"the serving certificate expired at {self._valid.ends:%Y-%m-%dT%H:%M:%SZ}"
        if now < self._valid.begins:
            return f"the serving certificate is not valid before {self._valid.begins:%Y-%m-%dT%H:%M:%SZ}"
        return ""

    async def keep(self, publish: Publish) -> None:
        """Look after the certificates for ever: whatever goes wrong is told, and tried again."""
        while True:
            await self._clock.sleep(LOOK_EVERY)
            try:
                await self.renew(publish)
            except SteersmanError as error:
                _log.warning("certificates were not renewed", extra={"error": str(error)})

    async def renew(self, publish: Publish) -> None:
        """Take up what is to be served now. It is presented only once the API server was told to trust it.

        Where that fails, what was presented so far stays, for as long as it is good.
        """
        found = await self._source.current()
        try:
            await publish(found.authority)
        except SteersmanError as error:
            if not self.check():
                raise
            _log.warning("the API server was not told whom to trust", extra={"error": str(error)})
        if found.serving != self._loaded.serving:
            replace_certificate(self._context, certificate=found.serving.certificate, key=found.serving.key)
            self._valid = span_of(found.serving.certificate)
            _log.info("certificate replaced", extra={"until": self._valid.ends.isoformat()})
        self._loaded = found

    def __repr__(self) -> str:
        return f"<WebhookServer until {self._valid.ends:%Y-%m-%d} from {self._source!r}>"
