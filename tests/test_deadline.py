from steersman.clock import Deadline
from steersman.testing.fake_clock import FakeClock


async def test_a_deadline_that_is_moved_needs_one_timer() -> None:
    """Connections move their limit with every byte; a timer for each would be most of the work."""
    clock = FakeClock()
    reached: list[float] = []
    deadline = Deadline(clock, lambda: reached.append(clock.monotonic()))
    for _ in range(5):
        deadline.set(10)
        assert clock.timers == 1
        await clock.advance(9)
    assert reached == []
    await clock.advance(1)
    assert reached == [46.0]
    assert clock.timers == 0


async def test_a_deadline_can_be_moved_closer() -> None:
    """A shorter limit must not wait for the timer of a longer one."""
    clock = FakeClock()
    reached: list[float] = []
    deadline = Deadline(clock, lambda: reached.append(clock.monotonic()))
    deadline.set(100)
    deadline.set(5)
    await clock.advance(200)
    assert reached == [5.0]


async def test_a_cleared_deadline_is_not_reached_and_can_be_set_again() -> None:
    """An idle connection has no limit until it is used again."""
    clock = FakeClock()
    reached: list[float] = []
    deadline = Deadline(clock, lambda: reached.append(clock.monotonic()))
    deadline.set(5)
    deadline.clear()
    await clock.advance(10)
    deadline.set(5)
    deadline.cancel()
    assert clock.timers == 0
    deadline.set_at(12)
    await clock.advance(10)
    assert reached == [12.0]
