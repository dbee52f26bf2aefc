import asyncio
import re
from datetime import UTC

import pytest

from steersman.clock import RealClock
from steersman.randomness import SUFFIX_ALPHABET, Randomness
from steersman.testing.fake_clock import FakeClock


async def test_a_timeout_raises_out_of_its_block() -> None:
    """It is the clock's own timeout, so that a fake clock can drive it."""
    clock = RealClock()
    with pytest.raises(TimeoutError):
        async with clock.timeout(0):
            await clock.sleep(60)


async def test_a_timeout_of_none_never_ends_a_block() -> None:
    """None means no limit, wherever a limit is an option."""
    clock = FakeClock()
    async with asyncio.TaskGroup() as tasks:
        blocked = tasks.create_task(_sleep_within(clock, None, 1e9))
        await clock.advance(1e8)
        assert not blocked.done()
        await clock.advance(1e9)
        assert blocked.done()


async def _sleep_within(clock: FakeClock, limit: float | None, seconds: float) -> None:
    async with clock.timeout(limit):
        await clock.sleep(seconds)


async def test_a_block_that_ends_in_time_leaves_no_timer_behind() -> None:
    """A timer that fires later would cancel other work."""
    clock = FakeClock()
    async with clock.timeout(1.0):
        assert clock.timers == 1
    assert clock.timers == 0


def test_wall_clock_time_is_in_utc() -> None:
    """Timestamps of objects are compared across machines."""
    assert RealClock().now().tzinfo is UTC


def test_equal_seeds_return_equal_sequences() -> None:
    """A failing run can be repeated from its seed."""
    one, two = Randomness(7), Randomness(7)
    assert [one.uid(), one.suffix(), one.between(1, 2)] == [two.uid(), two.suffix(), two.between(1, 2)]
    assert Randomness(7).uid() != Randomness(8).uid()


def test_a_uid_is_a_random_uuid() -> None:
    """Clients parse uids as version 4 UUIDs."""
    assert re.fullmatch(r"[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}", Randomness(1).uid())


def test_a_suffix_contains_no_words() -> None:
    """Kubernetes leaves out vowels for that purpose."""
    assert len(Randomness(1).suffix()) == 5
    assert set(Randomness(1).suffix(500)) <= set(SUFFIX_ALPHABET)
    assert not set("aeiou013") & set(SUFFIX_ALPHABET)


def test_jitter_never_shortens() -> None:
    """A shorter back-off than requested would load the server."""
    stretched = [Randomness(seed).jitter(10, 1.0) for seed in range(100)]
    assert all(10 <= seconds <= 20 for seconds in stretched)
    assert max(stretched) - min(stretched) > 5
