"""The server's end of a raw connection, after both sides agreed to leave HTTP."""

import asyncio
from typing import Protocol

#: Bytes that wait for the app before the peer is made to wait.
_HIGH_WATER = 1024 * 1024


class RawConnection(Protocol):
    """What an upgraded exchange needs of the connection below it."""

    def write(self, data: bytes) -> None:
        """Send bytes."""

    def close(self) -> None:
        """Close after what was written."""

    @property
    def is_open(self) -> bool:
        """Whether the peer may still receive."""

    @property
    def is_writable(self) -> bool:
        """Whether the peer keeps up."""

    def pause(self) -> None:
        """Stop reading, so that the peer waits."""

    def resume(self) -> None:
        """Continue reading."""


class HttpUpgraded:
    """Bytes in and out; see ``Upgraded``."""

    def __init__(self, connection: RawConnection) -> None:
        self._connection = connection
        self._buffer = bytearray()
        self._ended = False
        self._reader: asyncio.Future[None] | None = None
        self._writers: list[asyncio.Future[None]] = []

    def write(self, data: bytes) -> None:
        """Send bytes as they are."""
        self._connection.write(data)

    def close(self) -> None:
        """Close the connection after what was written."""
        self._connection.close()

    async def drain(self) -> None:
        """Wait until the peer keeps up, or has disconnected."""
        while self._connection.is_open and not self._connection.is_writable:
            writer: asyncio.Future[None] = asyncio.get_running_loop().create_future()
            self._writers.append(writer)
            await writer

    def caught_up(self) -> None:
        """Note that the peer has read what was waiting, or never will."""
        writers, self._writers = self._writers, []
        for writer in writers:
            if not writer.done():
                writer.set_result(None)

    async def receive(self) -> bytes:
        """Wait for bytes; empty at the end."""
        while not self._buffer and not self._ended:
            self._reader = asyncio.get_running_loop().create_future()
            try:
                await self._reader
            finally:
                self._reader = None
        data = bytes(self._buffer)
        self._buffer.clear()
        self._connection.resume()
        return data

    def feed(self, data: bytes) -> None:
        """Handle bytes of the peer."""
        self._buffer += data
        if len(self._buffer) >= _HIGH_WATER:
            self._connection.pause()
        self._wake()

    def end(self) -> None:
        """Note that nothing more will come."""
        self._ended = True
        self._wake()
        self.caught_up()

    def _wake(self) -> None:
        if self._reader is not None and not self._reader.done():
            self._reader.set_result(None)
