"""The workers of a controller: so many tasks that take keys and work, until the controller stops.

Whatever an author's code does to the task it runs in, a worker goes on: only the controller knows whether it is
stopping, and says so before it cancels its workers. Any other cancellation is taken back, whoever asked for it.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable

from steersman.clock import Clock
from steersman.concurrency import take_back_cancellation
from steersman.errors import text_of

_log = logging.getLogger("steersman.controller")

#: Seconds until a worker that failed outside the author's code begins again.
PAUSE = 1.0


class Workers:
    """Runs ``work`` in each of ``count`` tasks; it returns when there is nothing more to do."""

    def __init__(self, name: str, count: int, work: Callable[[], Awaitable[None]], clock: Clock) -> None:
        self._name = name
        self._count = count
        self._work = work
        self._clock = clock
        #: Set before the workers are cancelled: any cancellation before that is the doing of an author's code.
        self._stopping = False
        #: Whether they were started: a replica that does not lead is ready without workers.
        self._started = False
        self._working = 0
        self._last_error = ""

    async def run(self) -> None:
        """Work until all workers are done or this is cancelled."""
        self._started = True
        async with asyncio.TaskGroup() as tasks:
            workers = [
                tasks.create_task(self._keep_working(), name=f"worker/{self._name}/{number}")
                for number in range(self._count)
            ]
            try:
                await asyncio.wait(workers)
            except asyncio.CancelledError:
                self._stopping = True
                raise

    def is_stopping(self) -> bool:
        """Return whether a cancellation of a worker is meant."""
        return self._stopping

    def is_the_end(self, error: BaseException) -> bool:
        """Return whether an exception ends a worker for good: it is stopped, or its coroutine is closed."""
        return isinstance(error, GeneratorExit) or (isinstance(error, asyncio.CancelledError) and self._stopping)

    async def recover(self, error: BaseException, what: str) -> None:
        """Let the current worker go on after an exception that is not its end, and log it."""
        await take_back_cancellation(unless=self.is_stopping)
        self._last_error = f"{type(error).__name__}: {text_of(error)}".rstrip(": ")
        _log.error(what, exc_info=error, extra={"controller": self._name, "error": self._last_error})

    def problem(self) -> str:
        """Return why fewer workers work than there should be; empty if all do, or if they were not started yet."""
        if not self._started or self._working >= self._count:
            return ""
        return f"{self._working} of {self._count} workers run; {self._last_error}".rstrip("; ")

    async def _keep_working(self) -> None:
        """Work until it is over; if anything else ends the work, begin again."""
        pause = 0.0
        while True:
            try:
                if pause:
                    await self._clock.sleep(pause)
                self._working += 1
                try:
                    await self._work()
                finally:
                    self._working -= 1
            except BaseException as error:
                if self.is_the_end(error):
                    raise
                await self.recover(error, "a worker ended and was replaced")
                pause = 0.0 if isinstance(error, asyncio.CancelledError) else PAUSE
            else:
                return

    def __repr__(self) -> str:
        return f"<Workers of {self._name}: {self._working} of {self._count}>"
