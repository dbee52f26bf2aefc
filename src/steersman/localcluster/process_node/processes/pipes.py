"""The ends of pipes and terminals whose other ends are passed to processes."""

import asyncio
import os
from collections.abc import Callable
from contextlib import suppress

from steersman.clock import Clock

_CHUNK = 32 * 1024
#: Seconds to wait for the last output of a process if another process holds its pipe open.
_LAST_WORDS = 1.0


class OutputPipe:
    """Reads the output of a process: all of it by `read`, or in pieces by `chunk`."""

    def __init__(self, reading: int | None = None, descriptor: int = -1) -> None:
        """Create a pipe, or use the two ends of a terminal: one to read from, one for the process."""
        #: The process's end; close it here by `handed_over` once the process has it.
        self.descriptor = descriptor
        if reading is None:
            reading, self.descriptor = os.pipe()
        self._reading = reading
        os.set_blocking(self._reading, False)
        self._ended: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    def handed_over(self) -> None:
        """Close this program's copy of the process's end, so that the pipe ends when the process closes its own."""
        if self.descriptor >= 0:
            os.close(self.descriptor)
            self.descriptor = -1

    def read(self, take: Callable[[bytes], None]) -> None:
        """Pass on everything that arrives, until the end."""

        def ready() -> None:
            data = self._now()
            if data:
                take(data)
            elif data is not None:
                self.close()

        asyncio.get_running_loop().add_reader(self._reading, ready)

    async def chunk(self) -> bytes:
        """Wait for what comes next; empty at the end."""
        loop = asyncio.get_running_loop()
        while self._reading >= 0:
            data = self._now()
            if data is not None:
                return data
            readable: asyncio.Future[None] = loop.create_future()
            loop.add_reader(self._reading, _resolve, readable)
            try:
                await asyncio.wait({readable, self._ended}, return_when=asyncio.FIRST_COMPLETED)
            finally:
                if self._reading >= 0:
                    loop.remove_reader(self._reading)
        return b""

    def _now(self) -> bytes | None:
        """Return the available bytes: ``None`` if there are none yet, empty at the end."""
        try:
            return os.read(self._reading, _CHUNK)
        except BlockingIOError:
            return None
        except OSError:  # the other side of a terminal is closed
            return b""

    async def wait_end(self, clock: Clock) -> None:
        """Wait for the end of the output, with a timeout, and close."""
        with suppress(TimeoutError):
            async with clock.timeout(_LAST_WORDS):
                await self._ended
        self.close()

    def close(self) -> None:
        """Read no more."""
        self.handed_over()
        if self._reading >= 0:
            asyncio.get_running_loop().remove_reader(self._reading)
            os.close(self._reading)
            self._reading = -1
        if not self._ended.done():
            self._ended.set_result(None)


class InputPipe:
    """Writes what a process reads."""

    def __init__(self, writing: int | None = None) -> None:
        """Create a pipe, or use a copy of one end of a terminal."""
        self.descriptor = -1
        if writing is None:
            self.descriptor, writing = os.pipe()
        self._writing = writing
        os.set_blocking(self._writing, False)

    def handed_over(self) -> None:
        """Close this program's copy of the process's end."""
        if self.descriptor >= 0:
            os.close(self.descriptor)
            self.descriptor = -1

    async def write(self, data: bytes) -> None:
        """Write everything, at the process's pace; nothing once it reads no more."""
        loop = asyncio.get_running_loop()
        while data and self._writing >= 0:
            try:
                data = data[os.write(self._writing, data) :]
                continue
            except BlockingIOError:
                pass
            except OSError:
                self.close()
                return
            writable: asyncio.Future[None] = loop.create_future()
            loop.add_writer(self._writing, _resolve, writable)
            try:
                await writable
            finally:
                if self._writing >= 0:
                    loop.remove_writer(self._writing)

    def close(self) -> None:
        """Close the pipe, which ends the input of the process."""
        self.handed_over()
        if self._writing >= 0:
            asyncio.get_running_loop().remove_writer(self._writing)
            os.close(self._writing)
            self._writing = -1


def _resolve(future: "asyncio.Future[None]") -> None:
    if not future.done():
        future.set_result(None)
