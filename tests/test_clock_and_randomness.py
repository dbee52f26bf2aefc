import re
from datetime import UTC

import pytest

from steersman.clock import RealClock
from steersman.randomness import SUFFIX_ALPHABET, Randomness


async def test_a_timeout_raises_out_of_its_block() -> None:
    """The clock's own timeout, so that a fake clock can drive it."""
    clock = RealClock()
    with pytest.raises(TimeoutError):
        async with clock.timeout(0):
            await clock.sleep(60)


async def test_no_limit_never_ends_a_block() -> None:
    """None means no limit, wherever a limit is an option."""
    async with RealClock().timeout(None):
        await RealClock().sleep(0)


async def test_a_block_that_ends_in_time_leaves_no_timer_behind() -> None:
    """A timer that fires later would cancel somebody else's work."""
    clock = RealClock()
    async with clock.timeout(0.001):
        pass
    await clock.sleep(0.002)


def test_wall_clock_time_is_in_utc() -> None:
    """Timestamps of objects are compared across machines."""
    assert RealClock().now().tzinfo is UTC


def test_equal_seeds_give_equal_sequences() -> None:
    """A failing run can be repeated from its seed."""
    one, two = Randomness(7), Randomness(7)
    assert [one.uid(), one.suffix(), one.between(1, 2)] == [two.uid(), two.suffix(), two.between(1, 2)]


def test_a_uid_is_a_random_uuid() -> None:
    """Clients parse uids as version 4 UUIDs."""
    assert re.fullmatch(r"[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}", Randomness(1).uid())


def test_a_suffix_spells_nothing() -> None:
    """Kubernetes leaves out vowels, so generated names contain no words."""
    assert len(Randomness(1).suffix()) == 5
    assert set(Randomness(1).suffix(500)) <= set(SUFFIX_ALPHABET)
    assert not set("aeiou013") & set(SUFFIX_ALPHABET)


def test_jitter_only_ever_stretches() -> None:
    """A back-off that came out shorter than asked for would hammer the server."""
    assert all(10 <= Randomness(seed).jitter(10, 1.0) <= 20 for seed in range(100))
