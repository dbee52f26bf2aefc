"""`Front`: how questions reach the routes of an operator: over TLS, or however whoever runs it arranges."""

from collections.abc import Awaitable, Callable
from contextlib import AbstractAsyncContextManager
from datetime import datetime
from typing import Protocol, TypeAlias

from steersman.client.client import Client
from steersman.clock import Clock
from steersman.protocol.http import App
from steersman.webhook.serving.address import Address

#: Tells the API server whom to trust.
Publish: TypeAlias = Callable[[bytes], Awaitable[None]]


class Presence(Protocol):
    """Webhooks that can be asked."""

    @property
    def address(self) -> Address:
        """Where they are found."""

    @property
    def authority(self) -> bytes:
        """Whom the API server must trust; empty when that is nobody's affair here."""

    @property
    def valid_until(self) -> datetime | None:
        """When the certificate that is presented ends, if there is one."""

    def check(self) -> str:
        """Say why they cannot be asked; empty when they can."""

    async def keep(self, publish: Publish) -> None:
        """Look after them for ever, and publish whom to trust whenever that may have changed."""


class Front(Protocol):
    """Brings questions to an app."""

    @property
    def installs(self) -> bool:
        """Whether the configurations are of this process: applied when it starts, and gone when it ends."""

    def serving(self, app: App, client: Client, *, clock: Clock) -> AbstractAsyncContextManager[Presence]:
        """Let an app be asked inside the block."""
