"""`simulate`: every fault at every step of a scenario, judged against an undisturbed run."""

import asyncio
import logging
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager

from steersman.errors import ConfigError
from steersman.simulation.end_states import learn_volatile
from steersman.simulation.event_loop import NotDeterministic, Stuck
from steersman.simulation.fault_kinds import KINDS
from steersman.simulation.instances import OperatorFactory, OperatorSource
from steersman.simulation.invariants import Invariant
from steersman.simulation.oracles import Finding, Reference, judge, judge_undisturbed
from steersman.simulation.plans import Plan, chosen_kinds, pairs, parse_plan, single_faults
from steersman.simulation.recording import first_difference
from steersman.simulation.report import Failure, Report
from steersman.simulation.run import Outcome, run_plan
from steersman.simulation.world import World
from steersman.testing.crashes.scenarios import Scenario
from steersman.testing.failures import Expected

#: Called after each plan with the report so far and the number of plans.
Progress = Callable[[Report, int], object]


def simulate(  # noqa: PLR0913 - the author's options, each by its name
    operator: OperatorSource,
    scenario: Scenario,
    *,
    faults: Iterable[str] | str = "all",
    plans: Sequence[str] = (),
    with_pairs: int = 0,
    invariants: Sequence[Invariant] = (),
    expect_failures: Expected = (),
    seed: int = 1,
    twice: bool = False,
    stop_after: int | None = None,
    on_progress: Progress = lambda *_: None,
) -> Report:
    """Run a scenario once for every fault at every step; ``report.raise_if_failed()`` explains what went wrong.

    ``faults`` chooses kinds by name or number (``"crash-after"``, ``"F5"``), ``plans`` runs only the named ones. With
    ``with_pairs`` that many pairs of faults run as well. ``twice`` runs every plan twice and compares their traces.
    ``stop_after`` ends the simulation after that many failures. Everything depends on ``seed`` alone; whatever else an
    operator depends on is rejected as `NotDeterministic`.
    """
    _reject_running_loop()
    with _quiet_logs():
        simulation = _Simulation(operator, scenario, seed, invariants, expect_failures)
        report = simulation.begin()
        kinds = chosen_kinds(faults)
        report.unasked = [] if plans else [name for name in KINDS if name not in {kind.name for kind in kinds}]
        if not simulation.can_replicate and not plans:
            report.impossible = [kind.name for kind in kinds if kind.replicas > 1]
            kinds = [kind for kind in kinds if kind.replicas == 1]
        todo = [parse_plan(text) for text in plans] or single_faults(report.reference.outcome.recording, kinds)
        todo += pairs(todo, with_pairs)
        return simulation.run(report, todo, twice=twice, stop_after=stop_after, on_progress=on_progress)


def _reject_running_loop() -> None:
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return
    raise ConfigError("simulate runs its own event loop: call it from a plain `def` test, not from an `async def` one")


@contextmanager
def _quiet_logs() -> Iterator[None]:
    """Silence the operator: a thousand faults would fill the log."""
    logger = logging.getLogger("steersman")
    before = logger.level
    logger.setLevel(logging.CRITICAL + 1)
    try:
        yield
    finally:
        logger.setLevel(before)


class _Simulation:
    """Runs the plans of one operator and one scenario."""

    def __init__(
        self,
        operator: OperatorSource,
        scenario: Scenario,
        seed: int,
        invariants: Sequence[Invariant],
        expected: Expected,
    ) -> None:
        self._factory = OperatorFactory(operator)
        self._scenario = scenario
        self._seed = seed
        self._invariants = invariants
        self._expected = expected
        self._world = World(self._factory.original())

    @property
    def can_replicate(self) -> bool:
        """Whether two replicas can run at the same time."""
        return self._factory.can_replicate

    def begin(self) -> Report:
        """Run undisturbed: twice with the seed, for determinism, and once with another, to learn what varies."""
        outcome = self._undisturbed(self._seed)
        again = self._undisturbed(self._seed)
        if outcome.recording.digest() != again.recording.digest():
            why = first_difference(outcome.recording.trace, again.recording.trace)
            raise NotDeterministic(f"two undisturbed runs with the same seed differ: {why}")
        other = self._undisturbed(self._seed + 1)
        reference = Reference(outcome, learn_volatile(outcome.state, other.state), self._expected)
        name = getattr(self._scenario, "__name__", "scenario")
        return Report(name, self._seed, reference)

    def _undisturbed(self, seed: int) -> Outcome:
        outcome = self._run(Plan(), seed)
        if found := judge_undisturbed(outcome, self._expected):
            told = "\n".join(map(str, found))
            raise AssertionError(f"the scenario fails without any fault (seed {seed}):\n{told}") from outcome.error
        return outcome

    def run(
        self, report: Report, todo: Sequence[Plan], *, twice: bool, stop_after: int | None, on_progress: Progress
    ) -> Report:
        """Run plans one after the other; an interrupt ends it early."""
        started = time.perf_counter()
        try:
            for plan in todo:
                self._try(report, plan, twice=twice)
                report.seconds = time.perf_counter() - started
                on_progress(report, len(todo))
                if stop_after is not None and len(report.failures) >= stop_after:
                    break
        except KeyboardInterrupt:
            # The command prints what there is; `Report.raise_if_failed` raises it again.
            report.is_interrupted = True
        report.left = len(todo) - len(report.tried)
        return report

    def _try(self, report: Report, plan: Plan, *, twice: bool) -> None:
        outcome, findings = self._judged(report.reference, plan)
        if twice and outcome is not None:
            again = self._run(plan, self._seed)
            if outcome.recording.digest() != again.recording.digest():
                why = first_difference(outcome.recording.trace, again.recording.trace)
                raise NotDeterministic(f"two runs of {plan} with the same seed differ: {why}")
        report.tried.append(plan)
        if findings:
            smaller, outcome, findings = self._shrunk(report.reference, plan, outcome, findings)
            report.failures.append(Failure(smaller, findings, outcome))
        elif outcome is not None and not outcome.struck:
            report.missed.append(plan)

    def _shrunk(
        self, reference: Reference, plan: Plan, outcome: Outcome | None, findings: list[Finding]
    ) -> tuple[Plan, Outcome | None, list[Finding]]:
        """Return the smallest part of a plan that still fails."""
        if len(plan.faults) == 1:
            return plan, outcome, findings
        for fault in plan.faults:
            smaller = Plan(tuple(other for other in plan.faults if other is not fault))
            less, found = self._judged(reference, smaller)
            if found:
                return self._shrunk(reference, smaller, less, found)
        return plan, outcome, findings

    def _judged(self, reference: Reference, plan: Plan) -> tuple[Outcome | None, list[Finding]]:
        try:
            outcome = self._run(plan, self._seed)
        except Stuck as error:
            return None, [Finding("O3", str(error))]
        return outcome, judge(reference, outcome)

    def _run(self, plan: Plan, seed: int) -> Outcome:
        try:
            return run_plan(self._world, self._factory, self._scenario, plan, seed=seed, invariants=self._invariants)
        except BaseException:
            # Where a run broke off, its server may be in the middle of something.
            self._world = World(self._factory.original())
            raise
