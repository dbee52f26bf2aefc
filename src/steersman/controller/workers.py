"""The workers of a controller: tasks that take keys and work on them until the controller stops.

A worker continues whatever an author's code does to the task that it runs in. Only the controller knows whether it is
stopping, and it sets that before it cancels its workers; any other cancellation is undone.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable

from steersman.clock import Clock
from steersman.concurrency import take_back_cancellation
from steersman.errors import text_of

_log = logging.getLogger("steersman.controller")

#: Seconds until a worker that failed outside the author's code restarts.
PAUSE = 1.0


class Workers:
    """Run ``work`` in ``count`` tasks; ``work`` returns when there is nothing more to do."""

    def __init__(self, name: str, count: int, work: Callable[[], Awaitable[None]], clock: Clock) -> None:
        self._name = name
        self._count = count
        self._work = work
        self._clock = clock
        #: Set before the workers are cancelled: any earlier cancellation comes from an author's code.
        self._stopping = False
        #: Whether ``run`` was called: a replica that does not lead is ready without workers.
        self._started = False
        self._working = 0
        self._last_error = ""

    async def run(self) -> None:
        """Run until all workers have returned or this is cancelled."""
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
        """Return whether the workers are being stopped."""
        return self._stopping

    def is_the_end(self, error: BaseException) -> bool:
        """Return whether an exception ends a worker: it is stopped, or its coroutine is closed."""
        return isinstance(error, GeneratorExit) or (isinstance(error, asyncio.CancelledError) and self._stopping)

    async def recover(self, error: BaseException, what: str) -> None:
        """Log an exception that is not the end of the current worker, and undo a cancellation."""
        await take_back_cancellation(unless=self.is_stopping)
        self._last_error = f"{type(error).__name__}: {text_of(error)}".rstrip(": ")
        _log.error(what, exc_info=error, extra={"controller": self._name, "error": self._last_error})

    def problem(self) -> str:
        """Return why fewer workers run than declared; empty if all do, or if they were not started yet."""
        if not self._started or self._working >= self._count:
            return ""
        return f"{self._working} of {self._count} workers run; {self._last_error}".rstrip("; ")

    async def _keep_working(self) -> None:
        """Call ``work`` until it returns; restart it after any exception that is not the end."""
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
