"""A clock that can be moved: timers that are due run at once, and nothing else changes."""

import pytest

from steersman.cli.dev.movable_clock import MovableClock
from steersman.testing import FakeClock


async def test_timers_that_are_due_by_the_new_time_run_at_once_and_in_order() -> None:
    """The order of what an operator does must not depend on how its author looks at it."""
    inner = FakeClock()
    clock = MovableClock(inner)
    ran: list[str] = []
    for seconds, name in ((300, "b"), (60, "a"), (700, "c"), (400, "cancelled")):
        timer = clock.call_later(seconds, lambda name=name: ran.append(name))
        if name == "cancelled":
            timer.cancel()
    before = clock.now(), clock.monotonic()
    clock.move(600)
    await inner.advance(0)
    assert ran == ["a", "b"]
    assert (clock.now() - before[0]).total_seconds() == clock.monotonic() - before[1] == 600
    await inner.advance(99)
    assert ran == ["a", "b"]
    await inner.advance(1)
    assert ran == ["a", "b", "c"]


async def test_a_timer_that_a_timer_sets_counts_from_the_new_time() -> None:
    """Otherwise a loop of one second would run 3600 times for one click."""
    inner = FakeClock()
    clock = MovableClock(inner)
    runs = 0

    def again() -> None:
        nonlocal runs
        runs += 1
        clock.call_later(1, again)

    clock.call_later(1, again)
    clock.move(3600)
    await inner.advance(0)
    assert runs == 1
    await inner.advance(1)
    assert runs == 2


@pytest.mark.parametrize("seconds", [0, -1, float("nan")])
def test_time_does_not_go_back(seconds: float) -> None:
    """Durations would become negative."""
    with pytest.raises(ValueError, match="positive number of seconds"):
        MovableClock(FakeClock()).move(seconds)
