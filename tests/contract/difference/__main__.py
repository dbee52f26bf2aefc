"""Compare the embedded server with a real kube-apiserver: ``make difference SEED=1 OPS=20000``.

    python -m tools.control_plane run -- python -m tests.contract.difference --seed 1 --ops 1000

Prints how many operations were compared, the kinds of differences that were found, and for each kind the shortest
scenario that shows it. The exit code says whether there was one.
"""

import argparse
import asyncio
import itertools
import json
import os
import sys
from pathlib import Path
from typing import Any

from steersman.clock import RealClock
from steersman.randomness import Randomness
from steersman.transport.config import ClusterConfig
from steersman.transport.http.transport import HttpTransport
from tests.contract.difference.operation import target
from tests.contract.difference.peers import AGENT
from tests.contract.difference.recording import recorded
from tests.contract.difference.run import Difference, ScenarioRunner, play_all
from tests.contract.difference.scenario import scenario
from tests.contract.difference.summary import summary

LENGTH = 50
#: How many times longer to wait for a server when a scenario that differed is run again.
PATIENCE = 5.0


def _report(difference: Difference) -> None:
    print(f"\nscenario {difference.scenario.name}: {difference.operation.method} {difference.operation.path}")
    for operation in difference.scenario.operations[: difference.position + 1]:
        print(f"  {operation}")
    for text in difference.texts[:12]:
        print(f"  ! {text}")


def _kinds(found: list[Difference]) -> dict[str, list[Difference]]:
    kinds: dict[str, list[Difference]] = {}
    for difference in found:
        plural, _, part = target(difference.operation.path.partition("?")[0])
        key = f"{difference.operation.method} {plural}{part and '/'}{part} {difference.shape}"
        kinds.setdefault(key, []).append(difference)
    return dict(sorted(kinds.items(), key=lambda item: -len(item[1])))


def _append(path: Path, line: dict[str, Any]) -> None:
    with path.open("a") as file:
        file.write(json.dumps(line) + "\n")


async def _run(options: argparse.Namespace) -> int:
    config = ClusterConfig.from_kubeconfig(os.environ["STEERSMAN_CONTRACT_KUBECONFIG"])
    transport = HttpTransport(config, clock=RealClock(), user_agent=AGENT)
    try:
        runner = ScenarioRunner(transport, Randomness().suffix(4))
        numbers = [int(options.scenario)] if options.scenario else itertools.count()
        kinds = [name for name in options.kinds.split(",") if name]
        scenarios = (scenario(options.seed, number, LENGTH, kinds) for number in numbers)
        results = await play_all(runner, scenarios, operations=options.ops, parallel=options.parallel)
        print(f"seed {options.seed}: {summary(results)}")
        runner = ScenarioRunner(transport, Randomness().suffix(4), patience=PATIENCE)
        found = await runner.repeat(results)
        print(f"{len(found)} differences occur again when their scenarios are run alone")
        for kind, several in list(_kinds(found).items())[: options.show]:
            print(f"\n=== {kind} ({len(several)} times)", flush=True)
            shortest = min(several, key=lambda one: one.position)
            shown = await runner.shorten(shortest) if options.shorten else shortest
            _report(shown)
            if options.record:
                _append(Path(options.record), recorded(shown.scenario, (await runner.play(shown.scenario)).exchanges))
        return 1 if found else 0
    finally:
        await transport.close()


def main() -> int:
    """Compare both servers and print the differences."""
    parser = argparse.ArgumentParser(prog="difference", description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--seed", default="1", help="equal seeds generate equal scenarios")
    parser.add_argument("--ops", type=int, default=1000, help="how many operations to compare at least")
    parser.add_argument("--scenario", default="", help="run only the scenario of this number")
    parser.add_argument("--kinds", default="", help="plurals, with commas between; things are custom resources")
    parser.add_argument("--parallel", type=int, default=4, help="number of scenarios that run in parallel")
    parser.add_argument("--show", type=int, default=10, help="kinds of differences that are shown")
    parser.add_argument("--no-shorten", dest="shorten", action="store_false", help="show scenarios in full")
    parser.add_argument(
        "--record", default="", help="append the answers of the real server in the shown scenarios to this file"
    )
    options = parser.parse_args()
    if "STEERSMAN_CONTRACT_KUBECONFIG" not in os.environ:
        print("there is no real server: python -m tools.control_plane run -- ...", file=sys.stderr)
        return 2
    return asyncio.run(_run(options))


if __name__ == "__main__":
    sys.exit(main())
