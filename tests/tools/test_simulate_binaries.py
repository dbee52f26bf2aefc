"""The cases of `make simulate-binaries`, as far as they can be checked without Go."""

import pytest

from steersman.simulation.binaries.command_simulator import kinds_of
from steersman.simulation.binaries.scenario_files import read_steps
from tools.simulate_binaries.__main__ import CASES, SCENARIOS, Case


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_a_case_can_be_run(case: Case) -> None:
    """A typo in a case would be seen only after minutes of building."""
    assert len(read_steps(SCENARIOS / case.scenario)) > 1
    assert kinds_of(case.faults)
    assert {"{program}", "{kubeconfig}"} <= {word.rpartition("=")[2] for word in case.operator.command.split()}
    assert bool(case.sign) or not case.issue


def test_every_scenario_belongs_to_a_case_and_names_are_unique() -> None:
    """Nothing is left behind when a case is removed, and each can be chosen by its name."""
    assert {folder.name for folder in SCENARIOS.iterdir()} == {case.scenario for case in CASES}
    assert len({case.name for case in CASES}) == len(CASES)
