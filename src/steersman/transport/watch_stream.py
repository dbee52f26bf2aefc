"""The events of one watch, read from a transport until the server ends it or it is considered dead."""

from collections.abc import AsyncIterator, Iterable
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from http import HTTPStatus
from typing import Self, assert_never

from steersman.clock import Clock, Deadline
from steersman.errors import ConnectionFailed, NoAnswer, TransportError
from steersman.protocol.http import Request, Response
from steersman.protocol.responses import error_of
from steersman.protocol.watch_frames import RawEvent, WatchFrames
from steersman.protocol.watch_liveness import OPENING, GiveUp, KeepWaiting, ProbeServer, WatchLiveness
from steersman.transport.base import Transport
from steersman.transport.stream import ResponseStream


@asynccontextmanager
async def open_watch(
    transport: Transport, request: Request, *, clock: Clock, lasts: float | None
) -> AsyncIterator["WatchStream"]:
    """Open a watch for the block; a rejection raises ``ApiError``, a late response ``NoAnswer``.

    ``lasts`` is the number of seconds after which the server was asked to end it.
    """
    async with AsyncExitStack() as stack:
        try:
            async with clock.timeout(OPENING):
                # Bytes have no timeout: events have one.
                body = await stack.enter_async_context(transport.stream(request, idle=None))
                if body.status != HTTPStatus.OK:
                    raise error_of(Response(body.status, body.headers, await body.read()))
        except TimeoutError:
            raise NoAnswer(f"the server did not begin the watch within {OPENING:g} s") from None
        stream = WatchStream(body, transport, clock, lasts)
        stack.callback(stream.close)
        yield stream


class WatchStream:
    """Events by ``async for``: each step yields all events that one read completed, at least one.

    Raises ``NoAnswer`` when the watch is dead by the rules of ``watch_liveness``, ``ConnectionFailed`` when it is quiet
    and the server is out of reach, and ``ConnectionLost`` when it ended in the middle of an event.
    """

    def __init__(self, body: ResponseStream, transport: Transport, clock: Clock, lasts: float | None) -> None:
        self._body = body
        self._transport = transport
        self._clock = clock
        self._frames = WatchFrames()
        self._liveness = WatchLiveness(clock.monotonic(), lasts)
        #: Interrupts a read; moving it for each read costs less than a timeout around each.
        self._deadline = Deadline(clock, body.interrupt)
        self._has_ended = False

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> Iterable[RawEvent]:
        self._liveness.begin_waiting(self._clock.monotonic())
        while not self._has_ended:
            chunk = await self._read()
            self._has_ended = chunk is None
            events = self._frames.finish() if chunk is None else self._frames.feed(chunk)
            if events:
                return events
        raise StopAsyncIteration

    async def _read(self) -> bytes | None:
        """Wait for bytes for as long as the watch may be alive; ``None`` at its end."""
        while True:
            now = self._clock.monotonic()
            match self._liveness.step(now):
                case KeepWaiting(seconds):
                    self._deadline.set_at(now + seconds)
                    with suppress(TimeoutError):
                        return await anext(self._body, None)
                case ProbeServer():
                    await self._ask_for_life()
                case GiveUp(reason):
                    raise NoAnswer(reason)
                case unknown:
                    assert_never(unknown)

    async def _ask_for_life(self) -> None:
        try:
            await self._transport.ping()
        except TransportError as error:
            if self._body.is_empty:  # otherwise the watch has received bytes meanwhile
                raise ConnectionFailed(f"the watch is quiet and the server does not answer: {error}") from None
        self._liveness.server_responded(self._clock.monotonic())

    def doubt(self) -> None:
        """Stop waiting if the watch is quiet: the caller misses an event that the server must have sent."""
        if self._liveness.doubt(self._clock.monotonic()):
            self._body.interrupt()

    def close(self) -> None:
        """Cancel the timer."""
        self._deadline.cancel()

    def __repr__(self) -> str:
        return f"<WatchStream {self._body!r} {self._frames!r}>"
