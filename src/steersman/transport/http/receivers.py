"""What becomes of an answer's bytes: a whole value, or a stream."""

import asyncio

from steersman.errors import BadAnswer, ConnectionLost, TransportError
from steersman.protocol.http import Response
from steersman.transport.http.connection import Connection
from steersman.transport.http.inflate import Inflater
from steersman.transport.stream import ResponseStream

_SWITCHING_PROTOCOLS = 101


class WholeResponse:
    """Collects one answer within a limit; ``answer`` resolves when it is complete."""

    __slots__ = (
        "_chunks",
        "_connection",
        "_headers",
        "_inflater",
        "_limit",
        "_size",
        "_status",
        "answer",
        "is_bodiless",
    )

    def __init__(
        self, connection: Connection, answer: "asyncio.Future[Response]", *, limit: int, is_bodiless: bool
    ) -> None:
        self.answer = answer
        self.is_bodiless = is_bodiless
        self._connection = connection
        self._limit = limit
        self._chunks: list[bytes] = []
        self._size = 0
        self._inflater: Inflater | None = None
        self._status = 0
        self._headers: list[tuple[str, str]] = []

    def head(self, status: int, headers: list[tuple[str, str]]) -> None:
        """Keep the head, and prepare for a compressed body."""
        self._status = status
        self._headers = headers
        for name, value in headers:
            if name == "content-encoding" and value.lower() == "gzip":
                self._inflater = Inflater()
            elif name == "content-length" and int(value) > self._limit:
                self._connection.break_off(self._too_large())

    def body(self, chunk: bytes) -> None:
        """Keep the decompressed body, up to the limit."""
        if self._inflater is not None:
            self._inflate(self._inflater, chunk)
            return
        self._size += len(chunk)
        if self._size > self._limit:
            self._connection.break_off(self._too_large())
        else:
            self._chunks.append(chunk)

    def end(self) -> None:
        """Return the whole answer."""
        if self.answer.done():
            return
        if self._inflater is not None and self._chunks:
            try:
                self._inflater.finish()
            except BadAnswer as error:
                self.answer.set_exception(error)
                return
        chunks = self._chunks
        body = chunks[0] if len(chunks) == 1 else b"".join(chunks)
        self.answer.set_result(Response(self._status, self._headers, body))

    def fail(self, error: TransportError) -> None:
        """Return the failure."""
        if not self.answer.done():
            self.answer.set_exception(error)

    def _inflate(self, inflater: Inflater, chunk: bytes) -> None:
        try:
            while plain := inflater.inflate(chunk, self._limit - self._size + 1):
                self._size += len(plain)
                if self._size > self._limit:
                    raise self._too_large()
                self._chunks.append(plain)
                chunk = b""
        except BadAnswer as error:
            self._connection.break_off(error)

    def _too_large(self) -> BadAnswer:
        return BadAnswer(f"the body of the response exceeds {self._limit} bytes")


class StreamedResponse:
    """Feeds a stream; ``opened`` resolves with it when the head is complete. A full stream makes the peer wait."""

    __slots__ = ("_connection", "_high_water", "_stream", "opened")
    is_bodiless = False

    def __init__(self, connection: Connection, opened: "asyncio.Future[ResponseStream]", high_water: int) -> None:
        self.opened = opened
        self._connection = connection
        self._high_water = high_water
        self._stream: ResponseStream | None = None

    def head(self, status: int, headers: list[tuple[str, str]]) -> None:
        """Open the stream."""
        self._stream = ResponseStream(status, headers, high_water=self._high_water)
        self._stream.on_drained(self._connection.resume)
        if not self.opened.done():
            self.opened.set_result(self._stream)

    def body(self, chunk: bytes) -> None:
        """Feed the stream."""
        if self._stream is not None:
            self._stream.feed(chunk)
            if self._stream.is_full:
                self._connection.pause()

    def end(self) -> None:
        """Finish the stream."""
        if self._stream is not None:
            self._stream.finish()
        else:
            self.fail(ConnectionLost("the connection was lost before a response arrived"))

    def fail(self, error: TransportError) -> None:
        """Break the stream."""
        if self._stream is not None:
            self._stream.finish(error)
        elif not self.opened.done():
            self.opened.set_exception(error)


class UpgradedConnection:
    """The raw connection after an agreed upgrade."""

    def __init__(self, connection: Connection, stream: ResponseStream) -> None:
        self._connection = connection
        self._stream = stream

    def write(self, data: bytes) -> None:
        """Send bytes as they are."""
        self._connection.write(data)

    def close(self) -> None:
        """Close the connection after what was written."""
        self._connection.close()

    async def drain(self) -> None:
        """Wait until the peer keeps up, or has disconnected."""
        await self._connection.drain()

    async def receive(self) -> bytes:
        """Wait for bytes; empty at the end."""
        return await anext(self._stream, b"")


def agreed_to_upgrade(stream: ResponseStream) -> bool:
    """Return whether the server switched protocols."""
    return stream.status == _SWITCHING_PROTOCOLS
