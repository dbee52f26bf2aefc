"""The newest reconciles of an operator, in memory: some of every object, bounded in number and in bytes.

Records are kept encoded. A record is then one block of bytes of a known size, cannot be changed by a reader, and is
shared by every view.

Making a record costs more than the rest: fields are compared, texts masked. Most records are dropped unread, so a
successful run is kept as a `ReconcileDraft`, which refers to the bytes that the run has read and written, and its
record is made when it is read. When drafts exceed their own limits the oldest are dropped, except the last one of an
object: its record is made, so that the last run of every object is known. A listener of whole records gets each at
once.

What is dropped when there is no room: the oldest record of the same object beyond `PER_OBJECT`, and the oldest of all
beyond the limits of the whole. So a busy object does not push out the last words of a quiet one, until memory ends.

Thread-safe: one lock guards the books, and readers decode outside of it.
"""

import logging
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from threading import Lock
from typing import Any, Final, TypeVar, overload

from msgspec import Struct
from msgspec.msgpack import Decoder, Encoder
from msgspec.structs import replace

from steersman.history.records import LeadershipChange, ObjectName, Reconcile, ReconcileEnd, WebhookCall

#: Reconciles that are kept of one object.
PER_OBJECT: Final = 20

#: Of a record that is too large: entries of each list that are kept, and characters of each text.
_KEPT, _TEXT = 4, 100

R = TypeVar("R", Reconcile, WebhookCall, LeadershipChange)

#: What an entry has that is not a draft.
_NOT_DRAFTS = (bytes, type(None))
#: A draft with more bytes is made a record at once: it would push out the records of many other objects.
_LARGE_DRAFT = 64 * 1024
#: Drafts whose records are made together: enough to do it with warm caches, few enough not to be felt.
_BATCH = 64

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
    #: Records that are not made yet, and the bytes that they refer to, which count among those of the whole.
    drafts: int = 10_000
    draft_bytes: int = 12 * 1024 * 1024


class ReconcileDraft(ReconcileEnd, frozen=True, gc=False):
    """A reconcile that has ended well, and whose record is not made yet. Nothing in it changes any more."""

    #: The reconciled object.
    object: ObjectName
    #: Number of bytes that the draft refers to, roughly.
    size: int

    def record(self, *, with_details: bool = True) -> Reconcile:
        """Return the record, without secrets; on request also without causes, reads, writes, events and conditions."""
        raise NotImplementedError


class _Entry(Struct, gc=False, eq=False):
    object: ObjectName
    #: The encoded record, or what it is made from; ``None`` once it was dropped.
    content: bytes | ReconcileDraft | None
    size: int

    def __repr__(self) -> str:
        return f"<_Entry {self.object}>"


class History:
    """Remembers reconciles. Add from one thread or many; read from any."""

    def __init__(self, limits: HistoryLimits | None = None) -> None:
        self.limits = limits or HistoryLimits()
        self._lock = Lock()
        self._encoder = Encoder()
        #: Invariant: what is in ``_by_object`` is in ``_entries``; both are in the order of arrival, so that the oldest
        #: entry of all is also the oldest of its object. Dropped entries stay in ``_entries`` and ``_drafts`` a while.
        self._entries: deque[_Entry] = deque()
        self._by_object: dict[ObjectName, deque[_Entry]] = {}
        self._count = 0
        self._bytes = 0
        #: Entries that were dropped since they were last removed everywhere.
        self._dropped = 0
        #: The entries whose records are not made yet.
        self._drafts: deque[_Entry] = deque()
        self._draft_count = 0
        self._draft_bytes = 0
        self._calls: deque[WebhookCall] = deque(maxlen=_CALLS)
        self._leadership: deque[LeadershipChange] = deque(maxlen=_CHANGES)
        self._listeners: dict[type, tuple[Callable[[Any], None], ...]] = {}

    def add(self, reconcile: Reconcile) -> None:
        """Remember a reconcile and notify the listeners."""
        data = self._encoded(reconcile)
        self._keep(_Entry(reconcile.object, data, len(data)))
        self._notify(ReconcileEnd, reconcile)
        self._notify(Reconcile, reconcile)

    def add_draft(self, draft: ReconcileDraft) -> None:
        """Remember a reconcile whose record is made when it is needed, and notify the listeners."""
        size = draft.size
        if size > _LARGE_DRAFT or Reconcile in self._listeners:
            self.add(draft.record())
            return
        self._keep(_Entry(draft.object, draft, size), is_draft=True)
        self._notify(ReconcileEnd, draft)
        if self._draft_count > self.limits.drafts or self._draft_bytes > self.limits.draft_bytes:
            self._make(self._without_the_oldest_drafts())

    def make_records(self) -> None:
        """Make the record of every draft: nothing but records is kept then."""
        while self._drafts:
            with self._lock:
                oldest = self._take_drafts()
            self._make(oldest)

    def _take_drafts(self) -> list[_Entry]:
        """Return the oldest entries that were added as drafts; some may have been dropped since."""
        return [self._drafts.popleft() for _ in range(min(_BATCH, len(self._drafts)))]

    def _without_the_oldest_drafts(self) -> list[_Entry]:
        """Drop the oldest drafts; return those that are the last of their object instead of dropping them."""
        last = []
        with self._lock:
            for entry in self._take_drafts():
                if entry.content.__class__ in _NOT_DRAFTS:
                    continue
                own = self._by_object[entry.object]
                if own[-1] is entry:
                    last.append(entry)
                else:
                    own.remove(entry)
                    self._drop(entry)
        return last

    def _make(self, entries: list[_Entry]) -> None:
        """Make the records of drafts; outside of the lock, for it takes its time."""
        for entry in entries:
            record = _made(entry)
            if record is not None:
                self._replace(entry, self._encoded(record))

    def _replace(self, entry: _Entry, data: bytes) -> None:
        """Replace a draft by its record."""
        with self._lock:
            if entry.content is None or entry.content.__class__ is bytes:
                return
            self._draft_count -= 1
            self._draft_bytes -= entry.size
            self._bytes += len(data) - entry.size
            entry.content, entry.size = data, len(data)

    def _encoded(self, reconcile: Reconcile) -> bytes:
        data = self._encoder.encode(reconcile)
        if len(data) > self.limits.record_bytes:
            data = self._encoder.encode(_without_details(reconcile))
        return data

    def _keep(self, entry: _Entry, *, is_draft: bool = False) -> None:
        limits = self.limits
        with self._lock:
            self._entries.append(entry)
            self._count += 1
            self._bytes += entry.size
            if is_draft:
                self._drafts.append(entry)
                self._draft_count += 1
                self._draft_bytes += entry.size
            own = self._by_object.get(entry.object)
            if own is None:
                own = self._by_object[entry.object] = deque()
            own.append(entry)
            if len(own) > limits.per_object:
                self._drop(own.popleft())
            while self._count > limits.records or self._bytes > limits.bytes:
                self._drop_oldest()
            if self._dropped > self._count + _BATCH:
                self._remove_dropped()

    def _remove_dropped(self) -> None:
        """Remove the dropped entries, which are more than the others."""
        self._dropped = 0
        self._entries = deque([one for one in self._entries if one.content is not None])
        self._drafts = deque([one for one in self._drafts if one.content.__class__ not in _NOT_DRAFTS])

    def _drop(self, entry: _Entry) -> None:
        self._dropped += 1
        self._count -= 1
        self._bytes -= entry.size
        if entry.content.__class__ is not bytes:
            self._draft_count -= 1
            self._draft_bytes -= entry.size
        entry.content = None

    def add_call(self, call: WebhookCall) -> None:
        """Remember a review of a webhook, and notify the listeners."""
        self._calls.append(call)
        self._notify(WebhookCall, call)

    def add_leadership(self, change: LeadershipChange) -> None:
        """Remember that this process began or ceased to lead, and notify the listeners."""
        self._leadership.append(change)
        self._notify(LeadershipChange, change)

    def _notify(self, about: type, record: object) -> None:
        for listener in self._listeners.get(about, ()):
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
        return self._listen(listener, to)

    def listen_to_ends(self, listener: Callable[[ReconcileEnd | Reconcile], None]) -> Callable[[], None]:
        """Notify a listener of the end of every reconcile, as `listen` does; its record need not be made for that."""
        return self._listen(listener, ReconcileEnd)

    def _listen(self, listener: Callable[[Any], None], to: type) -> Callable[[], None]:
        with self._lock:
            self._listeners = {**self._listeners, to: (*self._listeners.get(to, ()), listener)}

        def end() -> None:
            with self._lock:
                left = tuple(one for one in self._listeners[to] if one is not listener)
                others = {other: listeners for other, listeners in self._listeners.items() if other is not to}
                self._listeners = {**others, to: left} if left else others

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
            entries = list(self._by_object.get(name, ()))
        return _all_made(entries)

    def last(self, name: ObjectName) -> Reconcile | None:
        """Return the newest reconcile of one object."""
        with self._lock:
            entries = self._by_object.get(name)
            entry = entries[-1] if entries else None
        return None if entry is None else _made(entry)

    def newest(self, count: int) -> list[Reconcile]:
        """Return the newest reconciles of all objects, oldest first."""
        with self._lock:
            kept = (one for one in reversed(self._entries) if one.content is not None)
            found = [one for _, one in zip(range(count), kept, strict=False)]
        return _all_made(reversed(found))

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
            for entry in self._by_object.pop(name, ()):
                self._drop(entry)

    @property
    def bytes(self) -> int:
        """Size of all records, and of what drafts refer to."""
        return self._bytes

    def __len__(self) -> int:
        return self._count

    def __repr__(self) -> str:
        return f"<History of {len(self._by_object)} objects: {self._count} reconciles, {self._bytes} bytes>"

    def _drop_oldest(self) -> None:
        entry = self._entries.popleft()
        if entry.content is None:
            return
        self._drop(entry)
        own = self._by_object[entry.object]
        own.popleft()
        if not own:
            del self._by_object[entry.object]


def _made(entry: _Entry) -> Reconcile | None:
    """Return the record of an entry; ``None`` if it was dropped."""
    content = entry.content
    if content is None:
        return None
    if isinstance(content, bytes):
        return _decode(content)
    try:
        return content.record()
    except Exception:  # noqa: BLE001 - the run is over: it is remembered without details
        _log.exception("the details of a run are missing in the history")
        return content.record(with_details=False)


def _all_made(entries: Iterable[_Entry]) -> list[Reconcile]:
    return [record for record in map(_made, entries) if record is not None]


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
