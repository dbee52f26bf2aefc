"""Time as a collaborator: everything that waits or looks at a clock is handed one.

The only module that touches ``time`` and the event loop's timers. ``steersman.testing`` has a clock that stands still.
"""

import asyncio
import time
from abc import ABC, abstractmethod
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from typing import Protocol


class Timer(Protocol):
    """A callback that will run later, unless it is cancelled."""

    def cancel(self) -> None:
        """Never run; harmless when it ran already."""


class Clock(ABC):
    """What time it is, and how to wait: three primitives, and what follows from them."""

    @abstractmethod
    def now(self) -> datetime:
        """Wall-clock time in UTC; it may jump: only for what people and other machines read."""

    @abstractmethod
    def monotonic(self) -> float:
        """Seconds that never go back: for every duration and deadline."""

    @abstractmethod
    def call_later(self, seconds: float, callback: Callable[[], None]) -> Timer:
        """Run the callback on the event loop after that many seconds."""

    async def sleep(self, seconds: float) -> None:
        """Wait; zero or less still lets other tasks run once."""
        woken = asyncio.get_running_loop().create_future()
        timer = self.call_later(max(seconds, 0.0), lambda: None if woken.done() else woken.set_result(None))
        try:
            await woken
        finally:
            timer.cancel()

    @asynccontextmanager
    async def timeout(self, seconds: float | None) -> AsyncIterator[None]:
        """Raise ``TimeoutError`` out of the block when it takes longer; ``None`` never does."""
        async with asyncio.timeout(None) as limit:
            if seconds is None:
                yield
                return
            loop = asyncio.get_running_loop()
            timer = self.call_later(seconds, lambda: limit.reschedule(loop.time()))
            try:
                yield
            finally:
                timer.cancel()


class RealClock(Clock):
    """The machine's clock and the running event loop's timers."""

    def now(self) -> datetime:
        """Wall-clock time in UTC."""
        return datetime.now(UTC)

    def monotonic(self) -> float:
        """Seconds since some fixed moment."""
        return time.monotonic()

    def call_later(self, seconds: float, callback: Callable[[], None]) -> Timer:
        """Run the callback on the running event loop."""
        return asyncio.get_running_loop().call_later(seconds, callback)
