"""One HTTP/1.1 connection to a server: requests out, responses in, one exchange at a time.

It knows nothing of retries, credentials or pools. The sender passes a receiver, which the connection drives.
"""

import asyncio
import ssl
from collections.abc import Callable
from typing import Protocol, cast

import httptools

from steersman.clock import Clock, Deadline
from steersman.errors import BadAnswer, ConnectionLost, NoAnswer, TlsError, TransportError
from steersman.transport.http.wire import Wire
from steersman.transport.limits import Limits

_SWITCHING_PROTOCOLS = 101
_FIRST_FINAL_STATUS = 200
#: Lower-case text of header names as received: responses have the same few again and again.
_NAMES: dict[bytes, str] = {}
_MOST_NAMES = 1024


def header_name(raw: bytes) -> str:
    """Return a header's name in lower case."""
    name = _NAMES.get(raw)
    if name is None:
        name = raw.decode("latin-1").lower()
        if len(_NAMES) < _MOST_NAMES:
            _NAMES[raw] = name
    return name


class Receiver(Protocol):
    """Takes one answer: ``head``, any number of ``body``, then ``end``; or ``fail`` at any point. Never raises."""

    @property
    def is_bodiless(self) -> bool:
        """Whether the response has only a head, whatever its headers are: the response to ``HEAD``."""

    def head(self, status: int, headers: list[tuple[str, str]]) -> None:
        """Handle the status and headers."""

    def body(self, chunk: bytes) -> None:
        """Handle more of the body."""

    def end(self) -> None:
        """Handle the end of the response."""

    def fail(self, error: TransportError) -> None:
        """Handle a failure: no complete response will come."""


class Connection(asyncio.Protocol):
    """A connection. If it ``is_open`` and idle, it can carry the next request."""

    def __init__(
        self,
        *,
        clock: Clock,
        limits: Limits,
        on_free: Callable[["Connection"], None],
        on_lost: Callable[["Connection"], None],
    ) -> None:
        self._clock = clock
        self._limits = limits
        self._on_free = on_free
        self._on_lost = on_lost
        self._deadline = Deadline(clock, self._on_silence)
        self._parser = httptools.HttpResponseParser(self)
        self._transport: asyncio.Transport | None = None
        self._receiver: Receiver | None = None
        #: Seconds that each wait for a byte may last, and when the whole exchange is due.
        self._silence: float | None = None
        self._due: float | None = None
        #: Exchanges begun on this connection.
        self.uses = 0
        #: Whether any byte came since the last request was sent.
        self.is_answered = False
        self._paused = False
        self._upgraded = False
        #: Whether the peer keeps up with the writes, and the waiters for that.
        self._is_writable = True
        self._writers: list[asyncio.Future[None]] = []
        self._begin()

    def _begin(self) -> None:
        self._headers: list[tuple[str, str]] = []
        self._head_size = 0
        self._head_done = False
        self._complete = False
        self._reusable = False
        #: The body has no length: it ends with the connection.
        self._until_eof = False

    def __repr__(self) -> str:
        state = "closed" if not self.is_open else "busy" if self._receiver is not None else "idle"
        return f"<Connection {state} uses={self.uses}>"

    @property
    def is_open(self) -> bool:
        """Whether the connection can carry bytes."""
        return self._transport is not None and not self._transport.is_closing()

    @property
    def transport(self) -> asyncio.Transport:
        """The asyncio transport below, while there is one."""
        if self._transport is None:
            raise ConnectionLost("the connection is closed")
        return self._transport

    @transport.setter
    def transport(self, transport: asyncio.Transport) -> None:
        self._transport = transport

    # What the sender calls.

    def send(self, wire: Wire, receiver: Receiver, *, silence: float | None, due: float | None = None) -> None:
        """Send a request; ``silence`` bounds each wait for a byte, ``due`` (monotonic) the whole exchange."""
        transport = self.transport
        self.uses += 1
        self.is_answered = False
        self._receiver = receiver
        self._due = due
        self._begin()
        self.limit_silence(silence)
        transport.write(wire.data)

    def limit_silence(self, seconds: float | None) -> None:
        """Return up after that many seconds without a byte, from now on."""
        self._silence = seconds
        self._expect_bytes()

    def keep(self, seconds: float) -> None:
        """Stay open without work for at most that long."""
        self._deadline.set(seconds)

    def write(self, data: bytes) -> None:
        """Send raw bytes, after an upgrade."""
        if self.is_open:
            self.transport.write(data)

    async def drain(self) -> None:
        """Wait until the peer keeps up with the raw writes, or has disconnected."""
        while self.is_open and not self._is_writable:
            writer: asyncio.Future[None] = asyncio.get_running_loop().create_future()
            self._writers.append(writer)
            await writer

    def close(self) -> None:
        """Close after what was written."""
        if self._transport is not None:
            self._transport.close()

    def abort(self) -> None:
        """Break the connection without notifying a receiver."""
        self._receiver = None
        self._deadline.cancel()
        if self._transport is not None:
            self._transport.abort()

    def cancel(self, receiver: Receiver) -> None:
        """Break the connection if it still works for this receiver; it may work for another one already."""
        if self._receiver is receiver:
            self.abort()

    def break_off(self, error: TransportError) -> None:
        """Break the connection and notify the receiver."""
        receiver = self._receiver
        self.abort()
        if receiver is not None:
            receiver.fail(error)

    def pause(self) -> None:
        """Stop reading, so that the peer waits."""
        if not self._paused and self.is_open:
            self._paused = True
            self.transport.pause_reading()

    def resume(self) -> None:
        """Continue reading."""
        if self._paused:
            self._paused = False
            if self.is_open:
                self._expect_bytes()  # only now can the peer be too late
                self.transport.resume_reading()

    # What the event loop calls.

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Keep the transport to write to."""
        self._transport = cast("asyncio.Transport", transport)  # uvloop's are no subclasses

    def pause_writing(self) -> None:
        """Note that the peer does not keep up."""
        self._is_writable = False

    def resume_writing(self) -> None:
        """Note that the peer has caught up, or never will."""
        self._is_writable = True
        writers, self._writers = self._writers, []
        for writer in writers:
            if not writer.done():
                writer.set_result(None)

    def connection_lost(self, exc: Exception | None) -> None:
        """Notify the receiver, unless the end of the connection is the end of the response."""
        self._deadline.cancel()
        self._transport = None
        self.resume_writing()
        receiver, self._receiver = self._receiver, None
        if receiver is not None:
            if exc is None and (self._until_eof or self._upgraded):
                receiver.end()
            else:
                receiver.fail(self._loss(exc))
        self._on_lost(self)

    def data_received(self, data: bytes) -> None:
        """Parse the bytes; events are acted upon only after all of them were parsed."""
        if self._receiver is None:  # no request is under way: a 408, or a broken server
            self.abort()
            return
        self.is_answered = True
        if self._upgraded:
            self._receiver.body(data)
            return
        try:
            self._parser.feed_data(data)
        except httptools.HttpParserUpgrade as switch:
            self._switch(data[switch.args[0] :])
        except httptools.HttpParserError as error:
            self._reusable = False
            if not self._complete:
                self.break_off(BadAnswer(f"the peer does not speak HTTP: {error}"))
        if self._receiver is not None:  # not broken off while parsing
            self._parsed(self._receiver, len(data))

    def _parsed(self, receiver: Receiver, size: int) -> None:
        if self._complete:
            self._finish(receiver)
            return
        self._expect_bytes()
        if not self._head_done:
            self._head_size += size
            if self._head_size > self._limits.head:
                self.break_off(BadAnswer(f"the head of the response exceeds {self._limits.head} bytes"))

    def _expect_bytes(self) -> None:
        at = None if self._silence is None else self._clock.monotonic() + self._silence
        if self._due is not None and (at is None or self._due < at):
            at = self._due
        if at is None:
            self._deadline.clear()
        else:
            self._deadline.set_at(at)

    def _finish(self, receiver: Receiver) -> None:
        self._receiver = None
        self._deadline.clear()
        receiver.end()
        if self._reusable and self.is_open:
            self._on_free(self)
        else:
            self.close()

    def _switch(self, rest: bytes) -> None:
        self._upgraded = True
        self._complete = False
        if rest and self._receiver is not None:
            self._receiver.body(rest)

    def _loss(self, exc: Exception | None) -> TransportError:
        if isinstance(exc, ssl.SSLError):
            return TlsError(f"the TLS connection failed: {exc.reason or exc}")
        where = "in the middle of the response" if self._head_done else "before a response arrived"
        return ConnectionLost(f"the connection was lost {where}" + (f": {exc}" if exc else ""))

    def _on_silence(self) -> None:
        if self._receiver is None:
            self.close()
        elif self._paused and self._silence is not None:  # the peer is quiet because we made it wait
            self._deadline.set(self._silence)
        elif self._due is not None and self._due <= self._clock.monotonic():
            self.break_off(NoAnswer("the response was not complete within the timeout"))
        else:
            self.break_off(NoAnswer(f"not a byte came for {self._silence or 0:g} s: the connection is taken for dead"))

    # What the parser calls.

    def on_message_begin(self) -> None:
        """Break the connection if a second response to one request begins."""
        if self._complete:
            self._reusable = False

    def on_header(self, name: bytes, value: bytes) -> None:
        """Collect a header; trailers are ignored."""
        if not self._head_done:
            try:
                text = value.decode()
            except UnicodeDecodeError:
                text = value.decode("latin-1")
            self._headers.append((_NAMES.get(name) or header_name(name), text))

    def on_headers_complete(self) -> None:
        """Pass on the head of the final response; interim responses are skipped."""
        status = self._parser.get_status_code()
        if status < _FIRST_FINAL_STATUS and status != _SWITCHING_PROTOCOLS:
            self._headers = []
            return
        receiver = self._receiver
        if self._complete or receiver is None:
            return
        self._head_done = True
        keep_alive = self._parser.should_keep_alive()
        self._reusable = keep_alive and not receiver.is_bodiless
        if not keep_alive:
            self._until_eof = not any(name in ("content-length", "transfer-encoding") for name, _ in self._headers)
        receiver.head(status, self._headers)
        if receiver.is_bodiless:
            self._complete = True

    def on_body(self, chunk: bytes) -> None:
        """Pass on a piece of the body."""
        if self._receiver is not None and not self._complete:
            self._receiver.body(chunk)

    def on_message_complete(self) -> None:
        """Note that the response is complete, unless it was only an interim one."""
        if self._head_done and not self._upgraded:
            self._complete = True
