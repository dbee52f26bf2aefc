"""One request on the server's end: how an app's answer becomes bytes on its connection."""

import asyncio
from collections.abc import Callable
from typing import Protocol

from steersman.protocol.http import Peer, Response
from steersman.serving.head import encode_head
from steersman.serving.upgraded import HttpUpgraded, RawConnection

_SWITCHING_PROTOCOLS = 101
#: Statuses that never have a body.
_BODILESS = frozenset({204, 304})
#: Larger bodies are written apart from their head instead of being copied behind it.
_WORTH_A_SECOND_WRITE = 64 * 1024


class ExchangeConnection(RawConnection, Protocol):
    """What an exchange needs of the connection it happens on."""

    @property
    def peer(self) -> Peer:
        """The client."""

    @property
    def is_open(self) -> bool:
        """Whether the peer may still receive."""

    @property
    def is_writable(self) -> bool:
        """Whether the peer keeps up."""

    def date(self) -> str:
        """Return the ``date`` line."""

    def abort(self) -> None:
        """Break the connection."""

    def stays_open(self) -> bool:
        """Return whether the connection would take another request after this one."""

    def exchange_done(self, *, keep_alive: bool) -> None:
        """Continue with the next request, or close."""

    def switch(self, upgraded: HttpUpgraded) -> None:
        """Pass on all further bytes."""


class HttpStream:
    """A response whose end is not known yet; see ``Stream``."""

    def __init__(self, connection: ExchangeConnection, *, keep_alive: bool, is_chunked: bool, is_silent: bool) -> None:
        self._connection = connection
        self._keep_alive = keep_alive
        self._is_chunked = is_chunked
        #: An answer to ``HEAD``: everything is done but sending.
        self._is_silent = is_silent
        self._ended = False
        self._on_writable: list[Callable[[], None]] = []
        self._on_close: list[Callable[[], None]] = []

    @property
    def is_open(self) -> bool:
        """Whether the peer may still receive."""
        return not self._ended

    @property
    def is_writable(self) -> bool:
        """Whether the peer keeps up."""
        return not self._ended and self._connection.is_writable

    def write(self, chunk: bytes) -> None:
        """Send one chunk; a no-op once the peer has disconnected."""
        if self._ended or self._is_silent or not chunk:  # an empty chunk would end the answer
            return
        self._connection.write(b"%x\r\n%b\r\n" % (len(chunk), chunk) if self._is_chunked else chunk)

    def close(self) -> None:
        """End the response properly."""
        if self._ended:
            return
        if self._is_chunked and not self._is_silent:
            self._connection.write(b"0\r\n\r\n")
        self.end()
        self._connection.exchange_done(keep_alive=self._keep_alive)

    def abort(self) -> None:
        """Break the connection in the middle of the response."""
        if not self._ended:
            self._connection.abort()
            self.end()

    def on_writable(self, callback: Callable[[], None]) -> None:
        """Call back each time the peer has caught up."""
        self._on_writable.append(callback)

    def on_close(self, callback: Callable[[], None]) -> None:
        """Call back once when the peer has disconnected or the response has ended; at once if that was before."""
        if self._ended:
            callback()
        else:
            self._on_close.append(callback)

    def end(self) -> None:
        """Note that nothing more can be sent."""
        if not self._ended:
            self._ended = True
            callbacks, self._on_close = self._on_close, []
            for callback in callbacks:
                callback()

    def caught_up(self) -> None:
        """Note that the peer has read what was waiting."""
        if not self._ended:
            for callback in list(self._on_writable):
                callback()


class HttpExchange:
    """One request; see ``Exchange``."""

    __slots__ = ("_connection", "_is_10", "_is_head", "_keep_alive", "is_begun", "open_stream", "task", "upgraded")

    def __init__(self, connection: ExchangeConnection, *, is_head: bool, is_10: bool, keep_alive: bool) -> None:
        self._connection = connection
        self._is_head = is_head
        #: HTTP/1.0 has no chunks and closes by default.
        self._is_10 = is_10
        self._keep_alive = keep_alive
        #: Whether an answer has been begun; there can be only one.
        self.is_begun = False
        self.open_stream: HttpStream | None = None
        self.upgraded: HttpUpgraded | None = None
        #: The app's task, if it answers by waiting.
        self.task: asyncio.Task[None] | None = None

    @property
    def peer(self) -> Peer:
        """The client of the request."""
        return self._connection.peer

    def respond(self, response: Response) -> None:
        """Respond with a complete body."""
        connection = self._connection
        keep_alive = self._keep_alive and connection.stays_open()
        body = response.body
        framing = connection.date()
        if not keep_alive or self._is_10:
            framing += self._connection_line(keep_alive=keep_alive)
        if response.status in _BODILESS:
            body = b""
        else:
            framing = f"{framing}content-length: {len(body)}\r\n"
        head = encode_head(response.status, response.headers, framing)
        self._begin()
        if self._is_head or not body:
            connection.write(head)
        elif len(body) < _WORTH_A_SECOND_WRITE:
            connection.write(head + body)
        else:
            connection.write(head)
            connection.write(body)
        connection.exchange_done(keep_alive=keep_alive)

    def stream(self, status: int, headers: list[tuple[str, str]]) -> HttpStream:
        """Begin a response whose end is not known yet."""
        connection = self._connection
        is_chunked = not self._is_10 and status not in _BODILESS
        keep_alive = self._keep_alive and is_chunked and connection.stays_open()
        framing = connection.date() + self._connection_line(keep_alive=keep_alive)
        if is_chunked:
            framing += "transfer-encoding: chunked\r\n"
        head = encode_head(status, headers, framing)
        self._begin()
        stream = HttpStream(
            connection,
            keep_alive=keep_alive,
            is_chunked=is_chunked,
            is_silent=self._is_head or status in _BODILESS,
        )
        if connection.is_open:
            self.open_stream = stream
            connection.write(head)
        else:
            stream.end()
        return stream

    def upgrade(self, headers: list[tuple[str, str]]) -> HttpUpgraded:
        """Switch protocols (101) and hand over the raw connection."""
        head = encode_head(_SWITCHING_PROTOCOLS, headers, "connection: upgrade\r\n")
        self._begin()
        self.upgraded = HttpUpgraded(self._connection)
        self._connection.write(head)
        self._connection.switch(self.upgraded)
        return self.upgraded

    def reset(self) -> None:
        """Break the connection without a response, or in the middle of one."""
        self.is_begun = True
        self._connection.abort()

    def drain(self) -> None:
        """End an endless response, and keep the connection until a complete one is sent: the server is closing."""
        self._keep_alive = False
        if self.open_stream is not None:
            self.open_stream.close()
        if self.upgraded is not None:
            self.upgraded.close()

    def connection_lost(self) -> None:
        """Note that the peer has disconnected."""
        if self.open_stream is not None:
            self.open_stream.end()
        if self.upgraded is not None:
            self.upgraded.end()
        if self.task is not None:
            self.task.cancel()

    def _begin(self) -> None:
        if self.is_begun:
            raise RuntimeError("this request already has a response")
        self.is_begun = True

    def _connection_line(self, *, keep_alive: bool) -> str:
        if not keep_alive:
            return "connection: close\r\n"
        return "connection: keep-alive\r\n" if self._is_10 else ""
