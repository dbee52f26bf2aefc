"""`WebhookListener`: how reviews reach the routes of an operator: over HTTPS, or inside the process in tests."""

from collections.abc import Awaitable, Callable
from contextlib import AbstractAsyncContextManager
from datetime import datetime
from typing import Protocol, TypeAlias

from steersman.client.client import Client
from steersman.clock import Clock
from steersman.protocol.http import App
from steersman.webhook.serving.address import Address

#: Sets the CA bundle that the API server trusts.
TrustPublisher: TypeAlias = Callable[[bytes], Awaitable[None]]


class ServedWebhooks(Protocol):
    """Webhooks that are being served."""

    @property
    def address(self) -> Address:
        """Address at which the API server calls them."""

    @property
    def authority(self) -> bytes:
        """CA bundle that the API server must trust; empty if it is managed elsewhere."""

    @property
    def valid_until(self) -> datetime | None:
        """End of the validity of the serving certificate, if there is one."""

    def check(self) -> str:
        """Return why the webhooks cannot be called; empty if they can."""

    async def keep(self, publish: TrustPublisher) -> None:
        """Renew certificates until cancelled, and publish the CA bundle whenever it may have changed."""


class WebhookListener(Protocol):
    """Serve an app to the API server."""

    @property
    def installs(self) -> bool:
        """Whether the configurations belong to this process: applied at its start and deleted at its end."""

    @property
    def checks_conversions(self) -> bool:
        """Whether conversions are checked for losses at the start; not where the definitions were checked before."""

    def serving(self, app: App, client: Client, *, clock: Clock) -> AbstractAsyncContextManager[ServedWebhooks]:
        """Serve an app inside the block."""
