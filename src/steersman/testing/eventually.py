"""Waits for a condition, under a real clock or one that a test advances."""

import inspect
from collections.abc import Awaitable, Callable

from steersman.clock import Clock
from steersman.errors import WaitTimeout
from steersman.testing.condition_source import ConditionSource
from steersman.testing.fake_clock import FakeClock

#: Holds when it returns a true value; an ``AssertionError`` counts as not yet.
Condition = Callable[[], object | Awaitable[object]]

#: Seconds between checks under a real clock: at first, and at most.
_FIRST_LOOK, _LAST_LOOK = 0.0005, 0.02


def _nothing_more() -> str:
    return ""


async def eventually(
    condition: Condition,
    *,
    clock: Clock,
    within: float = 5.0,
    message: str = "",
    explain: Callable[[], str] = _nothing_more,
) -> None:
    """Wait until a condition holds; the ``WaitTimeout`` has its source, its last value and the text of ``explain``.

    A ``FakeClock`` is advanced from timer to timer, by at most ``within`` seconds.
    """
    started = clock.monotonic()
    pause = _FIRST_LOOK
    while True:
        if isinstance(clock, FakeClock):
            await clock.settle()
        seen = await _look(condition)
        if seen is None:
            return
        left = within - (clock.monotonic() - started)
        if left <= 0:
            raise WaitTimeout(_timeout_text(condition, seen, within=within, message=message, more=explain()))
        await _pass_time(clock, min(pause, left), left)
        pause = min(pause * 1.5, _LAST_LOOK)


async def _look(condition: Condition) -> str | None:
    """Return why the condition does not hold; ``None`` if it does."""
    try:
        seen = condition()
        if inspect.isawaitable(seen):
            seen = await seen
    except AssertionError as error:
        return str(error) or "an assertion failed"
    return None if seen else f"it gave {seen!r}"


async def _pass_time(clock: Clock, pause: float, left: float) -> None:
    if not isinstance(clock, FakeClock):
        await clock.sleep(pause)
        return
    following = clock.next_timer()
    await clock.advance(left if following is None else min(following, left))


def _timeout_text(condition: Condition, seen: str, *, within: float, message: str, more: str) -> str:
    source = ConditionSource(condition)
    lines = [f"{message or source.name} did not come true within {within:g} s: {seen}"]
    lines += [f"  {value}" for value in source.values()]
    if source.place:
        lines.append(f"  condition at {source.place}")
    if more:
        lines.append(f"  {more}")
    return "\n".join(lines)
