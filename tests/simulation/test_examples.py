"""The example operators under every fault: they are what readers copy."""

import os

import pytest

from steersman.simulation import simulate
from tools.simulate_examples import SCENARIOS, crash_tests_of, operator_and_scenario

ALL = os.environ.get("STEERSMAN_SIMULATION") == "all"


@pytest.mark.parametrize("example", SCENARIOS)
def test_an_example_survives_every_single_fault(example: str) -> None:
    """All single faults, enumerated; here two kinds of them, so that a scenario that cannot run is noticed."""
    with crash_tests_of(example) as tests:
        operator, scenario = operator_and_scenario(example, tests)
        simulate(operator, scenario, faults="all" if ALL else ["restart", "slow-response"]).raise_if_failed()
