"""`ChangeLog`: which objects of the shadow a plan has changed, what they were before, and whose runs changed them."""

from collections.abc import Mapping
from contextvars import ContextVar
from typing import NamedTuple

from steersman.apiserver.storage.history import Event
from steersman.history.records import ObjectName


class Place(NamedTuple):
    """Where an object is stored: the stored name of its resource, its namespace and its name."""

    resource: str
    namespace: str
    name: str


class RunOf(NamedTuple):
    """The reconciler and the object of a run."""

    #: Position of the reconciler in the plan: reconcilers of two operators may have one name.
    number: int
    controller: str
    object: ObjectName


#: The run that the current code belongs to. Requests do not carry it, and a reconciler may start tasks and threads of
#: its own: both inherit the context, so that each write finds the run that it belongs to.
current_run: ContextVar[RunOf | None] = ContextVar("current_run", default=None)


class AcceptedWrite(NamedTuple):
    """A write request that succeeded, whatever it changed."""

    run: RunOf | None
    method: str
    subresource: str


class ChangeLog:
    """The changes of one plan. Objects that are only loaded do not count."""

    def __init__(self) -> None:
        #: The object before its first change; ``None`` if it did not exist. In the order of the first changes.
        self.before: dict[Place, bytes | None] = {}
        #: Objects after a proposed change of them, from which the operators start.
        self.given: dict[Place, bytes | None] = {}
        #: The runs that changed an object, in order.
        self.runs: dict[Place, dict[RunOf | None, None]] = {}
        #: The different write requests to an object that succeeded, also those that changed nothing.
        self.accepted: dict[Place, dict[AcceptedWrite, None]] = {}
        #: Number of changes so far, by the run that made them and of all.
        self.counts: dict[RunOf | None, int] = {}
        self.total = 0
        #: The object that each run changed last.
        self.latest: dict[RunOf | None, Place] = {}
        #: Objects that were deleted because their owners were.
        self.cascades: set[Place] = set()
        #: Objects with a write that the live server did not judge, and why.
        self.judged_locally: dict[Place, str] = {}
        #: The uids of deleted objects whose dependents have not been looked at.
        self.removed: list[str] = []

    def observe(self, event: Event) -> None:
        """Record a write to the shadow."""
        record, previous = event.record, event.previous
        place = Place(event.resource, record.namespace, record.name)
        if place not in self.before:
            self.before[place] = None if previous is None else previous.raw
        run = current_run.get()
        self.runs.setdefault(place, {})[run] = None
        self.counts[run] = self.counts.get(run, 0) + 1
        self.total += 1
        self.latest[run] = place
        if event.type == "DELETED":
            self.removed.append(record.uid)

    def accept(self, place: Place, method: str, subresource: str) -> None:
        """Record a write request of the current run that succeeded."""
        self.accepted.setdefault(place, {})[AcceptedWrite(current_run.get(), method, subresource)] = None

    def take_as_given(self, states: Mapping[Place, bytes | None]) -> None:
        """Compare later changes of objects with these states, which a person proposes, and forget who wrote them."""
        self.given |= states
        for place in states:
            self.runs.pop(place, None)
            self.accepted.pop(place, None)

    def origin(self, place: Place) -> bytes | None:
        """Return a changed object as its operators first see it; ``None`` if it did not exist."""
        return self.given[place] if place in self.given else self.before[place]

    def is_changed(self, place: Place) -> bool:
        """Return whether an object differs from the live one, or may: the live server cannot judge writes to it."""
        return place in self.before

    def is_new(self, place: Place) -> bool:
        """Return whether an object exists only in the plan."""
        return self.before.get(place, b"") is None
