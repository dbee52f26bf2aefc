"""How a test's API server asks the operators that run beside it: in this process, with nothing in between."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass

from steersman.client.client import Client
from steersman.clock import Clock
from steersman.protocol.http import App, Exchange, Request
from steersman.webhook.serving.address import ServiceAddress
from steersman.webhook.serving.listener import ServedWebhooks, TrustPublisher

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

    async def keep(self, publish: TrustPublisher) -> None:
        """Do nothing for ever."""
        del publish
        await asyncio.get_running_loop().create_future()


def in_process_address(service: str) -> ServiceAddress:
    """Return where the API server asks a Service that an app of this process answers for."""
    return ServiceAddress(_NAMESPACE, service)


class WebhookGate:
    """Passes questions on to the webhooks of whichever instance of an operator lives.

    While the next instance is awaited, questions wait for it; after ``close`` the connection is refused.
    """

    def __init__(self) -> None:
        self._app: App | None = None
        self._is_closed = False
        self._opened = asyncio.Event()

    def open(self, app: App) -> None:
        """Pass questions on to the app of an instance that lives now."""
        self._app = app
        self._opened.set()

    def wait_for_next(self) -> None:
        """Let questions wait for the next instance."""
        self._app = None
        self._opened.clear()

    def close(self) -> None:
        """Refuse questions: no instance will follow."""
        self._app = None
        self._is_closed = True

    def handle(self, request: Request, exchange: Exchange) -> Awaitable[None] | None:
        """Let the instance that lives answer, or the next one."""
        if self._app is not None:
            return self._app.handle(request, exchange)
        if self._is_closed:
            exchange.reset()
            return None
        return self._later(request, exchange)

    async def _later(self, request: Request, exchange: Exchange) -> None:
        await self._opened.wait()
        work = self.handle(request, exchange)
        if work is not None:
            await work


class InProcessFront:
    """Lets an app answer for a Service of the test's cluster."""

    installs = True

    def __init__(self, service: str, serve: Callable[[str, str, App], None]) -> None:
        self._service = service
        self._serve = serve

    @asynccontextmanager
    async def serving(self, app: App, client: Client, *, clock: Clock) -> AsyncIterator[ServedWebhooks]:
        """Let an app be asked inside the block."""
        del client, clock
        self._serve(_NAMESPACE, self._service, app)
        yield _Here(in_process_address(self._service))
