"""`EventCorrelator`: which events are written: repeated ones become a series, similar ones are combined.

Pure: it decides, and ``events`` sends. The limits are client-go's, which servers are sized for.
"""

from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Generic, Literal, TypeAlias, TypeVar

#: Number of objects, of series and of groups of similar events that are remembered.
REMEMBERED = 4096
#: Different notes for one reason within the interval before they are combined.
SIMILAR_EVENTS, SIMILAR_SECONDS = 10, 600.0
#: Writes about one object at once, and seconds until another one is allowed.
BURST, REFILL_SECONDS = 25, 300.0
#: Seconds without a new event after which a series ends, and seconds between updates of a longer one.
SERIES_OVER_SECONDS, SERIES_REFRESH_SECONDS = 360.0, 1800.0

#: Maximum lengths that the server accepts.
_NOTE, _NAME = 1024, 128
_COMBINED = "(combined from similar events): "

K = TypeVar("K")
V = TypeVar("V")

EventType = Literal["Normal", "Warning"]


@dataclass(frozen=True, slots=True)
class Regarding:
    """The object that an event is about."""

    api_version: str
    kind: str
    name: str
    namespace: str = ""
    uid: str = ""


@dataclass(frozen=True, slots=True)
class RecordedEvent:
    """An event as the reconciler records it."""

    regarding: Regarding
    type: EventType
    reason: str
    note: str
    action: str = "Reconcile"
    related: Regarding | None = None

    def within_limits(self) -> "RecordedEvent":
        """Return the event with texts shortened to what the server accepts."""
        return replace(
            self,
            reason=self.reason[:_NAME] or "Unknown",
            action=self.action[:_NAME] or "Reconcile",
            note=_shortened(self.note),
        )


def _shortened(note: str) -> str:
    data = note.encode()
    return note if len(data) <= _NOTE else data[: _NOTE - 3].decode("utf-8", "ignore") + "…"


@dataclass(frozen=True, slots=True)
class Create:
    """Write a new event."""

    id: int
    event: RecordedEvent
    at: datetime


@dataclass(frozen=True, slots=True)
class Extend:
    """Update the series of an event."""

    id: int
    event: RecordedEvent
    count: int
    last: datetime


Write: TypeAlias = Create | Extend


@dataclass(slots=True)
class _Series:
    id: int
    event: RecordedEvent
    count: int
    seen: float
    last: datetime
    written: float
    #: The count that was written last.
    written_count: int


class _Lru(Generic[K, V]):
    """Remember a limited number of entries, the most recently used ones."""

    def __init__(self) -> None:
        self.entries: OrderedDict[K, V] = OrderedDict()

    def get(self, key: K, make: Callable[[], V]) -> V:
        if key in self.entries:
            self.entries.move_to_end(key)
            return self.entries[key]
        if len(self.entries) >= REMEMBERED:
            self.entries.popitem(last=False)
        value = self.entries[key] = make()
        return value


@dataclass(slots=True)
class _Bucket:
    """Token bucket of the writes about one object."""

    tokens: float
    filled: float

    def take(self, now: float) -> bool:
        self.tokens = min(float(BURST), self.tokens + (now - self.filled) / REFILL_SECONDS)
        self.filled = now
        if self.tokens < 1.0:
            return False
        self.tokens -= 1.0
        return True


@dataclass(slots=True)
class _Similar:
    """Notes of one reason within the current interval."""

    began: float
    notes: set[str]


class EventCorrelator:
    """Decide which recorded events are written. Memory is bounded."""

    def __init__(self) -> None:
        self._series: _Lru[RecordedEvent, _Series] = _Lru()
        self._similar: _Lru[RecordedEvent, _Similar] = _Lru()
        self._buckets: _Lru[Regarding, _Bucket] = _Lru()
        self._last_id = 0

    def __repr__(self) -> str:
        return f"<EventCorrelator series={len(self._series.entries)} objects={len(self._buckets.entries)}>"

    def add(self, event: RecordedEvent, *, now: float, wall: datetime) -> Write | None:
        """Add an event; return what to write now, if anything. ``now`` is monotonic, ``wall`` is what is written."""
        event = self._combined(event.within_limits(), now)
        key = _without_note(event) if event.note.startswith(_COMBINED) else event
        series = self._series.entries.get(key)
        if series is None or now - series.seen >= SERIES_OVER_SECONDS:
            return self._begin(key, event, now, wall)
        self._series.entries.move_to_end(key)
        series.count += 1
        series.seen, series.last = now, wall
        # The second event starts the series and is written; later ones are counted and written periodically.
        is_due = series.written_count == 1 or now - series.written >= SERIES_REFRESH_SECONDS
        return self._extended(series, now) if is_due else None

    def tick(self, *, now: float) -> list[Write]:
        """Return the last updates of series that have ended, and forget them, and updates of long series."""
        writes: list[Write] = []
        for key, series in list(self._series.entries.items()):
            is_over = now - series.seen >= SERIES_OVER_SECONDS
            is_due = series.written_count < series.count and now - series.written >= SERIES_REFRESH_SECONDS
            if (is_over and series.written_count < series.count) or is_due:
                write = self._extended(series, now)
                writes += [write] if write is not None else []
            if is_over:
                del self._series.entries[key]
        return writes

    def _begin(self, key: RecordedEvent, event: RecordedEvent, now: float, wall: datetime) -> Write | None:
        if not self._allows(event.regarding, now):
            return None
        self._last_id += 1
        self._series.entries.pop(key, None)
        self._series.get(key, lambda: _Series(self._last_id, event, 1, now, wall, now, 1))
        return Create(self._last_id, event, wall)

    def _extended(self, series: _Series, now: float) -> Write | None:
        if not self._allows(series.event.regarding, now):
            return None
        series.written, series.written_count = now, series.count
        return Extend(series.id, series.event, series.count, series.last)

    def _allows(self, regarding: Regarding, now: float) -> bool:
        return self._buckets.get(regarding, lambda: _Bucket(float(BURST), now)).take(now)

    def _combined(self, event: RecordedEvent, now: float) -> RecordedEvent:
        """Return the event, or a combined one if there were too many similar events."""
        similar = self._similar.get(_without_note(event), lambda: _Similar(now, set()))
        if now - similar.began > SIMILAR_SECONDS:
            similar.began, similar.notes = now, set()
        if event.note in similar.notes:
            return event
        if len(similar.notes) >= SIMILAR_EVENTS:
            return replace(event, note=_shortened(_COMBINED + event.note))
        similar.notes.add(event.note)
        return event


def _without_note(event: RecordedEvent) -> RecordedEvent:
    return replace(event, note="")
