"""`simulate_operations`: generated sequences of operations, each judged by the end of the shortest way to its spec."""

import time
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import NamedTuple

from steersman.errors import ConfigError
from steersman.json_types import JsonObject
from steersman.manager.process.logs import quiet_logs
from steersman.objects.identity import ApiResource
from steersman.simulation.event_loop import Stuck
from steersman.simulation.faults.plans import Plan
from steersman.simulation.invariants import Invariant
from steersman.simulation.operations.player import NotAllowed, Player
from steersman.simulation.operations.report import OperationsFailure, OperationsReport
from steersman.simulation.operations.sequences import OperationSequence, Set, parse_sequence
from steersman.simulation.operations.templates import generated_sequences
from steersman.simulation.oracles.end_states import Volatile, difference, learn_volatile, mask, without_generations
from steersman.simulation.oracles.judge import Finding, judge_undisturbed
from steersman.simulation.runs.instances import OperatorFactory, OperatorSource
from steersman.simulation.runs.interrupts import Interrupts, deferred_interrupts
from steersman.simulation.runs.process_settings import rare_garbage_collection, reject_running_loop
from steersman.simulation.runs.run import Outcome, run_plan
from steersman.simulation.runs.world import World
from steersman.structural.custom_object import CustomKind
from steersman.testing.failures import Expected

#: Called after each sequence with the report so far and the number of sequences.
OperationsProgress = Callable[[OperationsReport, int], object]

_DEFINITIONS = "customresourcedefinitions.apiextensions.k8s.io"


def simulate_operations(  # noqa: PLR0913 - the author's options, each by its name
    operator: OperatorSource,
    *,
    count: int = 50,
    sequences: Sequence[str] = (),
    invariants: Sequence[Invariant] = (),
    expect_failures: Expected = (),
    seed: int = 1,
    on_progress: OperationsProgress = lambda *_: None,
) -> OperationsReport:
    """Run sequences of operations on objects of the operator's custom kinds, generated from their schemas.

    Whichever way leads to a spec, the cluster must end as after creating an object with that spec. ``count`` is the
    number of sequences of each kind; ``sequences`` runs only the given ones. No reconcile may fail for an object that
    the schema allows, except with ``expect_failures``.
    """
    reject_running_loop()
    with quiet_logs(), rare_garbage_collection(), deferred_interrupts() as interrupts:
        simulation = _Operations(operator, seed, invariants, expect_failures)
        todo = [parse_sequence(text) for text in sequences] or list(simulation.generate(count))
        return simulation.run(todo, on_progress, interrupts)


class _Kind(NamedTuple):
    """A custom kind that the operator reconciles, and its rules."""

    resource: ApiResource
    rules: CustomKind


class _End(NamedTuple):
    """How the cluster ends after creating an object, and what varies in that."""

    state: list[str]
    volatile: Volatile
    findings: list[Finding]
    #: Why the operator gave up, by object: what it leaves behind then is its own choice.
    given_up: dict[str, str]


class _Operations:
    """Runs the sequences of one operator."""

    def __init__(
        self, operator: OperatorSource, seed: int, invariants: Sequence[Invariant], expected: Expected
    ) -> None:
        self._factory = OperatorFactory(operator)
        self._seed = seed
        self._invariants = invariants
        self._expected = expected
        self._world = World(self._factory.original())
        self._kinds = dict(self._custom_kinds())
        self._ends: dict[str, _End] = {}
        self.report = OperationsReport(self._factory.original().name, seed)

    def _custom_kinds(self) -> Iterator[tuple[str, _Kind]]:
        store = self._world.cluster.server.objects.store
        for resource in self._world.reconciled:
            record = store.get(_DEFINITIONS, "", f"{resource.plural}.{resource.gvk.group}")
            if record is not None:
                definition: JsonObject = record.decode()
                yield resource.gvk.kind, _Kind(resource, CustomKind.of(definition, resource.gvk.version))

    def generate(self, count: int) -> Iterator[OperationSequence]:
        """Yield sequences for each kind."""
        if not self._kinds:
            raise ConfigError(
                f"operator {self.report.name!r} reconciles no custom kind: there is no schema to begin with"
            )
        for name, kind in self._kinds.items():
            made = generated_sequences(
                kind.rules, count=count, seed=self._seed, is_usable=partial(self._is_usable, name)
            )
            self.report.skipped += [] if made else [name]
            yield from made

    def _is_usable(self, kind: str, spec: JsonObject) -> bool:
        """Return whether the operator does something with an object."""
        try:
            end = self._direct_end(OperationSequence(kind, (Set(spec),)))
        except NotAllowed:
            return False
        return not end.findings and not end.given_up

    def run(
        self, todo: Sequence[OperationSequence], on_progress: OperationsProgress, interrupts: Interrupts
    ) -> OperationsReport:
        """Run sequences one after the other; an interrupt ends it early."""
        report, started = self.report, time.perf_counter()
        try:
            for sequence in todo:
                self._try(sequence)
                report.seconds = time.perf_counter() - started
                on_progress(report, len(todo))
                interrupts.raise_if_requested()
        except KeyboardInterrupt:
            report.is_interrupted = True
        report.left = len(todo) - len(report.tried)
        return report

    def _try(self, sequence: OperationSequence) -> None:
        self.report.tried.append(sequence)
        try:
            findings = self._checked(sequence)
        except NotAllowed as error:
            self.report.rejected[str(sequence)] = str(error)
            return
        if findings:
            self.report.failures.append(self._shrunk(OperationsFailure(sequence, findings)))

    def _shrunk(self, failure: OperationsFailure) -> OperationsFailure:
        """Return the shortest sequence with the same end that still fails."""
        for shorter in failure.sequence.shorter():
            try:
                findings = self._checked(shorter)
            except NotAllowed:
                continue
            if findings:
                return self._shrunk(OperationsFailure(shorter, findings))
        return failure

    def _checked(self, sequence: OperationSequence) -> list[Finding]:
        end = self._direct_end(sequence)
        if end.findings or sequence.steps == sequence.direct.steps:
            return end.findings
        outcome, findings = self._run(sequence, self._seed)
        if outcome is None or findings:
            return findings
        if end.given_up and outcome.given_up:
            reasons = ", ".join(dict.fromkeys(end.given_up.values()))
            raise NotAllowed(f"the operator gives up on this spec: {reasons}")
        wanted, found = (without_generations(mask(state, end.volatile)) for state in (end.state, outcome.state))
        if wanted == found:
            return []
        told = difference(wanted, found, ("created at once", "after these steps"))
        return [
            Finding("O9", f"the cluster ends differently than if the object is created with its last spec:\n{told}")
        ]

    def _direct_end(self, sequence: OperationSequence) -> _End:
        """Return the end of the shortest way to the same spec."""
        direct = sequence.direct
        known = self._ends.get(str(direct))
        if known is None:
            outcome, findings = self._run(direct, self._seed)
            other, _ = self._run(direct, self._seed + 1)
            if outcome is None or other is None or findings:
                known = _End([], {}, findings, {})
            else:
                known = _End(outcome.state, learn_volatile(outcome.state, other.state), [], outcome.given_up)
            self._ends[str(direct)] = known
        return known

    def _run(self, sequence: OperationSequence, seed: int) -> tuple[Outcome | None, list[Finding]]:
        kind = self._kinds.get(sequence.kind)
        if kind is None:
            raise ConfigError(f"the operator reconciles no custom kind {sequence.kind}: {', '.join(self._kinds)}")
        scenario = Player(sequence, kind.resource.gvk, is_namespaced=kind.resource.namespaced)
        try:
            outcome = run_plan(self._world, self._factory, scenario, Plan(), seed=seed, invariants=self._invariants)
        except Stuck as error:
            self._world = World(self._factory.original())
            return None, [Finding("O3", str(error))]
        if isinstance(outcome.error, NotAllowed):
            raise outcome.error
        return outcome, judge_undisturbed(outcome, self._expected)
