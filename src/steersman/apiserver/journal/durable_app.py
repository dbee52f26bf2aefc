"""`DurableApp`: holds responses, reads and events back until the writes that they show are on the disk."""

from collections.abc import Awaitable, Callable

from steersman.apiserver.journal.journal import Journal
from steersman.apiserver.messages.info import Query
from steersman.apiserver.messages.rendering import refusal_response
from steersman.apiserver.status import internal_error
from steersman.protocol.http import App, Exchange, Peer, Request, Response, Stream, Upgraded


class DurableApp:
    """Wraps an app whose writes go to a journal, and holds back its responses until the writes are on disk."""

    def __init__(self, app: App, journal: Journal) -> None:
        self._app = app
        self._journal = journal

    def handle(self, request: Request, exchange: Exchange) -> Awaitable[None] | None:
        """Pass the request to the app; see ``App``."""
        if self._journal.failure is not None:
            refusal = internal_error(str(self._journal.failure))
            exchange.respond(refusal_response(request, Query(), refusal))
            return None
        return self._app.handle(request, _HeldExchange(exchange, self._journal))


class _HeldExchange:
    """An exchange whose answer waits for the disk."""

    __slots__ = ("_exchange", "_journal")

    def __init__(self, exchange: Exchange, journal: Journal) -> None:
        self._exchange = exchange
        self._journal = journal

    @property
    def peer(self) -> Peer:
        """Address and certificate of the client."""
        return self._exchange.peer

    def respond(self, response: Response) -> None:
        """Respond as soon as the data of the response is on disk."""
        self._journal.when_durable(lambda: self._exchange.respond(response), self._exchange.reset)

    def stream(self, status: int, headers: list[tuple[str, str]]) -> Stream:
        """Begin an answer whose chunks wait for the disk."""
        return _HeldStream(self._exchange.stream(status, headers), self._journal)

    def upgrade(self, headers: list[tuple[str, str]]) -> Upgraded:
        """Switch protocols; streams of upgraded connections contain no objects."""
        return self._exchange.upgrade(headers)

    def reset(self) -> None:
        """Break the connection."""
        self._exchange.reset()


class _HeldStream:
    """A stream whose chunks wait for the disk, in order."""

    __slots__ = ("_is_ended", "_journal", "_stream")

    def __init__(self, stream: Stream, journal: Journal) -> None:
        self._stream = stream
        self._journal = journal
        self._is_ended = False

    @property
    def is_open(self) -> bool:
        """Whether the peer may still receive."""
        return not self._is_ended and self._stream.is_open

    @property
    def is_writable(self) -> bool:
        """Whether the peer keeps up."""
        return not self._is_ended and self._stream.is_writable

    def write(self, chunk: bytes) -> None:
        """Send one chunk as soon as its data is on disk."""
        self._journal.when_durable(lambda: self._stream.write(chunk), self._stream.abort)

    def close(self) -> None:
        """End the answer after what was written."""
        self._is_ended = True
        self._journal.when_durable(self._stream.close, self._stream.abort)

    def abort(self) -> None:
        """Break the connection."""
        self._is_ended = True
        self._stream.abort()

    def on_writable(self, callback: Callable[[], None]) -> None:
        """Call back each time the peer has caught up."""
        self._stream.on_writable(callback)

    def on_close(self, callback: Callable[[], None]) -> None:
        """Call back once when the peer is gone or the answer was ended."""
        self._stream.on_close(callback)
