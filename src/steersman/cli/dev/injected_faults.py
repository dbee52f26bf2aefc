"""`InjectedFaults`: stands between the operator of `steer dev` and its connection, and lets its next request go wrong.

It strikes in the operator's own process, so that neither kubectl nor the controllers of the cluster are affected. A
fault waits for the next request that it fits and is gone afterwards; one that breaks watches strikes at once.
Requests that are not about objects of the author (events, leases) are never struck.
"""

from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager

from msgspec import Struct
from msgspec.json import encode

from steersman.clock import Clock
from steersman.errors import ConfigError, ConnectionLost
from steersman.protocol.http import SAFE_METHODS, Request, Response
from steersman.transport.base import DEFAULT_IDLE, DEFAULT_TIMEOUT, Transport
from steersman.transport.stream import ResponseStream
from steersman.transport.wrapper import TransportWrapper
from steersman.webview.actions import Fault

_MESSAGE = "injected from the web view of steer dev"
#: Resources whose requests are not struck.
_NOT_STRUCK = ("/events", "/leases")
_SLOW = 5.0


class _Refusal(Struct, frozen=True):
    """The response to a write that is not carried out."""

    code: int
    reason: str

    def response(self) -> Response:
        """Return it as the server writes it."""
        status = {
            "kind": "Status",
            "apiVersion": "v1",
            "metadata": {},
            "status": "Failure",
            "message": _MESSAGE,
            "reason": self.reason,
            "code": self.code,
        }
        return Response(self.code, [("content-type", "application/json")], encode(status))


_REFUSALS = {
    "conflict": _Refusal(409, "Conflict"),
    "forbidden": _Refusal(403, "Forbidden"),
    "internal-error": _Refusal(500, "InternalError"),
}
_WATCH_BROKEN = "watch-broken"
FAULTS = (
    Fault("conflict", "The next write of the operator is rejected: another client has changed the object (409)."),
    Fault("forbidden", "The next write of the operator is rejected: it has no permission (403)."),
    Fault("internal-error", "The next write of the operator fails on the server (500)."),
    Fault("request-lost", "The connection breaks before the server sees the next write of the operator."),
    Fault(
        "response-lost", "The next write of the operator is carried out, but the connection breaks before the response."
    ),
    Fault("slow-response", f"The response to the next write of the operator takes {_SLOW:g} seconds."),
    Fault(_WATCH_BROKEN, "All watches of the operator break now; it lists or watches again."),
)


class InjectedFaults:
    """The faults that wait for a request, and the open watches of the operator."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._waiting: list[str] = []
        self._streams: set[ResponseStream] = set()

    def inject(self, name: str) -> str:
        """Inject a fault, and return what happens as one sentence; raises ``ConfigError`` for an unknown name."""
        if name not in {one.name for one in FAULTS}:
            raise ConfigError(f"{name!r} is not a fault: choose one of {', '.join(one.name for one in FAULTS)}")
        if name == _WATCH_BROKEN:
            broken = len(self._streams)
            for stream in list(self._streams):
                stream.finish(ConnectionLost(_MESSAGE))
            return f"{broken} watches of the operator were broken."
        self._waiting.append(name)
        return f"The fault {name} strikes with the next write of the operator."

    def around(self, transport: Transport) -> Transport:
        """Return a transport on which faults strike."""
        return _FaultyTransport(transport, self)

    async def request(self, inner: Transport, request: Request, timeout: float | None) -> Response:  # noqa: ASYNC109 - passed on
        """Send a request, unless a fault strikes."""
        fault = self._take(request)
        if fault in _REFUSALS:
            return _REFUSALS[fault].response()
        if fault == "request-lost":
            raise ConnectionLost(_MESSAGE)
        response = await inner.request(request, timeout=timeout)
        if fault == "response-lost":
            raise ConnectionLost(_MESSAGE)
        if fault == "slow-response":
            await self._clock.sleep(_SLOW)
        return response

    @asynccontextmanager
    async def stream(self, stream: AbstractAsyncContextManager[ResponseStream]) -> AsyncIterator[ResponseStream]:
        """Yield a stream, and know it while it is open."""
        async with stream as opened:
            self._streams.add(opened)
            try:
                yield opened
            finally:
                self._streams.discard(opened)

    def _take(self, request: Request) -> str:
        """Return the fault of a request; empty without one."""
        path = request.target.partition("?")[0]
        if not self._waiting or request.method in SAFE_METHODS or any(part in path for part in _NOT_STRUCK):
            return ""
        return self._waiting.pop(0)


class _FaultyTransport(TransportWrapper):
    """Sends requests by another transport, unless a fault strikes."""

    def __init__(self, inner: Transport, faults: InjectedFaults) -> None:
        super().__init__(inner)
        self._faults = faults

    async def request(self, request: Request, *, timeout: float | None = DEFAULT_TIMEOUT) -> Response:  # noqa: ASYNC109 - the signature of Transport
        """Send a request."""
        return await self._faults.request(self._inner, request, timeout)

    def stream(
        self, request: Request, *, idle: float | None = DEFAULT_IDLE
    ) -> AbstractAsyncContextManager[ResponseStream]:
        """Open a stream."""
        return self._faults.stream(self._inner.stream(request, idle=idle))
