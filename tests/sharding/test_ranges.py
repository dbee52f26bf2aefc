"""Shards as ranges of hashed uids."""

from collections import Counter
from itertools import pairwise

import pytest

from steersman.randomness import Randomness
from steersman.sharding.ranges import MAX_SHARDS, check_count, interval, shard_of, uid_hash


def test_the_hash_is_the_one_of_api_servers() -> None:
    """Shard selectors of the server use FNV-1a with 64 bits; these are its published test values."""
    assert uid_hash("") == 0xCBF29CE484222325
    assert uid_hash("a") == 0xAF63DC4C8601EC8C
    assert uid_hash("foobar") == 0x85944171F73967E8


@pytest.mark.parametrize("count", [1, 2, 3, 7, 16, 100, MAX_SHARDS])
def test_intervals_cover_every_hash_once_and_agree_with_the_shard(count: int) -> None:
    """A server that selects by interval must send exactly the objects that this side counts as its own."""
    intervals = [interval(shard, count) for shard in range(count)]
    assert intervals[0][0] == 0
    assert intervals[-1][1] == 1 << 64
    assert all(before[1] == after[0] for before, after in pairwise(intervals))
    chance = Randomness(count)
    for _ in range(200):
        uid = chance.uid()
        start, end = intervals[shard_of(uid, count)]
        assert start <= uid_hash(uid) < end


def test_uids_are_spread_evenly() -> None:
    """A shard with twice the objects of another would be a replica with twice the work."""
    chance = Randomness(1)
    found = Counter(shard_of(chance.uid(), 16) for _ in range(8000))
    assert len(found) == 16
    assert min(found.values()) > 400
    assert max(found.values()) < 600


@pytest.mark.parametrize("count", [0, -1, MAX_SHARDS + 1, True, "4", 2.0])
def test_a_wrong_number_of_shards_is_rejected(count: int) -> None:
    """The message says what is allowed."""
    with pytest.raises(ValueError, match=f"from 1 to {MAX_SHARDS}"):
        check_count(count)
