"""The newest reconciles of an operator, in memory: some of every object, bounded in number and in bytes.

Records are kept encoded. A record is then one block of bytes of a known size, costs a few microseconds to add, cannot
be changed by a reader, and is shared by every view.

What is dropped when there is no room: the oldest record of the same object beyond `PER_OBJECT`, and the oldest of all
beyond the limits of the whole. So a busy object does not push out the last words of a quiet one, until memory ends.

Thread-safe: one lock guards the books, and readers decode outside of it.
"""

import logging
from collections import OrderedDict, deque
from collections.abc import Callable, Iterator
from threading import Lock
from typing import Any, Final, TypeVar, overload

from msgspec import Struct
from msgspec.msgpack import Decoder, Encoder
from msgspec.structs import replace

from steersman.history.records import LeadershipChange, ObjectName, Reconcile, WebhookCall

#: Reconciles that are kept of one object.
PER_OBJECT: Final = 20

#: Of a record that is too large: entries of each list that are kept, and characters of each text.
_KEPT, _TEXT = 4, 100

R = TypeVar("R", Reconcile, WebhookCall, LeadershipChange)

#: Reviews of webhooks, and changes of leadership, that are kept.
_CALLS, _CHANGES = 500, 100
_log = logging.getLogger("steersman.history")


class HistoryLimits(Struct, frozen=True, kw_only=True):
    """How much is remembered."""

    per_object: int = PER_OBJECT
    records: int = 20_000
    bytes: int = 16 * 1024 * 1024
    #: Size of one record. A larger one loses its details, so that it does not push out those of all other objects.
    record_bytes: int = 8 * 1024


class _Entry(Struct, frozen=True):
    object: ObjectName
    data: bytes

    def __repr__(self) -> str:
        return f"<_Entry {self.object}>"


class History:
    """Remembers reconciles. Add from one thread or many; read from any."""

    def __init__(self, limits: HistoryLimits | None = None) -> None:
        self.limits = limits or HistoryLimits()
        self._lock = Lock()
        self._encoder = Encoder()
        #: Invariant: each number in ``_by_object`` is a key of ``_entries``, and the other way round; both are in the
        #: order of arrival, so that the oldest entry of all is also the oldest of its object.
        self._entries: OrderedDict[int, _Entry] = OrderedDict()
        self._by_object: dict[ObjectName, deque[int]] = {}
        self._next = 0
        self._bytes = 0
        self._calls: deque[WebhookCall] = deque(maxlen=_CALLS)
        self._leadership: deque[LeadershipChange] = deque(maxlen=_CHANGES)
        self._listeners: dict[type, tuple[Callable[[Any], None], ...]] = {}

    def add(self, reconcile: Reconcile) -> None:
        """Remember a reconcile and notify the listeners."""
        data = self._encoder.encode(reconcile)
        if len(data) > self.limits.record_bytes:
            data = self._encoder.encode(_without_details(reconcile))
        with self._lock:
            self._entries[self._next] = _Entry(reconcile.object, data)
            numbers = self._by_object.setdefault(reconcile.object, deque())
            numbers.append(self._next)
            self._next += 1
            self._bytes += len(data)
            if len(numbers) > self.limits.per_object:
                self._bytes -= len(self._entries.pop(numbers.popleft()).data)
            while len(self._entries) > self.limits.records or self._bytes > self.limits.bytes:
                self._drop_oldest()
        self._notify(reconcile)

    def add_call(self, call: WebhookCall) -> None:
        """Remember a review of a webhook, and notify the listeners."""
        self._calls.append(call)
        self._notify(call)

    def add_leadership(self, change: LeadershipChange) -> None:
        """Remember that this process began or ceased to lead, and notify the listeners."""
        self._leadership.append(change)
        self._notify(change)

    def _notify(self, record: object) -> None:
        for listener in self._listeners.get(type(record), ()):
            try:
                listener(record)
            except Exception:  # noqa: BLE001 - a view must not keep the others from seeing the record
                _log.exception("a listener of the history failed")

    @overload
    def listen(self, listener: Callable[[Reconcile], None]) -> Callable[[], None]: ...

    @overload
    def listen(self, listener: Callable[[R], None], to: type[R]) -> Callable[[], None]: ...

    def listen(self, listener: Callable[[Any], None], to: type = Reconcile) -> Callable[[], None]:
        """Notify a listener of every record of a type from now on, on the thread that adds it; return what ends that.

        It must not wait.
        """
        with self._lock:
            self._listeners = {**self._listeners, to: (*self._listeners.get(to, ()), listener)}

        def end() -> None:
            with self._lock:
                left = tuple(one for one in self._listeners[to] if one is not listener)
                self._listeners = {**self._listeners, to: left}

        return end

    @property
    def listener_count(self) -> int:
        """Number of listeners, of all types of records."""
        return sum(map(len, self._listeners.values()))

    def calls(self) -> list[WebhookCall]:
        """Return the newest reviews of webhooks, oldest first."""
        return list(self._calls)

    def leadership(self) -> list[LeadershipChange]:
        """Return when this process began or ceased to lead, oldest first."""
        return list(self._leadership)

    def of(self, name: ObjectName) -> list[Reconcile]:
        """Return what is remembered of one object, oldest first."""
        with self._lock:
            data = [self._entries[number].data for number in self._by_object.get(name, ())]
        return [_decode(one) for one in data]

    def last(self, name: ObjectName) -> Reconcile | None:
        """Return the newest reconcile of one object."""
        with self._lock:
            numbers = self._by_object.get(name)
            data = self._entries[numbers[-1]].data if numbers else None
        return _decode(data) if data is not None else None

    def newest(self, count: int) -> list[Reconcile]:
        """Return the newest reconciles of all objects, oldest first."""
        with self._lock:
            found = [
                self._entries[number].data for _, number in zip(range(count), reversed(self._entries), strict=False)
            ]
        return [_decode(one) for one in reversed(found)]

    def objects(self) -> list[ObjectName]:
        """Return the objects of which something is remembered."""
        with self._lock:
            return list(self._by_object)

    def each_last(self) -> Iterator[Reconcile]:
        """Yield the newest reconcile of every object."""
        for name in self.objects():
            reconcile = self.last(name)
            if reconcile is not None:
                yield reconcile

    def forget(self, name: ObjectName) -> None:
        """Drop everything of one object."""
        with self._lock:
            for number in self._by_object.pop(name, ()):
                self._bytes -= len(self._entries.pop(number).data)

    @property
    def bytes(self) -> int:
        """Size of all records."""
        return self._bytes

    def __len__(self) -> int:
        return len(self._entries)

    def __repr__(self) -> str:
        return f"<History of {len(self._by_object)} objects: {len(self._entries)} reconciles, {self._bytes} bytes>"

    def _drop_oldest(self) -> None:
        _, entry = self._entries.popitem(last=False)
        self._bytes -= len(entry.data)
        numbers = self._by_object[entry.object]
        numbers.popleft()
        if not numbers:
            del self._by_object[entry.object]


def _without_details(reconcile: Reconcile) -> Reconcile:
    """Return a record that keeps how a run began and ended, and what it did without the fields and texts."""
    return replace(
        reconcile,
        causes=tuple(replace(one, changes=()) for one in reconcile.causes[:_KEPT]),
        reads=reconcile.reads[:_KEPT],
        writes=tuple(
            replace(one, changes=(), more_changes=len(one.changes) + one.more_changes, error=one.error[:_TEXT])
            for one in reconcile.writes[:_KEPT]
        ),
        external_writes=reconcile.external_writes[:_KEPT],
        events=tuple(replace(one, message=one.message[:_TEXT]) for one in reconcile.events[:_KEPT]),
        conditions=tuple(replace(one, message=one.message[:_TEXT]) for one in reconcile.conditions[:_KEPT]),
        message=reconcile.message[:_TEXT],
        is_cut=True,
    )


_decode = Decoder(Reconcile).decode
