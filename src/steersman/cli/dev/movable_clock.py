"""`MovableClock`: a clock that follows another one, and can be moved forward.

The operator of `steer dev` has one: what it does in an hour can be seen now. Timers that are due by the new time run at
once, in the order in which they were due. A timer that such a callback sets counts from the new time, as after a
machine has slept. Only what is timed by this clock moves: neither the cluster nor ``datetime.now()``.
"""

from collections.abc import Callable
from datetime import datetime, timedelta

from steersman.clock import Clock, Timer


class MovableClock(Clock):
    """A clock that is ahead of another one by the time that it was moved."""

    def __init__(self, inner: Clock) -> None:
        self._inner = inner
        self._ahead = 0.0
        self._timers: set[_MovableTimer] = set()

    def now(self) -> datetime:
        """Return the wall-clock time in UTC."""
        return self._inner.now() + timedelta(seconds=self._ahead)

    def monotonic(self) -> float:
        """Return seconds that never go back."""
        return self._inner.monotonic() + self._ahead

    def call_later(self, seconds: float, callback: Callable[[], object]) -> Timer:
        """Run the callback after that many seconds of this clock."""
        return _MovableTimer(self, self.monotonic() + seconds, callback)

    def move(self, seconds: float) -> None:
        """Move forward; raises ``ValueError`` unless the number of seconds is positive."""
        if not seconds > 0:
            raise ValueError(f"a clock moves forward by a positive number of seconds, not by {seconds:g}")
        self._ahead += seconds
        for timer in sorted(self._timers, key=lambda one: one.due):
            timer.arm()

    def arm(self, timer: "_MovableTimer") -> Timer:
        """Start a timer of the inner clock for what is left."""
        self._timers.add(timer)
        return self._inner.call_later(max(timer.due - self.monotonic(), 0.0), timer.fire)

    def forget(self, timer: "_MovableTimer") -> None:
        """Forget a timer that has fired or was cancelled."""
        self._timers.discard(timer)


class _MovableTimer:
    """A callback at a moment of a movable clock."""

    def __init__(self, clock: MovableClock, due: float, callback: Callable[[], object]) -> None:
        self.due = due
        self._clock = clock
        self._callback = callback
        self._inner = clock.arm(self)

    def arm(self) -> None:
        """Wait for the remaining time."""
        self._inner.cancel()
        self._inner = self._clock.arm(self)

    def fire(self) -> None:
        """Run the callback."""
        self._clock.forget(self)
        self._callback()

    def cancel(self) -> None:
        """Cancel the callback."""
        self._clock.forget(self)
        self._inner.cancel()
