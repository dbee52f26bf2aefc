"""How a test's API server asks the operators that run beside it: in this process, with nothing in between."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass

from steersman.client.client import Client
from steersman.clock import Clock
from steersman.protocol.http import App
from steersman.webhook.address import ServiceAddress
from steersman.webhook.front import Presence, Publish

_NAMESPACE = "operator-system"


@dataclass(frozen=True, slots=True)
class _Here:
    """Webhooks in this process: there are no certificates, and nothing to look after."""

    address: ServiceAddress
    authority: bytes = b""
    valid_until: None = None

    def check(self) -> str:
        """Nothing can be wrong."""
        return ""

    async def keep(self, publish: Publish) -> None:
        """Do nothing for ever."""
        del publish
        await asyncio.get_running_loop().create_future()


class InProcessFront:
    """Lets an app answer for a Service of the test's cluster."""

    installs = True

    def __init__(self, service: str, serve: Callable[[str, str, App], None]) -> None:
        self._service = service
        self._serve = serve

    @asynccontextmanager
    async def serving(self, app: App, client: Client, *, clock: Clock) -> AsyncIterator[Presence]:
        """Let an app be asked inside the block."""
        del client, clock
        self._serve(_NAMESPACE, self._service, app)
        yield _Here(ServiceAddress(_NAMESPACE, self._service))
