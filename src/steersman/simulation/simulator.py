"""`simulate`: every fault at every step of a scenario, judged against an undisturbed run."""

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing
from typing import NamedTuple

from steersman.manager.process.logs import quiet_logs
from steersman.simulation.event_loop import NotDeterministic, Stuck
from steersman.simulation.faults.kinds import KINDS
from steersman.simulation.faults.plans import Plan, chosen_kinds, pairs, parse_plan, random_walks, single_faults
from steersman.simulation.faults.recording import first_difference
from steersman.simulation.invariants import Invariant
from steersman.simulation.oracles.end_states import learn_volatile
from steersman.simulation.oracles.judge import Finding, Reference, judge, judge_undisturbed
from steersman.simulation.reports.report import Failure, Report
from steersman.simulation.runs.instances import OperatorFactory, OperatorSource
from steersman.simulation.runs.interrupts import Interrupts, deferred_interrupts
from steersman.simulation.runs.process_settings import rare_garbage_collection, reject_running_loop
from steersman.simulation.runs.run import Outcome, run_plan
from steersman.simulation.runs.workers import Verdict, try_in_workers
from steersman.simulation.runs.world import World
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
    with_walks: int = 0,
    invariants: Sequence[Invariant] = (),
    expect_failures: Expected = (),
    seed: int = 1,
    twice: bool = False,
    stop_after: int | None = None,
    budget: float | None = None,
    jobs: int = 1,
    on_progress: Progress = lambda *_: None,
) -> Report:
    """Run a scenario once for every fault at every step; ``report.raise_if_failed()`` explains what went wrong.

    ``faults`` chooses kinds by name or number (``"crash-after"``, ``"F5"``), ``plans`` runs only the named ones. With
    ``with_pairs`` that many pairs of faults run as well, with ``with_walks`` that many random groups of up to four.
    After ``budget`` seconds no further plan is begun. ``twice`` runs every plan twice and compares their traces.
    ``stop_after`` ends the simulation after that many failures, ``jobs`` is the number of processes. Everything depends
    on ``seed`` alone; whatever else an operator depends on is rejected as `NotDeterministic`.
    """
    reject_running_loop()
    with quiet_logs(), rare_garbage_collection(), deferred_interrupts() as interrupts:
        simulation = _Simulation(operator, scenario, seed, invariants, expect_failures)
        report = simulation.begin(interrupts)
        kinds = chosen_kinds(faults)
        report.unasked = [] if plans else [name for name in KINDS if name not in {kind.name for kind in kinds}]
        if not simulation.can_replicate and not plans:
            report.impossible = [kind.name for kind in kinds if kind.replicas > 1]
            kinds = [kind for kind in kinds if kind.replicas == 1]
        todo = [parse_plan(text) for text in plans] or single_faults(report.reference.outcome.recording, kinds)
        todo += [*pairs(todo, with_pairs), *random_walks(todo, with_walks, seed)]
        todo = list(dict.fromkeys(todo))
        return simulation.run(report, todo, _Course(twice, stop_after, budget, jobs, on_progress, interrupts))


class _Course(NamedTuple):
    """How plans are run."""

    twice: bool
    stop_after: int | None
    budget: float | None
    jobs: int
    on_progress: Progress
    interrupts: Interrupts

    def is_over(self, report: Report) -> bool:
        """Return whether enough failed, or the time is up."""
        has_enough = self.stop_after is not None and len(report.failures) >= self.stop_after
        return has_enough or (self.budget is not None and report.seconds >= self.budget)


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

    def begin(self, interrupts: Interrupts) -> Report:
        """Run undisturbed: twice with the seed, for determinism, and once with another, to learn what varies."""
        outcome = self._undisturbed(self._seed)
        interrupts.raise_if_requested()
        again = self._undisturbed(self._seed)
        interrupts.raise_if_requested()
        if outcome.recording.digest() != again.recording.digest():
            why = first_difference(outcome.recording.trace, again.recording.trace)
            raise NotDeterministic(f"two undisturbed runs with the same seed differ: {why}")
        other = self._undisturbed(self._seed + 1)
        interrupts.raise_if_requested()
        reference = Reference(outcome, learn_volatile(outcome.state, other.state), self._expected)
        name = getattr(self._scenario, "__name__", "scenario")
        return Report(name, self._seed, reference)

    def _undisturbed(self, seed: int) -> Outcome:
        outcome = self._run(Plan(), seed)
        if found := judge_undisturbed(outcome, self._expected):
            told = "\n".join(map(str, found))
            raise AssertionError(f"the scenario fails without any fault (seed {seed}):\n{told}") from outcome.error
        return outcome

    def run(self, report: Report, todo: Sequence[Plan], course: _Course) -> Report:
        """Run plans, and keep their results in the order of the plans; an interrupt ends it early."""
        started = time.perf_counter()
        try:
            for plan, verdict in self._verdicts(report.reference, todo, course):
                self._note(report, plan, verdict, twice=course.twice)
                report.seconds = time.perf_counter() - started
                course.on_progress(report, len(todo))
                course.interrupts.raise_if_requested()
                if course.is_over(report):
                    break
        except KeyboardInterrupt:
            # The command prints the results so far; `Report.raise_if_failed` raises it again.
            report.is_interrupted = True
        report.sort(todo)
        report.left = len(todo) - len(report.tried)
        return report

    def _verdicts(
        self, reference: Reference, todo: Sequence[Plan], course: _Course
    ) -> Iterator[tuple[Plan, Verdict | None]]:
        """Yield plans with the verdict of a worker; without workers, with none."""
        if course.jobs <= 1 or len(todo) <= 1:
            yield from ((plan, None) for plan in todo)
            return

        def attempt(plan: Plan) -> Verdict:
            outcome, findings = self._tried(reference, plan, twice=course.twice)
            if findings:
                return "failed"
            return "passed" if outcome is None or outcome.is_complete else "missed"

        with closing(try_in_workers(todo, min(course.jobs, len(todo)), attempt)) as results:
            yield from results

    def _note(self, report: Report, plan: Plan, verdict: Verdict | None, *, twice: bool) -> None:
        """Add a plan to the report; run it here unless a worker has seen it pass."""
        if verdict in {"passed", "missed"}:
            report.missed += [plan] if verdict == "missed" else []
            report.tried.append(plan)
            return
        outcome, findings = self._tried(report.reference, plan, twice=twice)
        report.tried.append(plan)
        if findings:
            smaller, outcome, findings = self._shrunk(report.reference, plan, outcome, findings)
            report.failures.append(Failure(smaller, findings, outcome))
        elif verdict == "failed":
            raise NotDeterministic(f"{plan} failed in a worker process, and passes here: it depends on earlier runs")
        elif outcome is not None and not outcome.is_complete:
            report.missed.append(plan)

    def _tried(self, reference: Reference, plan: Plan, *, twice: bool) -> tuple[Outcome | None, list[Finding]]:
        outcome, findings = self._checked(reference, plan)
        if twice and outcome is not None:
            again = self._run(plan, self._seed)
            if outcome.recording.digest() != again.recording.digest():
                why = first_difference(outcome.recording.trace, again.recording.trace)
                raise NotDeterministic(f"two runs of {plan} with the same seed differ: {why}")
        return outcome, findings

    def _shrunk(
        self, reference: Reference, plan: Plan, outcome: Outcome | None, findings: list[Finding]
    ) -> tuple[Plan, Outcome | None, list[Finding]]:
        """Return the smallest part of a plan that still fails."""
        if len(plan.faults) == 1:
            return plan, outcome, findings
        for fault in plan.faults:
            smaller = Plan(tuple(other for other in plan.faults if other is not fault))
            less, found = self._checked(reference, smaller)
            if found:
                return self._shrunk(reference, smaller, less, found)
        return plan, outcome, findings

    def _checked(self, reference: Reference, plan: Plan) -> tuple[Outcome | None, list[Finding]]:
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
