"""Other systems in a plan: reads are made, anything else is recorded and not made.

A call that is not made has no real response. It returns that of a call which was accepted without content (202, or
``None`` for an external write), because an exception would end the run, and the plan of everything after it. An
operator whose next steps depend on the answer says what it would be: by ``operator.plan_service``, and ``planned=`` of
an external write.
"""

from collections.abc import Awaitable, Callable, Mapping
from contextlib import AbstractAsyncContextManager
from typing import Final, NamedTuple, TypeAlias, TypeVar, cast

from steersman.clock import Clock
from steersman.planning.changes import RunOf, current_run
from steersman.protocol.http import SAFE_METHODS, Request, Response, Upgraded, WriteFence
from steersman.transport.base import DEFAULT_IDLE, DEFAULT_TIMEOUT, Transport
from steersman.transport.services import HttpService, HttpServices, server_of
from steersman.transport.stream import ResponseStream

T = TypeVar("T")

#: Returns what a service would answer to a request that a plan does not make.
ServiceDouble: TypeAlias = Callable[[Request], Response]

#: Header of a response that no server has sent.
NOT_MADE: Final = ("x-steersman-plan", "not made")
_ACCEPTED: Final = Response(202, [("content-type", "application/json"), NOT_MADE], b"")


class RecordedCall(NamedTuple):
    """A call to another system that a plan did not make."""

    #: The server of an HTTP request, or the system of an external write.
    system: str
    #: The method of an HTTP request, or the description of an external write.
    description: str
    run: RunOf | None
    #: What tells two calls of one object apart. A call that was not made is repeated by the next run: it counts once.
    content: int = 0


class PlannedServices(HttpServices):
    """HTTP services that are only read."""

    def __init__(self, inner: HttpServices, clock: Clock, doubles: Mapping[str, ServiceDouble]) -> None:
        super().__init__(clock)
        self._inner = inner
        self._doubles = {server_of(url): double for url, double in doubles.items()}
        #: Calls that were not made, in order, each once.
        self.calls: dict[RecordedCall, None] = {}

    def at(self, url: str, *, fence: WriteFence | None = None) -> HttpService:
        """Return the service at a URL for reads; other requests are recorded, and answered by its double."""
        del fence  # nothing is written
        server = server_of(url)
        double = self._doubles.get(server, _accept)
        return self._inner.at(url).through(lambda transport: _ReadsOnly(transport, str(server), double, self.calls))

    async def carry_out(self, write: str, work: Callable[[], Awaitable[T]]) -> T:
        """Record an external write without making it, and return ``None`` instead of its result."""
        del work
        system, _, description = write.partition(": ")
        self.calls[RecordedCall(system, description, current_run.get())] = None
        return cast("T", None)

    async def close(self) -> None:
        """Close nothing: the real services belong to the caller."""


def _accept(request: Request) -> Response:
    """Answer a request that is not made, of a service without a double."""
    del request
    return _ACCEPTED


class _ReadsOnly:
    """A transport that makes reads, and records other requests."""

    def __init__(self, inner: Transport, server: str, double: ServiceDouble, calls: dict[RecordedCall, None]) -> None:
        self._inner = inner
        self._server = server
        self._double = double
        self._calls = calls

    async def request(self, request: Request, *, timeout: float | None = DEFAULT_TIMEOUT) -> Response:  # noqa: ASYNC109 - the signature of Transport
        """Send a read; answer anything else without sending it."""
        if request.method in SAFE_METHODS:
            return await self._inner.request(request, timeout=timeout)
        content = hash((request.target, request.body))
        self._calls[RecordedCall(self._server, request.method, current_run.get(), content)] = None
        return self._double(request)

    def stream(
        self, request: Request, *, idle: float | None = DEFAULT_IDLE
    ) -> AbstractAsyncContextManager[ResponseStream]:
        """Open a stream that is read."""
        return self._inner.stream(request, idle=idle)

    def upgrade(self, request: Request, *, protocol: str) -> AbstractAsyncContextManager[Upgraded | Response]:
        """Switch protocols; services of `HttpServices` never do."""
        return self._inner.upgrade(request, protocol=protocol)

    async def ping(self) -> None:
        """Check that the server answers."""
        await self._inner.ping()

    async def close(self) -> None:
        """Leave the connection open: it belongs to the real services."""
