"""One client's connection: bytes to requests, one answer after the other, within limits.

Whatever a client sends, the worst that follows is a refusal and a closed connection. Requests that arrive before their
predecessors are answered wait, and the client is made to wait with them.
"""

import asyncio
from collections import deque
from collections.abc import Callable
from typing import Protocol, cast

from steersman.clock import Clock, Deadline
from steersman.json_types import JsonObject
from steersman.protocol.http import Peer, Response
from steersman.serving.app import AppRunner
from steersman.serving.exchange import HttpExchange
from steersman.serving.head import DateHeader, encode_head
from steersman.serving.incoming import Incoming, Phase, Refused, RequestReader
from steersman.serving.limits import ServerLimits
from steersman.serving.upgraded import HttpUpgraded

_CONTINUE = b"HTTP/1.1 100 Continue\r\n\r\n"
#: Seconds that a rejected client gets to read the reason.
_LINGER = 2.0


class ConnectionContext(Protocol):
    """What all connections of one server share."""

    clock: Clock
    limits: ServerLimits
    runner: AppRunner
    date: DateHeader
    refusal: Callable[[int, str], Response]
    is_draining: bool

    def joined(self, connection: "ServerConnection") -> None:
        """Register a connection."""

    def left(self, connection: "ServerConnection") -> None:
        """Unregister a closed connection."""


class ServerConnection(asyncio.Protocol):
    """A connection of one client."""

    def __init__(self, server: ConnectionContext) -> None:
        self._server = server
        self._transport: asyncio.Transport | None = None
        self._peer = Peer()
        self._reader = RequestReader(server.limits)
        #: Requests (or the rejection of one) whose response has not begun yet, in order.
        self._waiting: deque[Incoming | Refused] = deque()
        self._exchange: HttpExchange | None = None
        self._raw: HttpUpgraded | None = None
        #: What the reading limit was last set for.
        self._limited = (Phase.IDLE, 0)
        self._reading_limit = Deadline(server.clock, self._on_slow_reader)
        self._writing_limit = Deadline(server.clock, self._on_stalled)
        #: Bytes that waited for the client when it was last looked at.
        self._unsent = 0
        self._is_writable = True
        self._is_paused = False
        self._is_pumping = False
        self._is_ending = False

    def __repr__(self) -> str:
        state = "closed" if self._transport is None else "busy" if self._exchange is not None else "idle"
        return f"<ServerConnection {self._peer.address} {state} waiting={len(self._waiting)}>"

    # What exchanges call.

    @property
    def peer(self) -> Peer:
        """The client."""
        return self._peer

    @property
    def is_open(self) -> bool:
        """Whether the peer may still receive."""
        return self._transport is not None and not self._transport.is_closing()

    @property
    def is_writable(self) -> bool:
        """Whether the peer keeps up."""
        return self._is_writable and self.is_open

    def date(self) -> str:
        """Return the ``date`` line."""
        return self._server.date.line()

    def stays_open(self) -> bool:
        """Return whether another request may follow."""
        return not self._server.is_draining and not self._is_ending

    def write(self, data: bytes) -> None:
        """Send bytes; a no-op once the client has disconnected."""
        if self._transport is not None:
            self._transport.write(data)

    def close(self) -> None:
        """Close after what was written."""
        if self._transport is not None:
            self._transport.close()

    def abort(self) -> None:
        """Break the connection."""
        if self._transport is not None:
            self._transport.abort()

    def pause(self) -> None:
        """Stop reading, so that the client waits."""
        if not self._is_paused and self.is_open and self._transport is not None:
            self._is_paused = True
            self._transport.pause_reading()

    def resume(self) -> None:
        """Continue reading."""
        if self._is_paused:
            self._is_paused = False
            if self.is_open and self._transport is not None:
                self._transport.resume_reading()

    def switch(self, upgraded: HttpUpgraded) -> None:
        """Pass on all further bytes."""
        self._raw = upgraded
        self._reading_limit.cancel()
        if self._reader.undecided:
            upgraded.feed(self._reader.undecided)
        self.resume()

    def exchange_done(self, *, keep_alive: bool) -> None:
        """Continue with the next request, or close."""
        self._exchange = None
        if not keep_alive or not self.stays_open():
            self.close()
        elif not self._is_pumping:
            self._pump()

    # What the server calls.

    @property
    def gives_way_at(self) -> float | None:
        """When this connection ends if its client does nothing; ``None`` while a request is being processed."""
        return self._reading_limit.at if self._exchange is None and self._raw is None and not self._waiting else None

    def refuse(self, status: int, reason: str) -> None:
        """Reject whatever the client requests."""
        self._waiting.append(self._reader.stop(status, reason))
        self._pump()

    def drain(self) -> None:
        """Finish the current request, accept no further one."""
        if self._exchange is not None:
            self._exchange.drain()
        else:
            self.close()

    # What the event loop calls.

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Read the peer's address and certificate."""
        self._transport = tcp = cast("asyncio.Transport", transport)  # uvloop's are no subclasses
        tcp.set_write_buffer_limits(high=self._server.limits.write_buffer)
        self._peer = _peer(tcp)
        self._reading_limit.set(self._server.limits.read_head)
        self._server.joined(self)

    def connection_lost(self, exc: Exception | None) -> None:  # noqa: ARG002 - why a client left does not matter
        """Notify the current exchange."""
        self._transport = None
        self._reading_limit.cancel()
        self._writing_limit.cancel()
        self._waiting.clear()
        exchange, self._exchange = self._exchange, None
        self._server.left(self)
        if self._raw is not None:
            self._raw.end()
        if exchange is not None:
            exchange.connection_lost()

    def pause_writing(self) -> None:
        """Hold back: the client does not keep up."""
        self._is_writable = False
        self._unsent = self._unsent_now()
        self._writing_limit.set(self._server.limits.stalled)

    def resume_writing(self) -> None:
        """Continue: the client has caught up."""
        self._is_writable = True
        self._writing_limit.clear()
        if self._exchange is not None and self._exchange.open_stream is not None:
            self._exchange.open_stream.caught_up()
        if self._raw is not None:
            self._raw.caught_up()

    def data_received(self, data: bytes) -> None:
        """Parse requests and begin to process them."""
        if self._raw is not None:
            self._raw.feed(data)
        elif not self._is_ending:  # the rest of a rejected request is read and discarded
            self._waiting.extend(self._reader.feed(data))
            self._pump()

    # How requests become answers.

    def _pump(self) -> None:
        """Process pending requests in order; immediate responses do not recurse."""
        self._is_pumping = True
        try:
            while self._exchange is None and not self._is_ending:
                if not self._waiting and self._reader.undecided is None:
                    break
                if not self.is_open:
                    return
                if self._waiting:
                    self._begin(self._waiting.popleft())
                else:  # an upgrade was asked for and not agreed to
                    self._waiting.extend(self._reader.go_on())
        finally:
            self._is_pumping = False
        if self.is_open and not self._is_ending:
            self._adjust()

    def _begin(self, item: Incoming | Refused) -> None:
        if isinstance(item, Refused):
            self._refuse(item)
            return
        request = item.request
        exchange = HttpExchange(self, is_head=request.method == "HEAD", is_10=item.is_10, keep_alive=item.keep_alive)
        self._exchange = exchange
        self._server.runner.run(request, exchange)

    def _refuse(self, refused: Refused) -> None:
        """Send a rejection and close, but leave the client time to read the reason."""
        self._is_ending = True
        answer = self._server.refusal(refused.status, refused.reason)
        framing = f"{self.date()}connection: close\r\ncontent-length: {len(answer.body)}\r\n"
        self.write(encode_head(answer.status, answer.headers, framing) + answer.body)
        self.resume()
        self._reading_limit.set(_LINGER)
        if self._transport is not None and self._transport.can_write_eof():
            self._transport.write_eof()

    def _adjust(self) -> None:
        """Set the timeout and whether to read on, from the state of the requests."""
        reader = self._reader
        if self._waiting or reader.undecided is not None:
            self.pause()
        else:
            self.resume()
        if reader.phase is Phase.IDLE:
            if self._exchange is None:
                self._reading_limit.set(self._server.limits.keep_alive)
            else:
                self._reading_limit.clear()
        elif (reader.phase, reader.begun) != self._limited:  # each request has its own time, and only once
            self._limited = (reader.phase, reader.begun)
            limits = self._server.limits
            self._reading_limit.set(limits.read_head if reader.phase is Phase.HEAD else limits.read_body)
        if reader.owes_continue and self._exchange is None:
            reader.owes_continue = False
            self.write(_CONTINUE)

    def _unsent_now(self) -> int:
        return 0 if self._transport is None else self._transport.get_write_buffer_size()

    def _on_stalled(self) -> None:
        """Disconnect a client that read nothing; one that reads slowly gets more time."""
        unsent = self._unsent_now()
        if unsent < self._unsent:
            self._unsent = unsent
            self._writing_limit.set(self._server.limits.stalled)
        else:
            self.abort()

    def _on_slow_reader(self) -> None:
        if self._is_ending:
            self.abort()
        elif self._reader.phase is Phase.IDLE:
            self.close()
        else:
            self.refuse(408, "the request was not complete within the time limit")


def _peer(transport: asyncio.Transport) -> Peer:
    name = transport.get_extra_info("peername")
    tls = transport.get_extra_info("ssl_object")
    address = f"{name[0]}:{name[1]}" if isinstance(name, tuple) else str(name or "")
    certificate: JsonObject | None = tls.getpeercert() if tls is not None else None
    return Peer(address, certificate or None)
