"""The example operators under every fault: they are what readers copy."""

import importlib.util
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType

import pytest

from steersman.simulation import simulate
from steersman.simulation.fault_kinds import KINDS

EXAMPLES = Path(__file__).parents[2] / "examples"
ALL = os.environ.get("STEERSMAN_SIMULATION") == "all"


@contextmanager
def crash_tests_of(example: str) -> Iterator[ModuleType]:
    """Import the crash tests of an example, which have its operator and a scenario."""
    name = f"crash_tests_of_{example}"
    spec = importlib.util.spec_from_file_location(name, EXAMPLES / example / "tests" / "test_crashes.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    try:
        spec.loader.exec_module(module)
        yield module
    finally:
        del sys.modules[name]


@pytest.mark.parametrize(
    ("example", "scenario"),
    [
        ("custompod", "up_and_down"),
        ("foobar", "apply_move_and_revoke"),
        ("kubewatch", "watch_and_change_what_is_watched"),
        ("project", "made_and_scaled"),
        ("samplecontroller", "made_scaled_and_renamed"),
    ],
)
def test_an_example_survives_every_single_fault(example: str, scenario: str) -> None:
    """All single faults, enumerated."""
    if not ALL:
        pytest.skip("5 to 60 s each: run them with STEERSMAN_SIMULATION=all")
    faults = [kind.name for kind in KINDS.values() if not kind.exotic]
    with crash_tests_of(example) as tests:
        simulate(tests.operator, getattr(tests, scenario), faults=faults).raise_if_failed()
