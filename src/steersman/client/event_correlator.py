"""Which events are worth writing: repeated ones become a series, similar ones are combined, floods are held back.

Pure: it decides, and ``events`` sends. Its numbers are client-go's, which servers are sized for.
"""

from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Generic, Literal, TypeAlias, TypeVar

#: Objects, series and groups of similar events that are remembered, each.
REMEMBERED = 4096
#: Different notes for one reason within the interval before they are combined.
SIMILAR_EVENTS, SIMILAR_SECONDS = 10, 600.0
#: Writes about one object at once, and seconds until the next one is free again.
BURST, REFILL_SECONDS = 25, 300.0
#: A series without a new event for so long is over; a longer one is brought up to date so often.
SERIES_OVER_SECONDS, SERIES_REFRESH_SECONDS = 360.0, 1800.0

#: What the server takes at most.
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
class Happening:
    """Something that happened to an object, as its reconciler tells it."""

    regarding: Regarding
    type: EventType
    reason: str
    note: str
    action: str = "Reconcile"
    related: Regarding | None = None

    def within_limits(self) -> "Happening":
        """Shorten what the server would refuse."""
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
    happening: Happening
    at: datetime


@dataclass(frozen=True, slots=True)
class Extend:
    """Bring the series of an event up to date."""

    id: int
    happening: Happening
    count: int
    last: datetime


Write: TypeAlias = Create | Extend


@dataclass(slots=True)
class _Series:
    id: int
    happening: Happening
    count: int
    seen: float
    last: datetime
    written: float
    #: How many of ``count`` have been written.
    written_count: int


class _Lru(Generic[K, V]):
    """Remembers the last so many entries."""

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
    """What one object may still write."""

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
    """Notes that one reason had within the present interval."""

    began: float
    notes: set[str]


class EventCorrelator:
    """Turns what happened into what is written. Bounded memory, whatever happens."""

    def __init__(self) -> None:
        self._series: _Lru[Happening, _Series] = _Lru()
        self._similar: _Lru[Happening, _Similar] = _Lru()
        self._buckets: _Lru[Regarding, _Bucket] = _Lru()
        self._last_id = 0

    def __repr__(self) -> str:
        return f"<EventCorrelator series={len(self._series.entries)} objects={len(self._buckets.entries)}>"

    def add(self, happening: Happening, *, now: float, wall: datetime) -> Write | None:
        """Take a happening; say what to write now, if anything. ``now`` is monotonic, ``wall`` is what is written."""
        happening = self._combined(happening.within_limits(), now)
        key = _without_note(happening) if happening.note.startswith(_COMBINED) else happening
        series = self._series.entries.get(key)
        if series is None or now - series.seen >= SERIES_OVER_SECONDS:
            return self._begin(key, happening, now, wall)
        self._series.entries.move_to_end(key)
        series.count += 1
        series.seen, series.last = now, wall
        # The second event makes it a series, which is news; later ones are counted and written now and then.
        is_due = series.written_count == 1 or now - series.written >= SERIES_REFRESH_SECONDS
        return self._extended(series, now) if is_due else None

    def tick(self, *, now: float) -> list[Write]:
        """Give the last word about series that are over, and forget them; and news of those that go on for long."""
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

    def _begin(self, key: Happening, happening: Happening, now: float, wall: datetime) -> Write | None:
        if not self._allows(happening.regarding, now):
            return None
        self._last_id += 1
        self._series.entries.pop(key, None)
        self._series.get(key, lambda: _Series(self._last_id, happening, 1, now, wall, now, 1))
        return Create(self._last_id, happening, wall)

    def _extended(self, series: _Series, now: float) -> Write | None:
        if not self._allows(series.happening.regarding, now):
            return None
        series.written, series.written_count = now, series.count
        return Extend(series.id, series.happening, series.count, series.last)

    def _allows(self, regarding: Regarding, now: float) -> bool:
        return self._buckets.get(regarding, lambda: _Bucket(float(BURST), now)).take(now)

    def _combined(self, happening: Happening, now: float) -> Happening:
        """Give a happening, or once there were too many like it, one that stands for all of them."""
        similar = self._similar.get(_without_note(happening), lambda: _Similar(now, set()))
        if now - similar.began > SIMILAR_SECONDS:
            similar.began, similar.notes = now, set()
        if happening.note in similar.notes:
            return happening
        if len(similar.notes) >= SIMILAR_EVENTS:
            return replace(happening, note=_shortened(_COMBINED + happening.note))
        similar.notes.add(happening.note)
        return happening


def _without_note(happening: Happening) -> Happening:
    return replace(happening, note="")
