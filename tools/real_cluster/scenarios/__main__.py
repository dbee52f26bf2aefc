"""`make e2e-real`: run scenarios, each on a fresh cluster, and print how long each step took.

python -m tools.real_cluster.scenarios [SCENARIO…]                 all of them by default
python -m tools.real_cluster.scenarios --together SCENARIO…        one after the other on one cluster
python -m tools.real_cluster.scenarios --if-possible SCENARIO…     succeed, with the reason, where no cluster can run
"""

import argparse
import json
import signal
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Final

from tools.control_plane.binaries import MissingError
from tools.real_cluster.cluster import RealCluster, StartError, interrupt_on_signals
from tools.real_cluster.host import missing
from tools.real_cluster.leftovers import KILLS, host_state, kill_one, left_behind
from tools.real_cluster.packaging import ensure_packaging_tools
from tools.real_cluster.parts import Parts
from tools.real_cluster.scenarios import databases, examples, failures, fleet, guide, operations, packaging, why
from tools.real_cluster.scenarios.user import ScenarioError, Step, User

SCENARIOS: Final[dict[str, Callable[[User], None]]] = {
    "guide": guide.run,
    "fleet": fleet.run,
    "failures": failures.run,
    "why": why.run,
    "sharded": operations.sharded,
    "paused": operations.paused,
    "token-expiry": operations.token_expiry,
    "packaging": packaging.run,
    "custompod": examples.custompod,
    "foobar": examples.foobar,
    "samplecontroller": examples.samplecontroller,
    "project": examples.project,
    "kubewatch": examples.kubewatch,
    "network": examples.network,
    "redisfailover": examples.redisfailover,
    "mgors": databases.mgors,
}
_MODULE: Final = "tools.real_cluster.scenarios"
#: The scenario that is not inside of a cluster.
_KILLS: Final = "killed"
#: Set for the process inside of the cluster.
_INSIDE: Final = "--inside"
#: Seconds that the first build may take with `--if-possible`.
_BUILD_LIMIT: Final = 15 * 60

#: The steps of each scenario.
Results = dict[str, list[Step]]


def _inside(name: str, report: Path, images: Path) -> int:
    """Run a scenario inside of a cluster, and write its steps to a file."""
    # The files of a scenario are among those of the cluster, which are removed even if this process is killed.
    with tempfile.TemporaryDirectory(prefix=f"{name}-", dir=report.parent) as folder:
        user = User(Path(folder), images)
        try:
            SCENARIOS[name](user)
        except ScenarioError as error:
            print(f"FAILED  {name}: {error}", flush=True)
            return 1
        finally:
            report.write_text(json.dumps([asdict(step) for step in user.steps]))
    return 0


def _on_fresh_cluster(names: list[str], parts: Parts) -> tuple[list[str], Results]:
    """Run scenarios on one cluster, until one fails; return the failed ones and the steps of all."""
    before = host_state()
    begun = time.monotonic()
    failed: list[str] = []
    results: Results = {}
    with RealCluster(parts) as entrance:
        started = Step("start a fresh cluster", time.monotonic() - begun)
        print(started, flush=True)
        for name in names:
            report = entrance.kubeconfig.parent / f"{name}.json"
            code = entrance.run(sys.executable, "-m", _MODULE, _INSIDE, name, str(report), str(parts.images))
            results[name] = [Step(**one) for one in json.loads(report.read_text())] if report.exists() else []
            if code:
                failed.append(name)
                break
        ended = time.monotonic()
    left = left_behind(before, entrance.supervisor, parts)
    stopped = Step("stop the cluster, until nothing is left", time.monotonic() - ended, left)
    print(stopped, flush=True)
    results[names[0]].insert(0, started)
    results[list(results)[-1]].append(stopped)
    return failed or (names if left else []), results


def _kill(parts: Parts) -> tuple[list[str], Results]:
    """End clusters from outside in several ways; nothing may be left of them."""
    steps = []
    for kill in KILLS:
        begun = time.monotonic()
        left = kill_one(parts, kill)
        steps.append(Step(f"start, {kill}, until nothing is left", time.monotonic() - begun, left))
        print(steps[-1], flush=True)
    return [_KILLS] if any(step.note for step in steps) else [], {_KILLS: steps}


def _table(results: Results) -> str:
    lines = ["| scenario | step | seconds | |", "|---|---|---|---|"]
    for name, steps in results.items():
        lines += [f"| {name} | {step.name} | {step.seconds:.1f} | {step.note} |" for step in steps]
    return "\n".join(lines)


def main() -> int:
    """Run the scenarios that the arguments name, else all."""
    if sys.argv[1:2] == [_INSIDE]:
        name, report, images = sys.argv[2:5]
        return _inside(name, Path(report), Path(images))
    options = _options()
    interrupt_on_signals()
    try:
        parts = _parts(options.names, _BUILD_LIMIT if options.if_possible else 0)
        return _run_all(rounds(options.names, is_together=options.together), parts)
    except (MissingError, StartError) as error:
        if options.if_possible:
            print(f"not run: {' '.join(options.names)}, because {_in_one_line(error)}", flush=True)
            return 0
        print(error, file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        return 130


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="scenarios", description=(__doc__ or "").partition("\n")[0])
    known = [_KILLS, *SCENARIOS]
    parser.add_argument("names", nargs="*", metavar="SCENARIO", help=f"{', '.join(known)}; default: all")
    parser.add_argument("--together", action="store_true", help="run them on one cluster instead of one each")
    parser.add_argument("--if-possible", action="store_true", help="if no cluster can run here, print why and succeed")
    options = parser.parse_args()
    options.names = options.names or known
    if unknown := set(options.names) - set(known):
        parser.error(f"there is no scenario {', '.join(sorted(unknown))}")
    return options


def _parts(names: list[str], build_limit: int) -> Parts:
    """Return the parts of a cluster, and build what scenarios need beside it; inside there is no network."""
    if lack := missing():
        raise MissingError(f"a real cluster cannot run here: {lack}")
    with _time_limit(build_limit):
        if "packaging" in names:
            ensure_packaging_tools()
        return Parts.ensure()


def _in_one_line(error: Exception) -> str:
    """Return the beginning and the end of a message: what failed, and the last that it printed."""
    lines = str(error).splitlines()
    return " ".join([lines[0], *lines[1:][-1:]])


@contextmanager
def _time_limit(seconds: int) -> Iterator[None]:
    """Raise `MissingError` in the block after so many seconds; 0: never."""

    def ring(*_: object) -> None:
        raise MissingError(f"its programs were not built within {seconds // 60} minutes; what was built is kept")

    signal.signal(signal.SIGALRM, ring)
    signal.alarm(seconds)
    try:
        yield
    finally:
        signal.alarm(0)


def rounds(names: list[str], *, is_together: bool) -> list[list[str]]:
    """Return the scenarios of each cluster; killed clusters are others."""
    inside = [name for name in names if name != _KILLS]
    rounds = [inside] if is_together and inside else [[name] for name in inside]
    return [*rounds, *([[_KILLS]] if _KILLS in names else [])]


def _run_all(rounds: list[list[str]], parts: Parts) -> int:
    begun = time.monotonic()
    results: Results = {}
    failed: list[str] = []
    for names in rounds:
        print(f"\n{', '.join(names)}", flush=True)
        lost, steps = _kill(parts) if names == [_KILLS] else _on_fresh_cluster(names, parts)
        failed += lost
        results |= steps
    print(f"\n{_table(results)}\n\n{time.monotonic() - begun:.0f} s", flush=True)
    if failed:
        print(f"failed: {', '.join(failed)}", file=sys.stderr)
    return bool(failed)


if __name__ == "__main__":
    sys.exit(main())
