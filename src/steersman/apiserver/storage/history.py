"""What happened to the objects of one resource, as far back as it is kept."""

from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Literal

from steersman.apiserver.storage.record import Record
from steersman.errors import Expired

EventType = Literal["ADDED", "MODIFIED", "DELETED"]


@dataclass(frozen=True, slots=True, kw_only=True)
class HistoryLimits:
    """How much history a resource keeps: at most so many events, none older than so many seconds."""

    events: int = 10_000
    seconds: float = 300.0

    def __post_init__(self) -> None:
        if self.events < 1 or self.seconds <= 0:
            raise ValueError(f"history needs room for an event and time to read it, got {self}")


class Event:
    """One write. ``record`` is the state after it; of a deletion, the last state with the deletion's version."""

    __slots__ = ("previous", "record", "resource", "time", "type")

    def __init__(self, kind: EventType, resource: str, record: Record, previous: Record | None, time: float) -> None:
        self.type: EventType = kind
        self.resource = resource
        self.record = record
        #: The state before it; ``None`` of a creation.
        self.previous = previous
        self.time = time

    @property
    def version(self) -> int:
        """The version that this write made."""
        return self.record.version

    def __repr__(self) -> str:
        return f"<Event {self.type} {self.resource} {self.record.path} at {self.version}>"


def _version_of(event: Event) -> int:
    return event.record.version


@dataclass(slots=True)
class History:
    """The newest events of one resource, in the order of their versions.

    Invariant: every event newer than ``floor`` is here, and none that is not.
    """

    limits: HistoryLimits
    floor: int
    _events: list[Event] = field(default_factory=list)
    #: Events before this index were dropped; the list is cut when they are the greater part of it.
    _start: int = 0

    def append(self, event: Event) -> None:
        """Add the newest event and forget what is over the limits."""
        self._events.append(event)
        self.forget(event.time)

    def forget(self, now: float) -> None:
        """Forget what is over the limits at a time."""
        start = max(self._start, len(self._events) - self.limits.events)
        oldest = now - self.limits.seconds
        while start < len(self._events) and self._events[start].time < oldest:
            start += 1
        if start != self._start:
            self._drop(start)

    def expire(self) -> None:
        """Forget everything."""
        if len(self):
            self._drop(len(self._events))

    def _drop(self, start: int) -> None:
        self.floor = self._events[start - 1].version
        self._start = start
        if start * 2 > len(self._events):
            del self._events[:start]
            self._start = 0

    def since(self, version: int) -> list[Event]:
        """Return the events newer than a version; raise Expired if some of them are not stored any more."""
        if version < self.floor:
            raise Expired(f"too old resource version: {version} ({self.floor})", code=410, reason="Expired")
        return self._events[bisect_right(self._events, version, lo=self._start, key=_version_of) :]

    def copy(self) -> "History":
        """Return an independent history with the same events."""
        return History(self.limits, self.floor, self._events[self._start :])

    def __iter__(self) -> Iterator[Event]:
        return iter(self._events[self._start :])

    def __len__(self) -> int:
        return len(self._events) - self._start
