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
        """Cancel the callback; harmless if it ran already."""


class Clock(ABC):
    """What time it is, and how to wait: three primitives, and what follows from them."""

    @abstractmethod
    def now(self) -> datetime:
        """Return the wall-clock time in UTC. It may jump: use it only for what people and other machines read."""

    @abstractmethod
    def monotonic(self) -> float:
        """Return seconds that never go back, for every duration and deadline."""

    @abstractmethod
    def call_later(self, seconds: float, callback: Callable[[], object]) -> Timer:
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
        """Return the wall-clock time in UTC."""
        return datetime.now(UTC)

    #: Seconds since some fixed moment. Every reconcile asks a dozen times, so this is the system's function itself.
    monotonic = staticmethod(time.monotonic)

    def call_later(self, seconds: float, callback: Callable[[], object]) -> Timer:
        """Run the callback on the running event loop."""
        return asyncio.get_running_loop().call_later(seconds, callback)


class Deadline:
    """A time limit that is often moved and rarely reached: moving it to a later time does not touch the timer.

    So the timer may fire too early; it is then set again for the current limit.
    """

    __slots__ = ("_at", "_callback", "_clock", "_timer", "_wakes_at")

    def __init__(self, clock: Clock, callback: Callable[[], object]) -> None:
        self._clock = clock
        self._callback = callback
        #: When the callback is due; ``None`` while there is no limit.
        self._at: float | None = None
        self._timer: Timer | None = None
        #: When the timer will look. Invariant: while there is a limit there is a timer, and it wakes no later.
        self._wakes_at = 0.0

    @property
    def at(self) -> float | None:
        """When the callback is due; ``None`` while there is no limit."""
        return self._at

    def set(self, seconds: float) -> None:
        """Call back that many seconds from now, instead of at any time set before."""
        self.set_at(self._clock.monotonic() + seconds)

    def set_at(self, at: float) -> None:
        """Call back when ``monotonic()`` reaches ``at``, instead of at any time set before."""
        self._at = at
        if self._timer is None:
            self._arm(at)
        elif self._wakes_at > at:
            self._timer.cancel()
            self._arm(at)

    def clear(self) -> None:
        """Remove the limit; it can be set again."""
        self._at = None

    def cancel(self) -> None:
        """Remove the limit and its timer, at the end of whatever was limited."""
        self._at = None
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _arm(self, at: float) -> None:
        self._wakes_at = at
        self._timer = self._clock.call_later(max(at - self._clock.monotonic(), 0.0), self._wake)

    def _wake(self) -> None:
        self._timer = None
        if self._at is None:
            return
        if self._at > self._clock.monotonic():
            self._arm(self._at)
        else:
            self._at = None
            self._callback()
