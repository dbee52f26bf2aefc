"""Watches that a test controls: held back, broken, ended, or with bytes that the server never sent."""

from collections.abc import Callable
from dataclasses import dataclass, field

from steersman.protocol.http import Exchange, Peer, Response, Stream, Upgraded


@dataclass(slots=True, eq=False)
class WatchControl:
    """The stream of a watch. While it is held, what the server writes waits."""

    inner: Stream
    target: str
    is_held: bool = False
    waiting: list[bytes] = field(default_factory=list, repr=False)

    def write(self, chunk: bytes) -> None:
        """Send a chunk, or keep it while the stream is held."""
        if self.is_held:
            self.waiting.append(chunk)
        else:
            self.inner.write(chunk)

    def release(self) -> None:
        """Send the chunks that were kept, and stop holding."""
        self.is_held = False
        waiting, self.waiting = self.waiting, []
        for chunk in waiting:
            self.inner.write(chunk)

    def close(self) -> None:
        """End the response properly."""
        self.inner.close()

    def abort(self) -> None:
        """Break the connection in the middle of the response."""
        self.inner.abort()

    @property
    def is_open(self) -> bool:
        """Whether the peer may still receive."""
        return self.inner.is_open

    @property
    def is_writable(self) -> bool:
        """Whether the peer keeps up."""
        return self.inner.is_writable

    def on_writable(self, callback: Callable[[], None]) -> None:
        """Call back each time the peer has caught up."""
        self.inner.on_writable(callback)

    def on_close(self, callback: Callable[[], None]) -> None:
        """Call back once when the peer has disconnected or the response has ended."""
        self.inner.on_close(callback)


@dataclass(frozen=True, slots=True)
class ControlledExchange:
    """An exchange whose stream is put under control."""

    inner: Exchange
    target: str
    on_stream: Callable[[WatchControl], None]

    @property
    def peer(self) -> Peer:
        """The peer of the request."""
        return self.inner.peer

    def respond(self, response: Response) -> None:
        """Respond with a complete body."""
        self.inner.respond(response)

    def stream(self, status: int, headers: list[tuple[str, str]]) -> Stream:
        """Begin a streamed response."""
        tapped = WatchControl(self.inner.stream(status, headers), self.target)
        self.on_stream(tapped)
        return tapped

    def upgrade(self, headers: list[tuple[str, str]]) -> Upgraded:
        """Switch protocols."""
        return self.inner.upgrade(headers)

    def reset(self) -> None:
        """Break the connection without a response."""
        self.inner.reset()
