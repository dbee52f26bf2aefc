"""`make simulate`: every single fault at every step of the example operators.

``python -m tools.simulate_examples NAME…`` runs those named. The operators of databases are not among them: a database
is no part of a simulation. Their decisions are pure functions, which their own tests run against models of a database.
"""

import importlib.util
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType

from steersman.simulation import simulate
from steersman.simulation.runs.instances import OperatorSource
from steersman.simulation.runs.workers import available_cores
from steersman.testing import Cluster, Scenario

EXAMPLES = Path(__file__).parents[1] / "examples"
#: Each example with the scenario of its crash tests.
SCENARIOS = {
    "custompod": "up_and_down",
    "foobar": "apply_move_and_revoke",
    "kubewatch": "watch_and_change_what_is_watched",
    "network": "create_change_and_delete",
    "project": "made_and_scaled",
    "samplecontroller": "made_scaled_and_renamed",
}


@contextmanager
def crash_tests_of(example: str) -> Iterator[ModuleType]:
    """Import the crash tests of an example, which have its operator and a scenario."""
    name = f"crash_tests_of_{example}"
    folder = EXAMPLES / example
    spec = importlib.util.spec_from_file_location(name, folder / "tests" / "test_crashes.py")
    if spec is None or spec.loader is None:
        sys.exit(f"there is no example {example}")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    sys.path.insert(0, str(folder))
    try:
        spec.loader.exec_module(module)
        yield module
    finally:
        sys.path.remove(str(folder))
        del sys.modules[name]


def operator_and_scenario(example: str, tests: ModuleType) -> tuple[OperatorSource, Scenario]:
    """Return what is simulated of an example."""
    found = getattr(tests, SCENARIOS[example])
    if example != "network":
        return tests.operator, found

    async def create_change_and_delete(cluster: Cluster) -> None:
        await found(tests.Neutron(clock=cluster.clock))(cluster)  # its provider, new for each run

    return tests.operator, create_change_and_delete


def _cpu_seconds() -> float:
    """Return the CPU time of this process and of the workers that it has waited for."""
    used = os.times()
    return used.user + used.system + used.children_user + used.children_system


def main() -> None:
    """Simulate the named examples, or all, and print what was found; exit with 1 if any failed."""
    wanted = sys.argv[1:] or list(SCENARIOS)
    is_failed = False
    for example in wanted:
        with crash_tests_of(example) as tests:
            operator, scenario = operator_and_scenario(example, tests)
            before = _cpu_seconds()
            report = simulate(operator, scenario, jobs=available_cores())
            print(f"{example}: {report.text()}; {_cpu_seconds() - before:.1f} s of CPU", flush=True)
            is_failed |= bool(report.failures)
    sys.exit(is_failed)


if __name__ == "__main__":
    main()
