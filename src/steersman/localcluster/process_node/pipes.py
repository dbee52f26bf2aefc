"""What a process writes, as it comes: pipes whose other end is handed to it."""

import asyncio
import os
from collections.abc import Callable
from contextlib import suppress

from steersman.clock import Clock

_CHUNK = 64 * 1024
#: Seconds that are waited for what a process wrote last, if somebody else holds its pipe open.
_LAST_WORDS = 1.0


class OutputPipe:
    """Reads what comes out of a process. ``descriptor`` is its end; close it here once the process has it."""

    def __init__(self) -> None:
        self._reading, self.descriptor = os.pipe()
        os.set_blocking(self._reading, False)
        self._ended: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    def handed_over(self) -> None:
        """Close this program's copy of the process's end: when the process has closed its own, the pipe ends."""
        if self.descriptor >= 0:
            os.close(self.descriptor)
            self.descriptor = -1

    def read(self, take: Callable[[bytes], None]) -> None:
        """Hand over everything that comes, until the end."""
        loop = asyncio.get_running_loop()

        def ready() -> None:
            try:
                data = os.read(self._reading, _CHUNK)
            except BlockingIOError:
                return
            except OSError:  # the other side of a terminal is gone
                data = b""
            if data:
                take(data)
            else:
                self.close()

        loop.add_reader(self._reading, ready)

    def pause(self) -> None:
        """Let the process wait; `read` goes on."""
        asyncio.get_running_loop().remove_reader(self._reading)

    async def wait_end(self, clock: Clock) -> None:
        """Wait for the end of what is written, a while at most, and close."""
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
