"""Leadership as others see it: who may write, and being told when it comes and goes. Safe to read in any thread."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager

from steersman.clock import Clock
from steersman.errors import LeadershipLost
from steersman.protocol.http import Request, Response, Upgraded
from steersman.transport.base import DEFAULT_IDLE, DEFAULT_TIMEOUT, Transport
from steersman.transport.stream import ResponseStream

_READS = frozenset({"GET", "HEAD", "OPTIONS"})


class Leadership:
    """Until when this process leads. One elector writes it; it must be made on the event loop that waits for it."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._loop = asyncio.get_running_loop()
        self._valid_until = float("-inf")
        self._acquired = asyncio.Event()
        self._lost = asyncio.Event()

    # What the elector calls, from its own thread.

    def extend(self, valid_until: float) -> None:
        """Lead until a monotonic time."""
        self._valid_until = valid_until
        self._tell(self._acquired)

    def end(self) -> None:
        """Lead no more, from now on."""
        self._valid_until = float("-inf")
        self._tell(self._lost)

    def _tell(self, event: asyncio.Event) -> None:
        if not self._loop.is_closed():
            self._loop.call_soon_threadsafe(event.set)

    # What others call.

    @property
    def is_valid(self) -> bool:
        """Whether this process may write now."""
        return self._clock.monotonic() < self._valid_until

    def check(self) -> None:
        """Raise ``LeadershipLost`` unless this process may write now."""
        if not self.is_valid:
            raise LeadershipLost("this process does not lead (any more): it may not write")

    async def wait_acquired(self) -> None:
        """Wait until this process leads for the first time."""
        await self._acquired.wait()

    async def wait_lost(self) -> None:
        """Wait until this process leads no more."""
        await self._lost.wait()


class GuardedTransport:
    """Carries reads always, and writes only while this process leads: no write can be forgotten."""

    def __init__(self, inner: Transport, leadership: Leadership) -> None:
        self._inner = inner
        self._leadership = leadership

    async def request(self, request: Request, *, timeout: float | None = DEFAULT_TIMEOUT) -> Response:  # noqa: ASYNC109 - the signature of Transport
        """Send, unless it is a write and this process does not lead."""
        if request.method not in _READS:
            self._leadership.check()
        return await self._inner.request(request, timeout=timeout)

    def stream(
        self, request: Request, *, idle: float | None = DEFAULT_IDLE
    ) -> AbstractAsyncContextManager[ResponseStream]:
        """Stream; streams only read."""
        return self._inner.stream(request, idle=idle)

    @asynccontextmanager
    async def upgrade(self, request: Request, *, protocol: str) -> AsyncIterator[Upgraded | Response]:
        """Switch protocols, if this process leads: what is sent then (``exec``) can change anything."""
        self._leadership.check()
        async with self._inner.upgrade(request, protocol=protocol) as upgraded:
            yield upgraded

    async def close(self) -> None:
        """Close the transport inside."""
        await self._inner.close()

    def __repr__(self) -> str:
        return f"<GuardedTransport leads={self._leadership.is_valid} {self._inner!r}>"
