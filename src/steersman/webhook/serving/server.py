"""`WebhookServer`: serves routes over HTTPS and replaces its certificate while it runs."""

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
from steersman.serving.certificate_bundle import span_of
from steersman.serving.limits import ServerLimits
from steersman.serving.server import Listen, Server
from steersman.serving.tls import replace_certificate, server_context
from steersman.webhook.certificates.sources import CertificateSource, ServingCertificates
from steersman.webhook.reviews.failure import refusal
from steersman.webhook.serving.address import Address, UrlAddress
from steersman.webhook.serving.listener import TrustPublisher
from steersman.webhook.serving.routes import LARGEST

_log = logging.getLogger("steersman.webhook")
#: Seconds between checks of the certificates.
CHECK_INTERVAL: Final = 30.0
_LIMITS: Final = ServerLimits(head=64 * 1024, body=LARGEST, read_body=30.0)


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerPlace:
    """Where the server listens, and the address at which the API server calls it: by default the same host and port."""

    host: str = "127.0.0.1"
    port: int = 0
    address: Address | None = None


class WebhookServer:
    """A running server, created by ``serving``."""

    def __init__(
        self,
        context: ssl.SSLContext,
        first: ServingCertificates,
        source: CertificateSource,
        *,
        address: Address,
        clock: Clock,
    ) -> None:
        #: Address at which the API server calls it.
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
        """CA bundle for the certificate that is served now."""
        return self._loaded.authority

    @property
    def valid_until(self) -> datetime:
        """End of the validity of the certificate that is served now."""
        return self._valid.ends

    def check(self) -> str:
        """Return why the certificate is not valid; empty if it is."""
        now = self._clock.now()
        if now >= self._valid.ends:
            return f"the serving certificate expired at {self._valid.ends:%Y-%m-%dT%H:%M:%SZ}"
        if now < self._valid.begins:
            return f"the serving certificate is not valid before {self._valid.begins:%Y-%m-%dT%H:%M:%SZ}"
        return ""

    async def keep(self, publish: TrustPublisher) -> None:
        """Renew the certificates until cancelled; a failure is logged and retried."""
        while True:
            await self._clock.sleep(CHECK_INTERVAL)
            try:
                await self.renew(publish)
            except SteersmanError as error:
                _log.warning("certificates were not renewed", extra={"error": str(error)})

    async def renew(self, publish: TrustPublisher) -> None:
        """Publish the current CA bundle, then serve the current certificate.

        A new certificate is served only after its CA bundle was published. If publishing fails the old certificate
        stays, as long as it is valid.
        """
        found = await self._source.current()
        try:
            await publish(found.authority)
        except SteersmanError as error:
            if not self.check():
                raise
            _log.warning("cannot set the CA bundle of the webhooks", extra={"error": str(error)})
        if found.serving != self._loaded.serving:
            replace_certificate(self._context, certificate=found.serving.certificate, key=found.serving.key)
            self._valid = span_of(found.serving.certificate)
            _log.info("certificate replaced", extra={"until": self._valid.ends.isoformat()})
        self._loaded = found

    def __repr__(self) -> str:
        return f"<WebhookServer until {self._valid.ends:%Y-%m-%d} from {self._source!r}>"
