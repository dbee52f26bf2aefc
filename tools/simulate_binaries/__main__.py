"""Simulate Go operators of other projects, at versions with known bugs, and say which of them are found again.

    python -m tools.simulate_binaries [--jobs N] [CASE…]

The bugs are those that Sieve (OSDI '22) found and reported; each case has the scenario and the kind of fault of its
report. A case fails if its bug is not found, or, for one without a known bug, if anything is found.
"""

import argparse
import os
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from steersman.errors import SteersmanError
from steersman.simulation.binaries.command_report import CommandReport
from steersman.simulation.binaries.command_run import CommandSetup
from steersman.simulation.binaries.command_simulator import Choice, simulate_command
from steersman.simulation.binaries.definitions import read_definitions
from steersman.simulation.binaries.program import Program
from steersman.simulation.binaries.scenario_files import scenario_of
from tools.simulate_binaries.operators import (
    RABBITMQ,
    RABBITMQ_FIXED,
    SAMPLE_CONTROLLER,
    ZOOKEEPER,
    GoOperator,
    MissingError,
)

SCENARIOS = Path(__file__).parent / "scenarios"


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """One scenario of one operator."""

    name: str
    operator: GoOperator
    #: The folder of its scenario.
    scenario: str
    faults: tuple[str, ...] = ("usual",)
    only: frozenset[str] = frozenset()
    #: The issue of the project that describes the bug; empty if it is fixed, or none is known.
    issue: str = ""
    #: What a failure has in its explanation if it is that bug.
    sign: tuple[str, ...] = ()
    quiet: float = 3.0

    def is_found(self, report: CommandReport) -> bool:
        """Return whether a failure shows the bug; any failure where no bug is known."""
        texts = ["\n".join(map(str, (failure.plan, *failure.findings))) for failure in report.failures]
        return any(all(sign in text for sign in self.sign) for text in texts)

    def is_as_expected(self, report: CommandReport) -> bool:
        """Return whether the known bug is found, or is not where it is fixed or none is known."""
        return self.is_found(report) == bool(self.issue)

    def result(self, report: CommandReport) -> str:
        """Return what a table says of it."""
        if self.issue:
            return f"found {self.issue}" if self.is_found(report) else f"NOT found: {self.issue}"
        return "FOUND" if self.is_found(report) else "not found, as expected"


_STALE = ("stale-restart",)
#: A claim that is in use is deleted: it is gone when its pod is.
_DELETED_CLAIM = ('+    "deletionTimestamp": "<time>"', '"kubernetes.io/pvc-protection"')


def _rabbitmq(operator: GoOperator, *, has_bugs: bool) -> Iterator[Case]:
    """Yield the cases of a version of the operator, which has the bugs or has them fixed."""
    common = Case(
        name="rabbitmq",
        operator=operator,
        scenario="rabbitmq-resize",
        faults=_STALE,
        only=frozenset({"rabbitmqclusters"}),
        sign=("statefulsets.apps default/rabbit-server was deleted because of the stale read",),
        # It sleeps for 3 s after it has deleted a StatefulSet.
        quiet=5.0,
    )
    cases = {
        "782": replace(
            common,
            name="rabbitmq-resize",
            faults=("crash-after",),
            only=frozenset({"statefulsets", "persistentvolumeclaims"}),
            sign=("crash-after", '-        "storage": "15Gi"'),
        ),
        "653": replace(common, name="rabbitmq-resize-stale"),
        "648": replace(common, name="rabbitmq-recreate", scenario="rabbitmq-recreate"),
    }
    for number, case in cases.items():
        if has_bugs:
            yield replace(case, issue=f"rabbitmq/cluster-operator#{number}")
        else:
            yield replace(case, name=f"{case.name}-fixed")


CASES = (
    Case(name="foo-rollout", operator=SAMPLE_CONTROLLER, scenario="foo-rollout"),
    *_rabbitmq(RABBITMQ, has_bugs=True),
    *_rabbitmq(RABBITMQ_FIXED, has_bugs=False),
    Case(
        name="zookeeper-recreate",
        operator=ZOOKEEPER,
        scenario="zookeeper-recreate",
        faults=_STALE,
        only=frozenset({"zookeeperclusters"}),
        issue="pravega/zookeeper-operator#312",
        sign=_DELETED_CLAIM,
    ),
    Case(
        name="zookeeper-scale",
        operator=ZOOKEEPER,
        scenario="zookeeper-scale",
        faults=_STALE,
        only=frozenset({"zookeeperclusters"}),
        issue="pravega/zookeeper-operator#314",
        sign=_DELETED_CLAIM,
    ),
)


def simulate(case: Case, parallel: int) -> CommandReport:
    """Build the operator of a case if need be, and run its plans."""
    operator = case.operator
    operator.ensure()
    command = operator.command.replace("{program}", str(operator.program))
    with tempfile.TemporaryDirectory(prefix="steersman-logs-") as directory:
        setup = CommandSetup(
            program=Program.parse(command),
            scenario=scenario_of(SCENARIOS / case.scenario),
            definitions=read_definitions([operator.definitions()]),
            old_versions=operator.old_versions,
            quiet=case.quiet,
            directory=Path(directory),
        )
        at_once = min(parallel, operator.most_processes or parallel)
        return simulate_command(
            setup, Choice(faults=case.faults, only=case.only, parallel=at_once), on_progress=_progress
        )


def _progress(report: CommandReport, plans: int) -> None:
    print(f"  {len(report.tried)}/{plans} plans, {len(report.failures)} failed, {report.seconds:.0f} s", flush=True)


def _run(case: Case, parallel: int) -> tuple[str, bool]:
    """Run a case; return its line of the table, and whether it went as expected."""
    print(f"{case.name}: {case.operator.name} {case.operator.version}", flush=True)
    begun = time.monotonic()
    report = simulate(case, parallel)
    seconds = time.monotonic() - begun
    if report.is_interrupted:
        raise KeyboardInterrupt
    print(report.text(), flush=True)
    line = (
        f"{case.name:27} {case.operator.name:26} {case.operator.version:9} {len(report.tried):5} "
        f"{len(report.failures):6} {seconds:6.0f}  {case.result(report)}"
    )
    return line, case.is_as_expected(report)


def main() -> int:
    """Run cases and print a table; return 0 if all went as expected."""
    parser = argparse.ArgumentParser(prog="simulate_binaries", description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--jobs", type=int, default=2 * (os.cpu_count() or 1), help="plans at the same time")
    parser.add_argument("cases", nargs="*", metavar="CASE", help=", ".join(case.name for case in CASES))
    options = parser.parse_args()
    if unknown := set(options.cases) - {case.name for case in CASES}:
        parser.error(f"unknown cases {', '.join(sorted(unknown))}")
    lines, is_expected = [], True
    for case in CASES:
        if options.cases and case.name not in options.cases:
            continue
        try:
            line, is_good = _run(case, options.jobs)
        except (MissingError, SteersmanError) as error:
            line, is_good = f"{case.name:27} {error}", False
        except KeyboardInterrupt:
            print("\n".join(lines))
            return 130
        lines.append(line)
        is_expected &= is_good
    print(f"\n{'case':27} {'operator':26} {'version':9} plans failed      s")
    print("\n".join(lines))
    return 0 if is_expected else 1


if __name__ == "__main__":
    sys.exit(main())
