"""Tests of the distribution of shards among replicas."""

from collections import Counter

import pytest

from steersman.randomness import Randomness
from steersman.sharding.placement import placement


@pytest.mark.parametrize("seed", range(30))
def test_shards_are_balanced_and_only_the_surplus_moves(seed: int) -> None:
    """Each move costs a pause for its objects, and an uneven share costs all the time."""
    chance = Randomness(seed)
    count = int(chance.between(1, 64))
    current: list[int | None] = [None] * count
    for _ in range(12):
        members = {int(chance.between(0, 12)) for _ in range(int(chance.between(1, 9)))}
        wanted = placement(current, members)
        load = Counter(wanted.values())
        assert set(wanted) == set(range(count))
        assert max(load.values()) - min(load[slot] for slot in members) <= 1
        kept = Counter(slot for slot in current if slot in members)
        share = -(-count // len(members))
        needed = count - sum(min(kept[slot], share) for slot in members)
        moved = sum(wanted[shard] != slot for shard, slot in enumerate(current))
        assert needed <= moved <= needed + len(members), "only what has to move moves"
        current = [wanted[shard] for shard in range(count)]
        assert placement(current, members) == wanted, "what is placed stays"


def test_replicas_that_see_the_same_propose_the_same() -> None:
    """Otherwise two replicas would wait for each other."""
    current = [0, 0, None, 1, 7, None]
    assert placement(current, [0, 1, 2]) == placement(current, (2, 1, 0))


def test_without_members_nothing_is_proposed() -> None:
    """No replica is there that could be wanted."""
    assert placement([None, 1], []) == {}
