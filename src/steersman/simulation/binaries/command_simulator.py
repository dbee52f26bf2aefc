"""`simulate_command`: the faults of real life at every step of a scenario, for an operator that is any program.

Plans run in real time, and a run mostly waits for rest, so several of them run at once, each with a cluster and a
process of its own. What fails is run again before it is reported: real time has accidents that have nothing to do with
the fault.
"""

import asyncio
import tempfile
import time
from collections.abc import Callable, Coroutine, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from steersman.errors import ConfigError
from steersman.localcluster.process_node.files.directory import NodeDirectory
from steersman.localcluster.process_node.processes.spawning import Processes
from steersman.manager.process.logs import quiet_logs
from steersman.simulation.binaries.command_report import IMPOSSIBLE, CommandReport
from steersman.simulation.binaries.command_run import CommandSetup, run_command
from steersman.simulation.binaries.program import OperatorExited
from steersman.simulation.faults.kinds import KINDS, FaultKind
from steersman.simulation.faults.plans import Fault, Plan, parse_plan, single_faults
from steersman.simulation.faults.recording import Recording
from steersman.simulation.oracles.end_states import learn_volatile
from steersman.simulation.oracles.judge import Finding, Reference, judge, judge_undisturbed
from steersman.simulation.reports.report import Failure
from steersman.simulation.runs.process_settings import reject_running_loop
from steersman.simulation.runs.run import Outcome

T = TypeVar("T")

#: Kinds that are tried unless others are asked for: each plan takes seconds.
USUAL = (
    "crash-before",
    "crash-after",
    "conflict",
    "internal-error",
    "gateway-timeout",
    "watch-reset",
    "watch-silent",
    "event-delayed",
    "events-unobserved",
    "stale-restart",
    "restart",
)
#: Called after each plan with the report so far and the number of plans.
Progress = Callable[[CommandReport, int], object]


@dataclass(frozen=True, slots=True, kw_only=True)
class Choice:
    """Which plans run, and how many at once."""

    faults: Sequence[str] = ("usual",)
    #: Run only these plans.
    plans: Sequence[str] = ()
    #: Plural names of resources: only steps of these count.
    only: frozenset[str] = frozenset()
    #: Run at most so many plans, spread evenly over all.
    most: int | None = None
    #: Stop after so many failures.
    stop_after: int | None = None
    #: How many plans run at the same time.
    parallel: int = 4

    def __post_init__(self) -> None:
        if self.parallel < 1:
            raise ConfigError(f"--jobs {self.parallel}: at least one plan has to run at a time")
        # Mistakes are reported now, not after the undisturbed runs.
        kinds_of(self.faults)
        for plan in self.plans:
            parse_plan(plan)


def simulate_command(setup: CommandSetup, choice: Choice, *, on_progress: Progress = lambda *_: None) -> CommandReport:
    """Run a scenario once for each fault at each step; ``report.raise_if_failed()`` explains what went wrong.

    ``setup.directory`` keeps the logs. Ctrl-C ends all processes and returns what is known by then.
    """
    simulation = _CommandSimulation(setup, choice, on_progress)
    reject_running_loop()
    # asyncio warns of writes to the connections of killed processes.
    with quiet_logs("steersman", "asyncio"):
        try:
            asyncio.run(simulation.run())
        except KeyboardInterrupt:
            if simulation.report is None:
                raise
            simulation.report.is_interrupted = True
    return simulation.finished()


def kinds_of(names: Iterable[str]) -> list[FaultKind]:
    """Return the kinds of these names or numbers; ``usual`` are those that are tried by default."""
    wanted = set(names)
    if "usual" in wanted:
        wanted |= set(USUAL)
    known = {*KINDS, "all", "usual", *(kind.number for kind in KINDS.values())}
    if unknown := sorted(wanted - known):
        raise ConfigError(f"{unknown[0]!r} is not a kind of fault: pass usual, all, F1 to F14, or {', '.join(KINDS)}")
    if refused := sorted(wanted & IMPOSSIBLE):
        raise ConfigError(f"{', '.join(refused)} cannot be injected into a program")
    return [
        kind
        for kind in KINDS.values()
        if kind.name not in IMPOSSIBLE and ({kind.name, kind.number} & wanted or "all" in wanted)
    ]


def plans_of(recording: Recording, choice: Choice) -> list[Plan]:
    """Return the plans to run, each once."""
    if choice.plans:
        return [parse_plan(text) for text in choice.plans]
    every = single_faults(recording, kinds_of(choice.faults))
    # Two watches of one resource deliver the same events, and so lead to the same plans.
    chosen = [plan for plan in dict.fromkeys(every) if all(_counts(one, recording, choice.only) for one in plan.faults)]
    if choice.most is None or len(chosen) <= choice.most:
        return chosen
    return [chosen[at * len(chosen) // choice.most] for at in range(choice.most)]


def _counts(fault: Fault, recording: Recording, only: frozenset[str]) -> bool:
    """Return whether a fault is possible, and at a step of a chosen resource."""
    if fault.view is not None:
        # Only a list of any version can be old: others are answered by a quorum.
        is_possible = fault.view.collection in recording.stale_lists
        return is_possible and (not only or _resource(fault.view.collection) in only)
    match fault.place:
        case "write":
            target = recording.writes[fault.number - 1].target
        case "read":
            target = recording.reads[fault.number - 1].target
        case "event":
            target = recording.events[fault.number - 1].collection
        case _:
            return True
    return not only or not only.isdisjoint(target.split("/"))


def _resource(path: str) -> str:
    return path.rpartition("/")[2]


class _CommandSimulation:
    """Runs the plans of one program."""

    def __init__(self, setup: CommandSetup, choice: Choice, on_progress: Progress) -> None:
        self._setup = setup
        self._choice = choice
        self._on_progress = on_progress
        self._todo: list[Plan] = []
        self._started = time.perf_counter()
        self.report: CommandReport | None = None

    async def run(self) -> None:
        """Run undisturbed, then under each plan."""
        with tempfile.TemporaryDirectory(prefix="steersman-") as directory:
            node = NodeDirectory(Path(directory) / "processes")
            with node.opened():
                processes = Processes(node, mark=Path(directory).name)
                async with processes.guarded():
                    self.report = await self._begin(processes)
                    await self._run_plans(processes, self.report)

    def finished(self) -> CommandReport:
        """Return the report."""
        if self.report is None:
            raise RuntimeError("the undisturbed run did not end")
        self.report.left = len(self._todo) - len(self.report.tried)
        return self.report

    async def _begin(self, processes: Processes) -> CommandReport:
        """Run twice without any fault, to learn what varies."""
        ends: dict[int, Outcome] = {}

        async def run(numbers: Iterator[int]) -> None:
            for number in numbers:
                ends[number] = await self._undisturbed(processes, f"undisturbed-{number}")

        await self._at_once(run, iter((1, 2)))
        first, second = ends[1], ends[2]
        reference = Reference(first, learn_volatile(first.state, second.state))
        report = CommandReport(getattr(self._setup.scenario, "__name__", "scenario"), 0, reference)
        self._todo = plans_of(first.recording, self._choice)
        if not self._choice.plans:
            asked = {kind.name for kind in kinds_of(self._choice.faults)}
            report.unasked = [name for name in KINDS if name not in asked | IMPOSSIBLE]
            report.has_stale_lists = bool(first.recording.stale_lists) or "stale-restart" not in asked
        return report

    async def _undisturbed(self, processes: Processes, name: str) -> Outcome:
        outcome = await run_command(self._setup, processes, Plan(), None, name=name)
        if isinstance(outcome.error, OperatorExited | ConfigError):
            raise outcome.error
        if found := judge_undisturbed(outcome, ()):
            told = "\n".join(map(str, found))
            raise ConfigError(f"the scenario fails without any fault:\n{told}") from outcome.error
        return outcome

    async def _run_plans(self, processes: Processes, report: CommandReport) -> None:
        self._started = time.perf_counter()
        self._on_progress(report, len(self._todo))
        waiting = iter(self._todo)
        await self._at_once(lambda plans: self._work(processes, report, plans), waiting)

    async def _at_once(self, work: Callable[[Iterator[T]], Coroutine[Any, Any, None]], waiting: Iterator[T]) -> None:
        """Run several workers that share what waits; the first failure ends all of them."""
        try:
            async with asyncio.TaskGroup() as tasks:
                for number in range(self._choice.parallel):
                    tasks.create_task(work(waiting), name=f"simulation/{number}")
        except BaseExceptionGroup as group:
            raise group.exceptions[0] from None

    async def _work(self, processes: Processes, report: CommandReport, waiting: Iterator[Plan]) -> None:
        for plan in waiting:
            if self._choice.stop_after is not None and len(report.failures) >= self._choice.stop_after:
                return
            await self._try(processes, report, plan)
            report.seconds = time.perf_counter() - self._started
            self._on_progress(report, len(self._todo))

    async def _try(self, processes: Processes, report: CommandReport, plan: Plan) -> None:
        outcome, findings = await self._checked(processes, report.reference, plan)
        if findings:
            again, confirmed = await self._checked(processes, report.reference, plan)
            if confirmed:
                report.failures.append(Failure(plan, confirmed, again))
            else:
                report.unsteady.append(plan)
        elif not outcome.struck:
            report.missed.append(plan)
        report.tried.append(plan)

    async def _checked(self, processes: Processes, reference: Reference, plan: Plan) -> tuple[Outcome, list[Finding]]:
        recorded = reference.outcome.recording
        outcome = await run_command(self._setup, processes, plan, recorded, name=_file_name(plan))
        return outcome, judge(reference, outcome)


def _file_name(plan: Plan) -> str:
    """Return a plan as the name of a file."""
    return "".join(letter if letter.isalnum() or letter in "-@.+" else "-" for letter in str(plan))
