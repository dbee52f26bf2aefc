"""Waiting for something to become true, under a real clock or one that a test moves."""

import inspect
from collections.abc import Awaitable, Callable

from steersman.clock import Clock
from steersman.errors import WaitTimeout
from steersman.testing.fake_clock import FakeClock

#: Holds when it gives something true; an ``AssertionError`` counts as not yet.
Condition = Callable[[], object | Awaitable[object]]

#: Seconds between looks under a real clock: at first, and at most.
_FIRST_LOOK, _LAST_LOOK = 0.0005, 0.02


async def eventually(condition: Condition, *, clock: Clock, within: float = 5.0, message: str = "") -> None:
    """Wait until a condition holds; ``WaitTimeout`` says what was last seen.

    Under a ``FakeClock`` time is moved from timer to timer, at most ``within`` seconds of it.
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
            raise WaitTimeout(f"{message or _text(condition)} did not come true within {within:g} s: {seen}")
        await _pass_time(clock, min(pause, left), left)
        pause = min(pause * 1.5, _LAST_LOOK)


async def _look(condition: Condition) -> str | None:
    """Give what stands in the way; ``None`` if the condition holds."""
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


def _text(condition: Condition) -> str:
    name = getattr(condition, "__name__", "the condition")
    return "the condition" if name == "<lambda>" else name
