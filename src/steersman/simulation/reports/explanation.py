"""Why a plan fails, in the words of the operator's own steps. Pure."""

from collections import Counter
from collections.abc import Iterable, Iterator

from steersman.history.explanation import reconcile_lines
from steersman.simulation.faults.plans import Fault, Plan
from steersman.simulation.faults.recording import Recording, WriteStep
from steersman.simulation.oracles.judge import Finding, Reference
from steersman.simulation.runs.run import Outcome

#: Number of writes after a fault that are listed.
_MOST_WRITES = 8
#: Number of reconciles that are listed.
_MOST_RECONCILES = 4


def explain(reference: Reference, plan: Plan, findings: list[Finding], outcome: Outcome | None) -> str:
    """Return what happened, what it led to, and how the end differs."""
    recorded = reference.outcome.recording
    lines = [line for fault in plan.faults for line in _fault(fault, recorded)]
    if outcome is not None:
        lines += _consequences(plan, recorded, outcome.recording)
    lines += map(str, findings)
    return "\n".join([*lines, *_last_reconciles(outcome)] if outcome is not None else lines)


def _last_reconciles(outcome: Outcome) -> Iterator[str]:
    """Yield what the operator did last, and why, from its history."""
    last = sorted(outcome.reconciles, key=lambda reconcile: reconcile.started)[-_MOST_RECONCILES:]
    if last:
        yield "the last reconciles, from the history of the operator:"
    for reconcile in last:
        yield f"  {reconcile.object}"
        yield from (f"  {line}" for line in reconcile_lines(reconcile, reconcile.started))


def _fault(fault: Fault, recorded: Recording) -> Iterator[str]:
    yield f"{_place(fault, recorded)}: {fault.about.text}"
    if fault.view is not None:
        before = recorded.events[: recorded.rests[fault.number - 1].events]
        seen = [step for step in before if step.collection == fault.view.collection]
        known = next((step for step in seen if step.version == fault.view.version), None)
        state = f"as after {known} (version {known.version})" if known is not None else "as before the scenario"
        missing = seen[seen.index(known) + 1 :] if known is not None else seen
        yield f"stale read: {fault.view.collection} {state}; unseen: {_listed(map(str, missing))}"
    if fault.until:
        at = recorded.events[fault.number - 1]
        later = [step for step in recorded.events[fault.number :] if step.collection == at.collection][: fault.until]
        yield f"never seen: {_listed(map(str, [at, *later]))}"


def _place(fault: Fault, recorded: Recording) -> str:
    names = {
        "write": [str(step) for step in recorded.writes],
        "read": [step.target for step in recorded.reads],
        "event": [str(step) for step in recorded.events],
        "await": [str(step) for step in recorded.awaits],
        "call": [step.target for step in recorded.calls],
    }.get(fault.place, [])
    if fault.number > len(names):
        return f"{fault.place} {fault.number}"
    return f"{fault.place} {fault.number} of {len(names)}, {names[fault.number - 1]}"


def _consequences(plan: Plan, recorded: Recording, found: Recording) -> Iterator[str]:
    """Yield the writes that the operator makes only with the fault, and those that it no longer makes."""
    number = next((fault.number for fault in plan.faults if fault.place == "write"), 0)
    if number and number <= len(recorded.writes) and any(fault.kind.startswith("crash") for fault in plan.faults):
        last = recorded.writes[number - 1]
        yield f"last write of the crashed instance: {last}"
    extra = _more(found.writes, recorded.writes)
    absent = _more(recorded.writes, found.writes)
    if extra:
        yield f"writes that only happen with the fault: {_listed(extra)}"
    if absent:
        yield f"writes that never happen with the fault: {_listed(absent)}"


def _more(writes: list[WriteStep], than: list[WriteStep]) -> list[str]:
    left = Counter(map(str, than))
    found = []
    for write in map(str, writes):
        if left[write]:
            left[write] -= 1
        else:
            found.append(write)
    return found


def _listed(items: Iterable[str]) -> str:
    every = list(items)
    more = f", … ({len(every) - _MOST_WRITES} more)" if len(every) > _MOST_WRITES else ""
    return ", ".join(every[:_MOST_WRITES]) + more
