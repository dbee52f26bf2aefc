import asyncio
from datetime import UTC, datetime, timedelta

import pytest

from steersman.testing.fake_clock import FakeClock


async def test_time_does_not_advance_by_itself() -> None:
    """A test that does not advance time sees the same moment forever."""
    clock = FakeClock(datetime(2030, 1, 1, tzinfo=UTC))
    assert (clock.monotonic(), clock.now()) == (0.0, datetime(2030, 1, 1, tzinfo=UTC))
    await clock.advance(90)
    assert (clock.monotonic(), clock.now()) == (90.0, datetime(2030, 1, 1, tzinfo=UTC) + timedelta(seconds=90))


async def test_timers_run_in_the_order_of_their_time() -> None:
    """Equal times keep the order in which they were set, so that every run of a test is the same."""
    clock = FakeClock()
    order: list[tuple[str, float]] = []
    for name, seconds in [("c", 3.0), ("a", 1.0), ("b", 1.0), ("late", 9.0)]:
        clock.call_later(seconds, lambda name=name: order.append((name, clock.monotonic())))  # type: ignore[misc] # binds the name
    clock.call_later(2.0, lambda: None).cancel()
    await clock.advance(5)
    assert order == [("a", 1.0), ("b", 1.0), ("c", 3.0)]
    assert (clock.timers, clock.next_timer()) == (1, 4.0)


async def test_tasks_woken_by_a_timer_run_before_the_next_timer() -> None:
    """A loop that sleeps repeatedly runs once per period."""
    clock = FakeClock()
    seen: list[float] = []

    async def loop() -> None:
        while True:
            await clock.sleep(10)
            seen.append(clock.monotonic())

    async with asyncio.TaskGroup() as tasks:
        task = tasks.create_task(loop())
        await clock.advance(35)
        task.cancel()
    assert seen == [10.0, 20.0, 30.0]


async def test_a_timeout_raises_timeout_error() -> None:
    """Code under test need not know which clock it has."""
    clock = FakeClock()

    async def wait() -> None:
        with pytest.raises(TimeoutError):
            async with clock.timeout(5):
                await asyncio.Event().wait()

    async with asyncio.TaskGroup() as tasks:
        task = tasks.create_task(wait())
        await clock.advance(4.9)
        assert not task.done()
        await clock.advance(0.1)
        assert task.done()
