"""A response that arrives piece by piece: a buffer between the connection and the task that reads it."""

import asyncio
from collections.abc import Callable
from typing import Self

from steersman.errors import BadAnswer, TransportError
from steersman.transport.http.inflate import Inflater

#: Maximum of plain bytes that one read returns from a compressed response.
_INFLATE_AT_ONCE = 256 * 1024


class ResponseStream:
    """Status and headers at once, then the body by ``async for``: each step yields all bytes that arrived meanwhile.

    What arrived before a failure is delivered before the failure is raised. One reader at a time.
    """

    def __init__(self, status: int, headers: list[tuple[str, str]], *, high_water: int = 1024 * 1024) -> None:
        self.status = status
        self.headers = headers
        self._high_water = high_water
        self._chunks: list[bytes] = []
        self._size = 0
        self._ended = False
        self._failure: TransportError | None = None
        self._reader: asyncio.Future[None] | None = None
        self._is_interrupted = False
        self._on_drained: Callable[[], None] | None = None
        self._inflater = Inflater() if self.header("content-encoding").lower() == "gzip" else None

    def __repr__(self) -> str:
        state = "ended" if self._ended else "open"
        return f"<ResponseStream {self.status} {state} buffered={self._size}>"

    def header(self, name: str, default: str = "") -> str:
        """Return the first value of a header."""
        return next((value for key, value in self.headers if key == name), default)

    # What the receiving side calls; nothing here suspends.

    @property
    def is_full(self) -> bool:
        """Whether the reader is so far behind that the peer should wait."""
        return self._size >= self._high_water

    @property
    def is_empty(self) -> bool:
        """Whether no bytes wait for the reader."""
        return not self._chunks

    @property
    def is_ended(self) -> bool:
        """Whether nothing more will be added."""
        return self._ended

    def feed(self, chunk: bytes) -> None:
        """Add bytes as they came over the wire."""
        self._chunks.append(chunk)
        self._size += len(chunk)
        self._wake()

    def finish(self, failure: TransportError | None = None) -> None:
        """End the body; with a failure, reading raises it after the last byte."""
        if not self._ended:
            self._ended = True
            self._failure = failure
            self._wake()
            if self._on_drained is not None:
                self._on_drained()  # the writer may continue

    def on_drained(self, callback: Callable[[], None]) -> None:
        """Call back each time the reader has consumed the buffer."""
        self._on_drained = callback

    # What the reader calls.

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> bytes:
        while True:
            chunk = self._take() if self._inflater is None else self._take_inflated(self._inflater)
            if chunk:
                return chunk
            if self._ended:
                raise self._failure or StopAsyncIteration
            if self._is_interrupted:
                self._is_interrupted = False
                raise TimeoutError
            await self._wait()

    def interrupt(self) -> None:
        """Raise ``TimeoutError`` in a waiting read; reading can continue, and nothing is lost."""
        if self._reader is not None and not self._reader.done():
            self._is_interrupted = True
            self._wake()

    async def read(self, limit: int = 4 * 1024 * 1024) -> bytes:
        """Return the rest of the body at once: for answers that turn out to be an error message."""
        parts: list[bytes] = []
        size = 0
        async for chunk in self:
            size += len(chunk)
            if size > limit:
                raise BadAnswer(f"the response exceeds {limit} bytes")
            parts.append(chunk)
        return b"".join(parts)

    def _take(self) -> bytes:
        chunks = self._chunks
        if not chunks:
            return b""
        chunk = chunks[0] if len(chunks) == 1 else b"".join(chunks)
        self._chunks = []
        self._size = 0
        if self._on_drained is not None:
            self._on_drained()
        return chunk

    def _take_inflated(self, inflater: Inflater) -> bytes:
        plain = inflater.inflate(b"", _INFLATE_AT_ONCE) or inflater.inflate(self._take(), _INFLATE_AT_ONCE)
        if not plain and self._ended and self._failure is None:
            inflater.finish()
        return plain

    async def _wait(self) -> None:
        self._reader = asyncio.get_running_loop().create_future()
        self._is_interrupted = False
        try:
            await self._reader
        finally:
            self._reader = None

    def _wake(self) -> None:
        if self._reader is not None and not self._reader.done():
            self._reader.set_result(None)
