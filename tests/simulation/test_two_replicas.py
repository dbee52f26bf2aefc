"""Two replicas and one lease: whatever happens to them, only the holder of the lease writes."""

import logging
import os

import pytest

from tests.simulation.lease_model import play

#: Seeds that are tried here; `python -m bench two_replicas` tries a hundred thousand.
RUNS = int(os.environ.get("STEERSMAN_TWO_REPLICAS", "60"))


@pytest.fixture(autouse=True)
def quiet(caplog: pytest.LogCaptureFixture) -> None:
    """Keep thousands of lost leaderships out of the log."""
    caplog.set_level(logging.CRITICAL + 1, "steersman")


def test_no_deposed_leader_writes_whatever_the_seed() -> None:
    """Lost and late messages, lost networks, processes that stand still, are killed or stopped, wrong clocks."""
    leaders = writes = 0
    for seed in range(RUNS):
        seen = play(seed)
        assert seen.deposed == [], f"seed {seed}"
        leaders += len(seen.leaders)
        writes += seen.writes
    assert leaders > RUNS, "leadership must change hands"
    assert writes > 10 * RUNS


def test_a_write_that_is_under_way_for_too_long_arrives_under_another_leader() -> None:
    """What no leader can know, and that the model would notice: 5 s is what the lease lasts beyond its deadline."""
    assert any(play(seed, longest_delay=20.0).deposed for seed in range(40, 50))


def test_a_run_depends_on_its_seed_alone() -> None:
    """A seed that fails must fail again."""
    one, other = play(7), play(7)
    assert (one.leaders, one.writes, one.version) == (other.leaders, other.writes, other.version)
