"""Finding the steps of a plan again in a run whose steps come in another order. Pure.

A plan names the nth write of the recorded run. Programs with threads do not repeat the order of their writes, so the
nth write of the next run may be another one. What does repeat is how often a program has written to one object before:
a step is found by what it is (the method and path of a write, the object and type of an event), and by how many steps
that are the same came before it. In the same way an old state is found by the event that made it, because resource
versions differ between runs.
"""

from collections import Counter
from collections.abc import Iterable
from typing import TypeAlias

from steersman.simulation.faults.plans import Fault, Plan, View
from steersman.simulation.faults.recording import EventStep, ReadStep, Recording, WriteStep

Step: TypeAlias = WriteStep | ReadStep | EventStep
#: What a step is, and how many steps that are the same came before it, itself included.
Occurrence: TypeAlias = tuple[tuple[str, ...], int]


class StepMatcher:
    """The faults of one plan, each at its step; counts the steps of one run."""

    def __init__(self, plan: Plan, recorded: Recording | None) -> None:
        self._seen: Counter[tuple[str, ...]] = Counter()
        self._faults: dict[Occurrence, Fault] = {}
        for fault in plan.faults:
            steps = _steps(recorded, fault.place) if recorded is not None else []
            if 0 < fault.number <= len(steps):
                self._faults[occurrence(steps, steps[fault.number - 1])] = fault

    def fault_at(self, step: Step) -> Fault | None:
        """Return the fault that strikes at a step, and count the step."""
        same = identity(step)
        self._seen[same] += 1
        return self._faults.get((same, self._seen[same]))


def identity(step: Step) -> tuple[str, ...]:
    """Return the identity of a step, independent of its position in the run."""
    match step:
        case WriteStep():
            return ("write", step.method, step.target)
        case ReadStep():
            return ("read", step.target)
        case EventStep():
            return ("event", step.collection, step.type, step.path)


def occurrence(steps: Iterable[Step], step: Step) -> Occurrence:
    """Return the identity of a step, and its number among the steps with the same identity."""
    same = identity(step)
    return same, sum(1 for one in steps if one.number <= step.number and identity(one) == same)


def same_view(view: View, recorded: Recording, current: Recording) -> View | None:
    """Return the state in this run that a view of the recorded run stands for; ``None`` if this run never had it."""
    if view.version == recorded.watched.get(view.collection):
        start = current.watched.get(view.collection)
        return View(view.collection, start) if start else None
    made = next((one for one in _events(recorded, view.collection) if one.version == view.version), None)
    if made is None:
        return None
    wanted = occurrence(_events(recorded, view.collection), made)
    events = _events(current, view.collection)
    found = next((one for one in events if occurrence(events, one) == wanted), None)
    return View(view.collection, found.version) if found is not None else None


def _events(recording: Recording, collection: str) -> list[EventStep]:
    return [one for one in recording.events if one.collection == collection]


def _steps(recording: Recording, place: str) -> list[Step]:
    match place:
        case "write":
            return list(recording.writes)
        case "read":
            return list(recording.reads)
        case "event":
            return list(recording.events)
        case _:
            return []
