"""Webhook listeners of operators that run in the same process as the test's API server."""

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
class _AlwaysPresent:
    """Presence of webhooks in this process: there are no certificates to maintain."""

    address: ServiceAddress
    authority: bytes = b""
    valid_until: None = None

    def check(self) -> str:
        """Return that nothing is wrong."""
        return ""

    async def keep(self, publish: TrustPublisher) -> None:
        """Wait forever: there is nothing to maintain."""
        del publish
        await asyncio.get_running_loop().create_future()


def in_process_address(service: str) -> ServiceAddress:
    """Return the address of a Service that an app of this process serves."""
    return ServiceAddress(_NAMESPACE, service)


class WebhookGate:
    """Passes webhook calls on to the instance of an operator that is alive.

    While the next instance is awaited, calls wait for it; after ``close`` the connection is refused.
    """

    def __init__(self) -> None:
        self._app: App | None = None
        self._is_closed = False
        self._opened = asyncio.Event()

    def open(self, app: App) -> None:
        """Pass calls on to the app of an instance that is alive now."""
        self._app = app
        self._opened.set()

    def wait_for_next(self) -> None:
        """Hold calls until the next instance starts."""
        self._app = None
        self._opened.clear()

    def close(self) -> None:
        """Reject calls: no instance will follow."""
        self._app = None
        self._is_closed = True

    def handle(self, request: Request, exchange: Exchange) -> Awaitable[None] | None:
        """Pass a call on to the instance that is alive, or to the next one."""
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


class InProcessListener:
    """Serves a Service of the test's cluster with an app."""

    installs = True
    #: The definitions of the cluster were checked when they were created.
    checks_conversions = False

    def __init__(self, service: str, serve: Callable[[str, str, App], None]) -> None:
        self._service = service
        self._serve = serve

    @asynccontextmanager
    async def serving(self, app: App, client: Client, *, clock: Clock) -> AsyncIterator[ServedWebhooks]:
        """Serve an app inside the block."""
        del client, clock
        self._serve(_NAMESPACE, self._service, app)
        yield _AlwaysPresent(in_process_address(self._service))
