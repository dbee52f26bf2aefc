"""Replicas of a sharded operator under faults, by the rules alone."""

from tests.simulation.shard_rules import play_seeds


def test_every_shard_has_one_worker_and_none_is_forgotten() -> None:
    """No write may arrive for a shard that its sender does not hold; ``bench/shards.py`` plays many more seeds."""
    seen = play_seeds(range(60))
    assert not seen.wrong
    assert seen.writes > 10_000
    assert seen.moves > 500
