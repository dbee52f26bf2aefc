"""A clock that stands still until a test moves it: timeouts, retries and back-off without waiting.

Timers run in the order of their time, equal ones in the order in which they were set. Between two of them everything
that can go on without time passing does go on.
"""

import asyncio
import heapq
import itertools
from collections.abc import Callable
from datetime import UTC, datetime, timedelta

from steersman.clock import Clock, Timer

#: Steps after which a test that never comes to rest is taken to hang.
_MOST_STEPS = 100_000
#: Steps given to event loops that do not show whether work is left.
_BLIND_STEPS = 50


class _FakeTimer:
    __slots__ = ("callback",)

    def __init__(self, callback: Callable[[], object]) -> None:
        self.callback: Callable[[], object] | None = callback

    def cancel(self) -> None:
        """Never run."""
        self.callback = None


class FakeClock(Clock):
    """Time that moves only by ``advance``."""

    def __init__(self, now: datetime = datetime(2030, 1, 1, tzinfo=UTC)) -> None:
        self._start = now
        self._elapsed = 0.0
        self._numbers = itertools.count()
        self._timers: list[tuple[float, int, _FakeTimer]] = []

    def __repr__(self) -> str:
        return f"<FakeClock +{self._elapsed:g} s timers={self.timers}>"

    def now(self) -> datetime:
        """Give the wall-clock time: the start plus what was advanced."""
        return self._start + timedelta(seconds=self._elapsed)

    def monotonic(self) -> float:
        """Give the seconds advanced so far."""
        return self._elapsed

    def call_later(self, seconds: float, callback: Callable[[], object]) -> Timer:
        """Run the callback when time has been advanced that far."""
        timer = _FakeTimer(callback)
        heapq.heappush(self._timers, (self._elapsed + max(seconds, 0.0), next(self._numbers), timer))
        return timer

    @property
    def timers(self) -> int:
        """How many callbacks wait for their time."""
        return sum(timer.callback is not None for _, _, timer in self._timers)

    def next_timer(self) -> float | None:
        """Say in how many seconds the next callback is due."""
        self._drop_cancelled()
        return max(self._timers[0][0] - self._elapsed, 0.0) if self._timers else None

    async def advance(self, seconds: float) -> None:
        """Let that much time pass, with everything that is due meanwhile in its order."""
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
        """Let everything go on that needs no time to pass; what waits for a socket or a thread is not waited for."""
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
