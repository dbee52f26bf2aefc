"""The 37 bugs that Sieve reproduces, as small operators: each is found, and none of their correct twins is blamed."""

import os

import pytest

from steersman.simulation import simulate
from tests.simulation.patterns import intermediate, stale, unobserved
from tests.simulation.patterns.database import Pattern

GROUPS = {"intermediate": intermediate.PATTERNS, "stale": stale.PATTERNS, "unobserved": unobserved.PATTERNS}
PATTERNS = [pattern for group in GROUPS.values() for pattern in group]
ALL = os.environ.get("STEERSMAN_SIMULATION") == "all"


def test_the_list_is_complete() -> None:
    """11 intermediate, 19 stale and 7 unobserved states, as published."""
    assert {name: len(group) for name, group in GROUPS.items()} == {"intermediate": 11, "stale": 19, "unobserved": 7}
    assert len({pattern.bug for pattern in PATTERNS}) == 37


@pytest.mark.parametrize("pattern", PATTERNS, ids=str)
def test_the_bug_is_found_and_its_twin_is_not_blamed(pattern: Pattern) -> None:
    """Both directions at once: an oracle that always complains would find every bug, too."""
    found = simulate(lambda: pattern.make(False), pattern.scenario, faults=[pattern.fault], stop_after=1)  # noqa: FBT003
    assert found.failures, f"{pattern} was not found"
    simulate(lambda: pattern.make(True), pattern.scenario, faults=[pattern.fault]).raise_if_failed()  # noqa: FBT003


@pytest.mark.parametrize("pattern", PATTERNS, ids=str)
def test_a_correct_twin_survives_every_kind_of_fault(pattern: Pattern) -> None:
    """No false alarms: the twin is correct under the other faults as well."""
    if not ALL:
        pytest.skip("about 10 s each: run all of them with STEERSMAN_SIMULATION=all")
    simulate(lambda: pattern.make(True), pattern.scenario).raise_if_failed()  # noqa: FBT003 - as above
