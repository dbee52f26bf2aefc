"""Which faults to try: every kind at every step of a recorded run. Pure: no event loop, no randomness.

A fault is written as ``kind@place:number``, such as ``crash-after@write:3``; one that lasts until a later event has
``..count`` behind it, and one that shows an old state names the version. A plan is one fault, or several with `` + ``
between them. That text is all that is needed to run a plan again.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from difflib import get_close_matches
from itertools import islice
from typing import assert_never, get_args

from msgspec import Struct

from steersman.errors import ConfigError
from steersman.randomness import Randomness
from steersman.simulation.faults.kinds import KINDS, FaultKind, Place, Repeats
from steersman.simulation.faults.recording import EventStep, ReadStep, Recording, WriteStep

#: How many later events of the same object a watch may miss in one plan.
_MOST_MISSED = 3
#: How many faults a random walk may have.
_MOST_FAULTS = 4
#: How many orders of arrival are tried.
_ORDERS = 5

_FAULT = re.compile(r"(?P<kind>[a-z-]+)@(?P<place>[a-z]+):(?P<number>\d+)(?:\.\.(?P<until>\d+))?(?:,(?P<view>[^ ]+))?")


class View(Struct, frozen=True):
    """An old state of one collection."""

    collection: str
    version: str

    def __str__(self) -> str:
        return f"{self.collection}@{self.version}"


class Fault(Struct, frozen=True):
    """One fault at one step."""

    kind: str
    place: Place
    number: int
    #: How many further events of the watch pass before it ends; 0 where that does not matter.
    until: int = 0
    view: View | None = None

    def __str__(self) -> str:
        until = f"..{self.until}" if self.until else ""
        view = f",{self.view}" if self.view is not None else ""
        return f"{self.kind}@{self.place}:{self.number}{until}{view}"

    @property
    def about(self) -> FaultKind:
        """The kind of this fault, from the catalogue."""
        return KINDS[self.kind]


class Plan(Struct, frozen=True):
    """Faults that strike in one run; none for an undisturbed one."""

    faults: tuple[Fault, ...] = ()

    def __str__(self) -> str:
        return " + ".join(map(str, self.faults)) or "undisturbed"

    def at(self, place: Place, number: int) -> Fault | None:
        """Return the fault that strikes at a step."""
        for fault in self.faults:
            if fault.number == number and fault.place == place:
                return fault
        return None

    def has(self, kind: str) -> bool:
        """Return whether any fault is of a kind."""
        return any(fault.kind == kind for fault in self.faults)

    @property
    def seed(self) -> int:
        """The order in which things arrive; 0 for the order in which they were sent."""
        return next((fault.number for fault in self.faults if fault.place == "seed"), 0)

    @property
    def replicas(self) -> int:
        """How many replicas of the operator run."""
        return max((fault.about.replicas for fault in self.faults), default=1)

    @property
    def repeats(self) -> Repeats:
        """What the operator may do more often under the plan than without it."""
        return max((fault.about.repeats for fault in self.faults), key=get_args(Repeats).index, default="nothing")


def parse_plan(text: str) -> Plan:
    """Parse a plan as ``str(plan)`` writes it."""
    return Plan(tuple(_parse_fault(part.strip()) for part in text.split(" + ")))


def _parse_fault(text: str) -> Fault:
    found = _FAULT.fullmatch(text)
    kind = KINDS.get(found["kind"]) if found is not None else None
    if found is None or kind is None or kind.place != found["place"] or found["number"] == "0":
        meant = "" if kind is not None else _meant(text.partition("@")[0])
        raise ConfigError(
            f"{text!r} is not a plan{meant}: write it as 'crash-after@write:3'; kinds of faults: {', '.join(KINDS)}"
        )
    view = None
    if found["view"]:
        collection, _, version = found["view"].rpartition("@")
        view = View(collection, version)
    return Fault(kind.name, kind.place, int(found["number"]), int(found["until"] or 0), view)


def _meant(name: str) -> str:
    """Return the question for the kind whose name is nearest to a misspelled one; empty if none is near."""
    near = get_close_matches(name, KINDS, n=1)
    return f" (did you mean {near[0]}?)" if near else ""


def chosen_kinds(names: Iterable[str] | str) -> list[FaultKind]:
    """Return the kinds of these names or numbers, in the order of the catalogue; ``all`` leaves out the exotic ones."""
    wanted = [names] if isinstance(names, str) else list(names)
    known = {*KINDS, "all", *(kind.number for kind in KINDS.values())}
    if unknown := [name for name in wanted if name not in known]:
        raise ConfigError(
            f"{unknown[0]!r} is not a kind of fault{_meant(unknown[0])}: pass all, F1 to F14, or {', '.join(KINDS)}"
        )
    return [
        kind
        for kind in KINDS.values()
        if {kind.name, kind.number} & set(wanted) or ("all" in wanted and not kind.exotic)
    ]


def single_faults(recording: Recording, kinds: Iterable[FaultKind]) -> list[Plan]:
    """Return a plan for each kind of fault at each step where it can strike."""
    return [Plan((fault,)) for kind in kinds for fault in _faults(recording, kind)]


def pairs(plans: list[Plan], most: int) -> list[Plan]:
    """Return up to ``most`` plans of two single faults, spread evenly over all pairs."""
    count = len(plans) * (len(plans) - 1) // 2
    stride = max(count // most, 1) if most else count + 1
    every = (Plan((*one.faults, *other.faults)) for at, one in enumerate(plans) for other in plans[at + 1 :])
    return list(islice(islice(every, 0, None, stride), most))


def random_walks(plans: list[Plan], count: int, seed: int) -> list[Plan]:
    """Return plans of several single faults each, chosen by chance; the same seed gives the same ones."""
    chance = Randomness(seed)
    most = min(_MOST_FAULTS, len(plans))
    return [
        Plan(
            tuple(
                fault for plan in _sample(plans, 2 + int(chance.between(0, most - 1)), chance) for fault in plan.faults
            )
        )
        for _ in range(count if most > 1 else 0)
    ]


def _sample(plans: list[Plan], count: int, chance: Randomness) -> list[Plan]:
    """Return different plans, in the order of the steps that all of them have in common: that of the list."""
    chosen = {int(chance.between(0, len(plans))) for _ in range(count)}
    return [plans[number] for number in sorted(chosen)]


def _faults(recording: Recording, kind: FaultKind) -> Iterator[Fault]:
    special = _SPECIAL.get(kind.name)
    if special is not None:
        yield from special(recording, kind)
    else:
        yield from (Fault(kind.name, kind.place, number) for number in _steps(recording, kind))


def _steps(recording: Recording, kind: FaultKind) -> list[int]:
    """Return the numbers of the steps at which a kind of fault can strike."""
    match kind.place:
        case "write":
            return [step.number for step in recording.writes if _can_strike(kind, step)]
        case "read":
            return [step.number for step in recording.reads if _can_strike(kind, step)]
        case "event":
            return [step.number for step in recording.events]
        case "call":
            return [step.number for step in recording.calls]
        case "await":
            return [step.number for step in recording.awaits]
        case "rest":
            return [step.number for step in recording.rests]
        case "seed":
            return list(range(1, _ORDERS + 1))
        case _:
            assert_never(kind.place)


def _can_strike(kind: FaultKind, step: WriteStep | ReadStep) -> bool:
    if isinstance(step, WriteStep) and step.method == "CALL":
        return kind.name in {"crash-before", "crash-after"}  # a function, not a request: nothing answers
    return not (step.is_external and kind.is_of_api_server)


def _apart(recording: Recording, kind: FaultKind) -> Iterator[Fault]:
    """Yield the await points at which a crash differs from any other.

    A crash leaves nothing but what is outside of the process, and that changes only with a write, be it of the operator
    or of another client, and with time. So await points at the same time and the same version of the server are equal,
    and equal to a crash at a write or event of that moment.
    """
    seen = set(recording.crash_moments)
    for step in recording.awaits:
        if step.moment not in seen:
            seen.add(step.moment)
            yield Fault(kind.name, "await", step.number)


def _on_named(recording: Recording, kind: FaultKind) -> Iterator[Fault]:
    """Yield the writes to named objects: only those can another client change before."""
    yield from (
        Fault(kind.name, "write", step.number) for step in recording.writes if step.has_name and not step.is_external
    )


def _with_objects(recording: Recording, kind: FaultKind) -> Iterator[Fault]:
    """Yield the steps at which there is an object of a user."""
    steps: Sequence[WriteStep | EventStep] = recording.writes if kind.place == "write" else recording.events
    yield from (Fault(kind.name, kind.place, step.number) for step in steps if step.has_objects)


def _missed(recording: Recording, kind: FaultKind) -> Iterator[Fault]:
    """Yield watches that miss an event and end with a later one of the same object: the states between stay unseen."""
    for step in recording.events:
        later = [one for one in recording.events[step.number :] if one.collection == step.collection]
        ends = (count for count, one in enumerate(later, start=1) if one.path == step.path)
        yield from (Fault(kind.name, "event", step.number, until=count) for count in islice(ends, _MOST_MISSED))


def _views(recording: Recording, kind: FaultKind) -> Iterator[Fault]:
    """Yield at each rest every state of every collection that is older than the present one."""
    for rest in recording.rests:
        seen = recording.events[: rest.events]
        for collection, start in recording.watched.items():
            yield from (
                Fault(kind.name, "rest", rest.number, view=View(collection, version))
                for version in _versions(start, [one for one in seen if one.collection == collection])
            )


def _versions(start: str, events: list[EventStep]) -> list[str]:
    """Return the versions of the states before the last one."""
    return [start, *(event.version for event in events)][:-1]


_SPECIAL: dict[str, Callable[[Recording, FaultKind], Iterator[Fault]]] = {
    "competing-write": _on_named,
    "crash-at-await": _apart,
    "recreated": _with_objects,
    "recreated-at-event": _with_objects,
    "events-unobserved": _missed,
    "stale-restart": _views,
}
