"""`make e2e-real`: run scenarios, each on a fresh cluster, and print how long each step took.

python -m tools.real_cluster.scenarios [SCENARIO…]
"""

import argparse
import json
import signal
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Final

from tools.control_plane.binaries import MissingError
from tools.real_cluster.cluster import RealCluster, StartError, interrupt_on_signals
from tools.real_cluster.host import missing
from tools.real_cluster.leftovers import host_state, kill_starter, left_behind
from tools.real_cluster.parts import Parts
from tools.real_cluster.scenarios import examples, failures, fleet, guide, why
from tools.real_cluster.scenarios.user import ScenarioError, Step, User

SCENARIOS: Final[dict[str, Callable[[User], None]]] = {
    "guide": guide.run,
    "fleet": fleet.run,
    "failures": failures.run,
    "why": why.run,
    "custompod": examples.custompod,
    "foobar": examples.foobar,
    "samplecontroller": examples.samplecontroller,
    "project": examples.project,
    "kubewatch": examples.kubewatch,
    "redisfailover": examples.redisfailover,
}
_MODULE: Final = "tools.real_cluster.scenarios"
#: The scenario that is not inside of a cluster.
_KILLS: Final = "starter-killed"
#: Set for the process inside of the cluster.
_INSIDE: Final = "--inside"


def _inside(name: str, report: Path, images: Path) -> int:
    """Run a scenario inside of a cluster, and write its steps to a file."""
    with tempfile.TemporaryDirectory(prefix="steersman-e2e-") as folder:
        user = User(Path(folder), images)
        try:
            SCENARIOS[name](user)
        except ScenarioError as error:
            print(f"FAILED  {name}: {error}", flush=True)
            return 1
        finally:
            report.write_text(json.dumps([asdict(step) for step in user.steps]))
    return 0


def _on_fresh_cluster(name: str, parts: Parts) -> tuple[bool, list[Step]]:
    before = host_state()
    begun = time.monotonic()
    with tempfile.NamedTemporaryFile(suffix=".json") as report, RealCluster(parts) as entrance:
        started = Step("start a fresh cluster", time.monotonic() - begun)
        print(started, flush=True)
        inner = [sys.executable, "-m", _MODULE, _INSIDE, name, report.name, str(parts.images)]
        code = entrance.run(*inner)
        steps = [Step(**one) for one in json.loads(Path(report.name).read_text() or "[]")]
        ended = time.monotonic()
    left = left_behind(before, entrance.supervisor, parts)
    stopped = Step("stop the cluster, until nothing is left", time.monotonic() - ended, left)
    print(stopped, flush=True)
    return code == 0 and not left, [started, *steps, stopped]


def _kill_starters(parts: Parts) -> tuple[bool, list[Step]]:
    """End the process that started a cluster in three ways; nothing may be left of the cluster."""
    steps = []
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGKILL):
        begun = time.monotonic()
        left = kill_starter(parts, number)
        steps.append(
            Step(f"start, {number.name} to the starter, until nothing is left", time.monotonic() - begun, left)
        )
        print(steps[-1], flush=True)
    return not any(step.note for step in steps), steps


def _table(results: dict[str, list[Step]]) -> str:
    lines = ["| scenario | step | seconds | |", "|---|---|---|---|"]
    for name, steps in results.items():
        lines += [f"| {name} | {step.name} | {step.seconds:.1f} | {step.note} |" for step in steps]
    return "\n".join(lines)


def main() -> int:
    """Run the scenarios that the arguments name, else all."""
    if sys.argv[1:2] == [_INSIDE]:
        name, report, images = sys.argv[2:5]
        return _inside(name, Path(report), Path(images))
    parser = argparse.ArgumentParser(prog="scenarios", description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("names", nargs="*", metavar="SCENARIO", help=f"{_KILLS}, {', '.join(SCENARIOS)}; default: all")
    known = [_KILLS, *SCENARIOS]
    names = parser.parse_args().names or known
    if unknown := set(names) - set(known):
        parser.error(f"there is no scenario {', '.join(sorted(unknown))}")
    if lack := missing():
        print(f"a real cluster cannot run here: {lack}", file=sys.stderr)
        return 2
    interrupt_on_signals()
    try:
        return _run_all(names)
    except KeyboardInterrupt:
        return 130


def _run_all(names: list[str]) -> int:
    begun = time.monotonic()
    results: dict[str, list[Step]] = {}
    failed = []
    try:
        parts = Parts.ensure()
        for name in names:
            print(f"\n{name}", flush=True)
            is_good, results[name] = _kill_starters(parts) if name == _KILLS else _on_fresh_cluster(name, parts)
            failed += [] if is_good else [name]
    except (MissingError, StartError) as error:
        print(error, file=sys.stderr)
        return 2
    print(f"\n{_table(results)}\n\n{time.monotonic() - begun:.0f} s", flush=True)
    if failed:
        print(f"failed: {', '.join(failed)}", file=sys.stderr)
    return bool(failed)


if __name__ == "__main__":
    sys.exit(main())
