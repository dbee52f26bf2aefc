"""A clock that stands still until a test advances it: timeouts, retries and back-off without waiting.

Timers run in the order of their time, equal ones in the order in which they were set. Between two timers, all work that
needs no time to pass is done.
"""

import asyncio
import heapq
import itertools
from collections.abc import Callable
from datetime import UTC, datetime, timedelta

from steersman.clock import Clock, Timer

#: Steps after which a test that never comes to rest is considered to hang.
_MOST_STEPS = 100_000
#: Steps granted to event loops that do not show whether work is left.
_BLIND_STEPS = 50


class _FakeTimer:
    __slots__ = ("callback",)

    def __init__(self, callback: Callable[[], object]) -> None:
        self.callback: Callable[[], object] | None = callback

    def cancel(self) -> None:
        """Cancel the timer."""
        self.callback = None


class FakeClock(Clock):
    """A clock that moves only by ``advance``."""

    def __init__(self, now: datetime = datetime(2030, 1, 1, tzinfo=UTC)) -> None:
        self._start = now
        self._elapsed = 0.0
        self._numbers = itertools.count()
        self._timers: list[tuple[float, int, _FakeTimer]] = []

    def __repr__(self) -> str:
        return f"<FakeClock +{self._elapsed:g} s timers={self.timers}>"

    def now(self) -> datetime:
        """Return the wall-clock time: the start plus the seconds advanced."""
        return self._start + timedelta(seconds=self._elapsed)

    def monotonic(self) -> float:
        """Return the seconds advanced so far."""
        return self._elapsed

    def call_later(self, seconds: float, callback: Callable[[], object]) -> Timer:
        """Run the callback when time has been advanced that far."""
        timer = _FakeTimer(callback)
        heapq.heappush(self._timers, (self._elapsed + max(seconds, 0.0), next(self._numbers), timer))
        return timer

    @property
    def timers(self) -> int:
        """Number of callbacks that wait for their time."""
        return sum(timer.callback is not None for _, _, timer in self._timers)

    def next_timer(self) -> float | None:
        """Return the seconds until the next callback is due; ``None`` without one."""
        self._drop_cancelled()
        return max(self._timers[0][0] - self._elapsed, 0.0) if self._timers else None

    async def advance(self, seconds: float) -> None:
        """Advance the clock, and run every timer that is due meanwhile, in order."""
        target = self._elapsed + seconds
        await self.settle()
        while (left := self.next_timer()) is not None and self._elapsed + left <= target:
            due, _, timer = heapq.heappop(self._timers)
            self._elapsed = max(self._elapsed, due)
            callback, timer.callback = timer.callback, None
            if callback is not None:
                callback()
            await self.settle()
        self._elapsed = target

    async def settle(self) -> None:
        """Run all work that needs no time to pass, without waiting for sockets or threads."""
        loop = asyncio.get_running_loop()
        ready = getattr(loop, "_ready", None)  # the standard loop's queue; others do not show theirs
        if ready is None:
            for _ in range(_BLIND_STEPS):
                await asyncio.sleep(0)  # noqa: TID251 - a step of the event loop, not a wait
            return
        for _ in range(_MOST_STEPS):
            await asyncio.sleep(0)  # noqa: TID251 - a step of the event loop, not a wait
            if not ready:
                return
        raise AssertionError(f"no rest within {_MOST_STEPS} steps of the event loop")

    def _drop_cancelled(self) -> None:
        while self._timers and self._timers[0][2].callback is None:
            heapq.heappop(self._timers)
