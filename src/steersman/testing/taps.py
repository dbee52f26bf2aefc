"""Watches under a test's hand: held back, broken, ended, or made to say what no server said."""

from collections.abc import Callable
from dataclasses import dataclass, field

from steersman.protocol.http import Exchange, Peer, Response, Stream, Upgraded


@dataclass(slots=True, eq=False)
class TappedStream:
    """A server's stream, with a tap on it. While it is held, what the server writes waits."""

    inner: Stream
    target: str
    is_held: bool = False
    waiting: list[bytes] = field(default_factory=list, repr=False)

    def write(self, chunk: bytes) -> None:
        """Send one chunk, or keep it."""
        if self.is_held:
            self.waiting.append(chunk)
        else:
            self.inner.write(chunk)

    def release(self) -> None:
        """Send what was kept, and keep nothing more."""
        self.is_held = False
        waiting, self.waiting = self.waiting, []
        for chunk in waiting:
            self.inner.write(chunk)

    def close(self) -> None:
        """End the answer properly."""
        self.inner.close()

    def abort(self) -> None:
        """Break the connection in the middle of the answer."""
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
        """Call back once when the peer is gone or the answer was ended."""
        self.inner.on_close(callback)


@dataclass(frozen=True, slots=True)
class TappedExchange:
    """An exchange whose stream gets a tap."""

    inner: Exchange
    target: str
    on_stream: Callable[[TappedStream], None]

    @property
    def peer(self) -> Peer:
        """Who is asking."""
        return self.inner.peer

    def respond(self, response: Response) -> None:
        """Answer at once with a whole body."""
        self.inner.respond(response)

    def stream(self, status: int, headers: list[tuple[str, str]]) -> Stream:
        """Begin an answer whose end is not known yet."""
        tapped = TappedStream(self.inner.stream(status, headers), self.target)
        self.on_stream(tapped)
        return tapped

    def upgrade(self, headers: list[tuple[str, str]]) -> Upgraded:
        """Switch protocols."""
        return self.inner.upgrade(headers)

    def reset(self) -> None:
        """Break the connection without an answer."""
        self.inner.reset()
