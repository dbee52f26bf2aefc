"""The app's end of a request that never leaves the process: the same promises as a connection's, without bytes."""

import asyncio
from collections.abc import Callable

from steersman.errors import ConnectionLost, TransportError
from steersman.protocol.http import Peer, Response
from steersman.transport.stream import ResponseStream

#: Bytes of a stream that may wait for their reader before the app is told to hold back.
_HIGH_WATER = 256 * 1024
_SWITCHING_PROTOCOLS = 101


class InMemoryStream:
    """A response whose end is not known yet; see ``Stream``."""

    def __init__(self, buffer: ResponseStream, on_activity: Callable[[], None]) -> None:
        self._buffer = buffer
        self._on_activity = on_activity
        self._is_open = True
        self._was_full = False
        self._on_writable: list[Callable[[], None]] = []
        self._on_close: list[Callable[[], None]] = []
        buffer.on_drained(self._drained)

    @property
    def is_open(self) -> bool:
        """Whether the peer may still receive."""
        return self._is_open

    @property
    def is_writable(self) -> bool:
        """Whether the peer keeps up."""
        return self._is_open and not self._buffer.is_full

    def write(self, chunk: bytes) -> None:
        """Send one chunk; a no-op once the peer has disconnected."""
        if self._is_open and chunk:
            self._buffer.feed(chunk)
            self._was_full = self._was_full or self._buffer.is_full
            self._on_activity()

    def close(self) -> None:
        """End the response properly."""
        self.end(None)

    def abort(self) -> None:
        """Break the connection in the middle of the response."""
        self.end(ConnectionLost("the connection was lost in the middle of the response"))

    def on_writable(self, callback: Callable[[], None]) -> None:
        """Call back each time the peer has caught up."""
        self._on_writable.append(callback)

    def on_close(self, callback: Callable[[], None]) -> None:
        """Call back once when the peer has disconnected or the response has ended."""
        if self._is_open:
            self._on_close.append(callback)
        else:
            callback()

    def end(self, failure: TransportError | None) -> None:
        """End it once, in whatever way."""
        if self._is_open:
            self._is_open = False
            self._buffer.finish(failure)
            callbacks, self._on_close = self._on_close, []
            for callback in callbacks:
                callback()

    def _drained(self) -> None:
        if self._was_full and self._is_open:
            self._was_full = False
            for callback in list(self._on_writable):
                callback()


class InMemoryUpgraded:
    """One end of a raw connection inside the process."""

    def __init__(self, incoming: ResponseStream, outgoing: ResponseStream) -> None:
        self._incoming = incoming
        self._outgoing = outgoing
        self._writers: list[asyncio.Future[None]] = []
        outgoing.on_drained(self._caught_up)

    def write(self, data: bytes) -> None:
        """Send bytes as they are."""
        if data:
            self._outgoing.feed(data)

    def close(self) -> None:
        """Close both ways."""
        self._outgoing.finish()
        self._incoming.finish()

    async def drain(self) -> None:
        """Wait until the peer keeps up, or has disconnected."""
        while self._outgoing.is_full and not self._outgoing.is_ended:
            writer: asyncio.Future[None] = asyncio.get_running_loop().create_future()
            self._writers.append(writer)
            await writer

    def _caught_up(self) -> None:
        writers, self._writers = self._writers, []
        for writer in writers:
            if not writer.done():
                writer.set_result(None)

    async def receive(self) -> bytes:
        """Wait for bytes; empty at the end."""
        return await anext(self._incoming, b"")


class InMemoryExchange:
    """One request inside the process; ``answer`` resolves with the response of the app."""

    def __init__(
        self, peer: Peer, answer: "asyncio.Future[Response | ResponseStream | InMemoryUpgraded]", *, is_head: bool
    ) -> None:
        self.answer = answer
        self.on_activity: Callable[[], None] = _nothing
        self.is_answered = False
        self._peer = peer
        self._is_head = is_head
        self._stream: InMemoryStream | None = None
        self._upgraded: InMemoryUpgraded | None = None

    @property
    def peer(self) -> Peer:
        """The client of the request."""
        return self._peer

    def respond(self, response: Response) -> None:
        """Respond with a complete body."""
        body = b"" if self._is_head else response.body
        self._settle(Response(response.status, response.headers, body))

    def stream(self, status: int, headers: list[tuple[str, str]]) -> InMemoryStream:
        """Begin a response whose end is not known yet."""
        buffer = ResponseStream(status, headers, high_water=_HIGH_WATER)
        self._stream = InMemoryStream(buffer, self._active)
        if self.answer.cancelled():
            self._stream.close()
        self._settle(buffer)
        return self._stream

    def upgrade(self, headers: list[tuple[str, str]]) -> InMemoryUpgraded:
        """Switch protocols and hand over the app's end of a raw connection."""
        to_app, to_client = (ResponseStream(_SWITCHING_PROTOCOLS, headers) for _ in range(2))
        self._upgraded = InMemoryUpgraded(to_app, to_client)
        self._settle(InMemoryUpgraded(to_client, to_app))
        return self._upgraded

    def reset(self) -> None:
        """Break the connection without a response, or in the middle of it."""
        self.break_off(ConnectionLost("the connection was lost before a response arrived"))

    def break_off(self, error: TransportError) -> None:
        """Fail the call under way."""
        self.is_answered = True
        if self._stream is not None:
            self._stream.end(error)
        elif not self.answer.done():
            self.answer.set_exception(error)

    def hang_up(self) -> None:
        """Note that the caller has disconnected."""
        self.is_answered = True
        if self._stream is not None:
            self._stream.end(None)
        if self._upgraded is not None:
            self._upgraded.close()
        if self.answer.done() and not self.answer.cancelled():
            self.answer.exception()  # seen, even if the caller left before it could look

    def _active(self) -> None:
        self.on_activity()

    def _settle(self, answer: "Response | ResponseStream | InMemoryUpgraded") -> None:
        if self.answer.cancelled():  # the caller is gone; over HTTP the bytes would go nowhere
            return
        if self.is_answered:
            raise RuntimeError("this request already has a response")
        self.is_answered = True
        self.answer.set_result(answer)


def _nothing() -> None:
    """Do nothing."""
