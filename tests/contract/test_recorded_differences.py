"""Scenarios in which random operations once found a difference from a real kube-apiserver, each shortened."""

import json
import lzma
from pathlib import Path
from typing import Any

import pytest

from tests.contract.recordings import Sequence, builtin_step
from tests.contract.replay import Replay

FIXTURES = Path(__file__).parent / "fixtures"


def _scenarios() -> list[tuple[str, dict[str, Any]]]:
    found = []
    for path in sorted(FIXTURES.glob("*.jsonl.xz")):
        for line in lzma.decompress(path.read_bytes()).decode().splitlines():
            scenario = json.loads(line)
            found.append((f"{path.name.partition('.')[0]}: {scenario['name']}", scenario))
    return found


SCENARIOS = _scenarios()


@pytest.mark.parametrize("scenario", [scenario for _, scenario in SCENARIOS], ids=[name for name, _ in SCENARIOS])
async def test_scenario_has_the_results_of_a_real_server(scenario: dict[str, Any]) -> None:
    """A fixed difference must not come back, also where no real server is available."""
    steps = [builtin_step(step) for step in scenario["steps"]]
    controllers = bool(scenario.get("controllers"))
    sequence = Sequence(name=scenario["name"], setup=[], steps=steps, needs_controllers=controllers)
    assert await Replay(sequence).run() == {}
