"""What is wrong with a run, judged against an undisturbed one. Pure.

========  ==========================================================================================
scenario  the scenario itself failed: an assertion, or it waited in vain
O1        the cluster ends as without the fault
O2        no object is created or deleted more often, nor updated unless the fault shows an old state
O3        everything comes to rest
O4        at rest nothing is written
O5        invariants hold after every write
O6        no replica writes without holding the lease, and no two reconcile an object at the same time
O7        no reconcile fails with an exception of its own, no task is left behind
O8        nothing is left whose owner is gone
========  ==========================================================================================
"""

from collections.abc import Iterator

from msgspec import Struct

from steersman.errors import SteersmanError, WaitTimeout
from steersman.simulation.event_loop import Stuck, WriteStorm
from steersman.simulation.faults.kinds import Repeats
from steersman.simulation.oracles.end_states import Volatile, difference, mask, without_generations
from steersman.simulation.runs.run import Outcome
from steersman.testing.crashes.change_counts import Verb, excess
from steersman.testing.failures import Expected

#: Changes that must not happen more often, by what a fault lets an operator repeat.
_COUNTED: dict[Repeats, frozenset[Verb]] = {
    "nothing": frozenset({"created", "updated", "deleted"}),
    "updates": frozenset({"created", "deleted"}),
    "everything": frozenset(),
}


class Finding(Struct, frozen=True):
    """One thing that is wrong."""

    oracle: str
    text: str

    def __str__(self) -> str:
        return f"{self.oracle}: {self.text}"


class Reference(Struct, frozen=True):
    """What an undisturbed run looks like."""

    outcome: Outcome
    volatile: Volatile
    expected: Expected = ()


def judge_undisturbed(outcome: Outcome, expected: Expected) -> list[Finding]:
    """Return what is wrong with the operator without any fault."""
    return [
        *_error(outcome),
        *_machinery(outcome, expected, is_disturbed=False),
        *(Finding("O4", f"{write} is written although everything is at rest") for write in outcome.late_writes[:5]),
        *(Finding("O8", f"{name} outlives its owner") for name in outcome.orphans),
    ]


def judge(reference: Reference, outcome: Outcome) -> list[Finding]:
    """Return what is wrong with a disturbed run."""
    if outcome.is_void:
        return []
    found = [*_error(outcome), *_machinery(outcome, reference.expected, is_disturbed=True)]
    known = reference.outcome
    if outcome.error is None:
        expected, state = mask(known.state, reference.volatile), mask(outcome.state, reference.volatile)
        if outcome.plan.repeats == "everything":
            expected, state = without_generations(expected), without_generations(state)
        if expected != state:
            found.append(Finding("O1", f"the cluster ends differently:\n{difference(expected, state)}"))
        if len(outcome.late_writes) > len(known.late_writes):
            found.append(Finding("O4", f"{outcome.late_writes[0]} is written although everything is at rest"))
        found += [Finding("O8", f"{name} outlives its owner") for name in outcome.orphans]
    return [*found, *_excess(known, outcome)]


def _excess(known: Outcome, outcome: Outcome) -> Iterator[Finding]:
    if any(fault.view is not None for fault in outcome.plan.faults):
        # An old state makes any operator repeat itself; only what is lost by it is an error.
        yield from (Finding("O2", f"{name} was deleted because of the stale read") for name in outcome.destroyed)
        return
    verbs = _COUNTED[outcome.plan.repeats]
    for text in excess(known.changes, outcome.changes, verbs):
        yield Finding("O2", text.replace("without a crash", "without the fault"))


def _error(outcome: Outcome) -> Iterator[Finding]:
    match outcome.error:
        case None:
            return
        case WaitTimeout() | Stuck() as error:
            yield Finding("O3", str(error))
        case WriteStorm() as error:
            yield Finding("O4", str(error))
        case error:
            yield Finding("scenario", f"{type(error).__name__}: {error}")


def _machinery(outcome: Outcome, expected: Expected, *, is_disturbed: bool) -> Iterator[Finding]:
    for failure in outcome.failures:
        # A fault may make requests fail; any other exception is a bug that the fault brought to light.
        is_expected = isinstance(failure.error, expected) or (
            is_disturbed and isinstance(failure.error, SteersmanError)
        )
        if not is_expected:
            yield Finding("O7", f"a reconcile failed: {failure}")
            break
    yield from (Finding("O5", text) for text in outcome.violations[:1])
    yield from (Finding("O6", text) for text in (*outcome.deposed_writes[:3], *outcome.overlaps[:3]))
    yield from (Finding("O7", text) for text in outcome.leaks[:3])
