"""`WatchHub`: sends every write to the watchers of its resource.

A watcher has a cursor into the history of its resource, not a queue of its own:

    write ─► notify: the resource has news ─► (next turn of the event loop) flush
          ─► for each watcher: events after its cursor ─► one chunk ─► cursor moves

* Writes never wait for watchers, and cost the same however many there are: only `flush` looks at them, once per turn.
* An event is encoded once for all watchers of one form, and whole chunks are shared by watchers without a selector that
  have the same cursor. Nothing encoded outlives the turn.
* A watcher whose connection is full is skipped, and catches up from its cursor when it is writable again. If the
  history has been cut by then, it gets an ERROR event with 410 and ends, as on a real server.
* A watcher with initial events gets all of them before its first event: until then `flush` passes it over.
* Within a stream versions only grow, and each event is sent exactly once. A bookmark is sent after everything up to its
  version.
"""

import asyncio
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

from steersman.apiserver.messages.selection import Selection
from steersman.apiserver.resources.object_store import ObjectStore
from steersman.apiserver.storage.history import Event
from steersman.apiserver.storage.record import Record
from steersman.clock import Clock, Timer
from steersman.objects.codec import encode_json
from steersman.protocol.http import Stream

#: How often a watcher that asked for bookmarks gets one.
BOOKMARK_SECONDS = 60.0
#: How long before its end a long watch gets a last bookmark.
_LAST_BOOKMARK = 2.0
_LONG_WATCH = 10.0
#: Bytes of initial events that are written before the connection is checked for back-pressure.
_CHUNK = 1 << 18


@dataclass(frozen=True, slots=True)
class Variant:
    """The form in which a watcher gets objects."""

    #: Identifies the form: an event is encoded once for all watchers of one form.
    key: tuple[str, ...]
    #: Returns the encoded object of a record; the flag tells that it is the first of its stream.
    render: Callable[[Record, bool], bytes]
    #: Returns the encoded object of a bookmark: its version, and whether the initial events end here.
    bookmark: Callable[[int, bool], bytes]
    #: Whether the first event differs from the others, as a table's does.
    is_special_first: bool = False


@dataclass(slots=True, eq=False)
class Watcher:
    """One open watch."""

    stream: Stream
    resource: str
    selection: Selection
    variant: Variant
    #: The version up to which everything was sent.
    cursor: int
    bookmarks: bool = False
    #: Existing objects that are still to be sent.
    initial: Iterator[Record] | None = None
    #: Whether a bookmark marks the end of the initial events.
    tells_initial_end: bool = False
    is_first: bool = True
    timers: list[Timer] = field(default_factory=list)


#: Returns what a watcher gets instead of an event, which is encoded already.
Interference = Callable[[Watcher, Event, bytes], bytes]


@dataclass(slots=True)
class _Made:
    """Encoded events of one turn, shared by watchers of the same form. Nothing outlives the turn."""

    #: Whole chunks, by form, namespace and cursor: watchers without a selector share them.
    chunks: dict[tuple[object, ...], tuple[bytes, int]] = field(default_factory=dict, repr=False)
    #: Single events, by version, form and type.
    frames: dict[tuple[object, ...], bytes] = field(default_factory=dict, repr=False)


def frame(kind: str, body: bytes) -> bytes:
    """Return one encoded event."""
    return b'{"type":"' + kind.encode() + b'","object":' + body + b"}\n"


class WatchHub:
    """Keeps all watchers of one server."""

    def __init__(self, objects: ObjectStore, clock: Clock, interference: Callable[[], Interference | None]) -> None:
        self._objects = objects
        self._clock = clock
        self._watchers: dict[str, dict[Watcher, None]] = {}
        #: Resources with writes since the last flush.
        self._news: dict[str, None] = {}
        self._is_scheduled = False
        #: Test hook: returns what changes events on their way to watchers, if anything does; see ``faults``.
        self._interference = interference
        objects.listeners.append(self.notify)

    def __len__(self) -> int:
        return sum(map(len, self._watchers.values()))

    @property
    def has_news(self) -> bool:
        """Whether there are writes that have not been offered to the watchers yet."""
        return bool(self._news)

    def notify(self, resource: str) -> None:
        """Note a write; the watchers of the resource get it in the next turn of the event loop."""
        if resource not in self._watchers:
            return
        self._news[resource] = None
        if not self._is_scheduled:
            self._is_scheduled = True
            asyncio.get_running_loop().call_soon(self.flush)

    def flush(self) -> None:
        """Send all new events."""
        self._is_scheduled = False
        news, self._news = self._news, {}
        for resource in news:
            made = _Made()
            for watcher in list(self._watchers.get(resource, ())):
                if watcher.initial is None and watcher.stream.is_writable:
                    self._catch_up(watcher, made)

    def add(self, watcher: Watcher, timeout: float) -> None:
        """Start a watch: existing objects first, then events, until the timeout."""
        self._watchers.setdefault(watcher.resource, {})[watcher] = None
        watcher.stream.on_close(lambda: self._remove(watcher))
        watcher.stream.on_writable(lambda: self._pump(watcher))
        watcher.timers.append(self._clock.call_later(timeout, lambda: self._end(watcher)))
        if watcher.bookmarks:
            self._schedule_bookmark(watcher)
            if timeout > _LONG_WATCH:
                last = self._clock.call_later(timeout - _LAST_BOOKMARK, lambda: self._bookmark(watcher))
                watcher.timers.append(last)
        self._pump(watcher)

    def close_all(self) -> None:
        """End every watch, as a server does that shuts down."""
        for watchers in list(self._watchers.values()):
            for watcher in list(watchers):
                self._end(watcher)

    def close_resource(self, resource: str) -> None:
        """End the watches of a resource that is no longer served, after sending their last events."""
        for watcher in list(self._watchers.get(resource, ())):
            self._pump(watcher)
            self._end(watcher)

    def watchers(self) -> list[Watcher]:
        """Return all open watches."""
        return [watcher for group in self._watchers.values() for watcher in group]

    def _end(self, watcher: Watcher) -> None:
        self._remove(watcher)
        watcher.stream.close()

    def _remove(self, watcher: Watcher) -> None:
        for timer in watcher.timers:
            timer.cancel()
        watcher.timers.clear()
        group = self._watchers.get(watcher.resource)
        if group is not None:
            group.pop(watcher, None)
            if not group:
                del self._watchers[watcher.resource]

    def _pump(self, watcher: Watcher) -> None:
        """Send everything that a watcher waits for, as long as its connection accepts it."""
        while watcher.initial is not None and watcher.stream.is_open:
            if not watcher.stream.is_writable:
                return
            self._send_initial(watcher)
        if watcher.initial is None and watcher.stream.is_open and watcher.stream.is_writable:
            self._catch_up(watcher, _Made())

    def _send_initial(self, watcher: Watcher) -> None:
        chunks: list[bytes] = []
        size = 0
        assert watcher.initial is not None  # noqa: S101 - the caller checked
        for record in watcher.initial:
            chunk = frame("ADDED", watcher.variant.render(record, watcher.is_first))
            watcher.is_first = False
            chunks.append(chunk)
            size += len(chunk)
            if size > _CHUNK:
                break
        else:
            watcher.initial = None
            if watcher.tells_initial_end:
                chunks.append(frame("BOOKMARK", watcher.variant.bookmark(watcher.cursor, True)))  # noqa: FBT003 - a plain callable
        if chunks:
            watcher.stream.write(b"".join(chunks))

    def _catch_up(self, watcher: Watcher, made: "_Made") -> None:
        """Send the events that a watcher has not seen, in one chunk."""
        variant = watcher.variant
        plain = watcher.selection.is_everything and self._interference() is None
        is_first = watcher.is_first and variant.is_special_first
        key = (variant.key, watcher.selection.namespace, watcher.cursor, is_first)
        if plain and key in made.chunks:
            chunk, cursor = made.chunks[key]
        else:
            events = self._objects.since(watcher.resource, watcher.cursor)
            if events is None:
                self._expire(watcher)
                return
            chunk = b"".join(self._frames(watcher, events, made))
            cursor = max(events[-1].version, watcher.cursor) if events else watcher.cursor
            if plain:
                made.chunks[key] = chunk, cursor
        watcher.cursor = cursor
        if chunk:
            watcher.is_first = False
            watcher.stream.write(chunk)

    def _expire(self, watcher: Watcher) -> None:
        """End a watch that is older than the stored history."""
        watcher.stream.write(frame("ERROR", expired_status(watcher.cursor, self._objects.version)))
        self._end(watcher)

    def _frames(self, watcher: Watcher, events: Sequence[Event], made: "_Made") -> Iterator[bytes]:
        interfere = self._interference()
        for event in events:
            if event.version <= watcher.cursor:
                continue
            kind = self._kind(watcher.selection, event)
            if kind is None:
                continue
            written = self._encoded(watcher, event, kind, made)
            watcher.is_first = False
            yield written if interfere is None else interfere(watcher, event, written)

    @staticmethod
    def _kind(selection: Selection, event: Event) -> str | None:
        """Return the type of an event for a watcher: leaving its selection is a delete, entering it an add."""
        if selection.is_everything:
            if selection.namespace is None or selection.namespace == event.record.namespace:
                return event.type
            return None
        before = event.previous is not None and selection.matches(event.previous)
        if event.type == "DELETED":
            return "DELETED" if before else None
        after = selection.matches(event.record)
        if after:
            return "MODIFIED" if before else "ADDED"
        return "LEFT" if before else None

    def _encoded(self, watcher: Watcher, event: Event, kind: str, made: "_Made") -> bytes:
        variant = watcher.variant
        is_first = watcher.is_first and variant.is_special_first
        key = (event.version, variant.key, kind, is_first)
        written = made.frames.get(key)
        if written is None:
            record = event.record
            if kind == "LEFT":
                assert event.previous is not None  # noqa: S101 - only a selected object can leave
                record = self._departed(event.previous, event.version)
            body = variant.render(record, is_first)
            written = made.frames[key] = frame("DELETED" if kind == "LEFT" else kind, body)
        return written

    @staticmethod
    def _departed(previous: Record, version: int) -> Record:
        """Return an object as it was before it left a selection, with the version at which it left."""
        return previous.at(version)

    def _schedule_bookmark(self, watcher: Watcher) -> None:
        def fire() -> None:
            self._bookmark(watcher)
            if watcher.stream.is_open:
                self._schedule_bookmark(watcher)

        watcher.timers.append(self._clock.call_later(BOOKMARK_SECONDS, fire))

    def _bookmark(self, watcher: Watcher) -> None:
        """Send a bookmark: the watcher has seen everything up to its version."""
        if watcher.initial is not None or not watcher.stream.is_writable:
            return
        if watcher.cursor > self._objects.version:
            # A watch from a future version gets no bookmarks, as on a real server.
            return
        self._catch_up(watcher, _Made())
        watcher.cursor = max(watcher.cursor, self._objects.version)
        watcher.stream.write(frame("BOOKMARK", watcher.variant.bookmark(watcher.cursor, False)))  # noqa: FBT003 - a plain callable


def expired_status(version: int, oldest: int) -> bytes:
    """Return the Status that ends a watch from an expired version."""
    return encode_json(
        {
            "kind": "Status",
            "apiVersion": "v1",
            "metadata": {},
            "status": "Failure",
            "message": f"too old resource version: {version} ({oldest})",
            "reason": "Expired",
            "code": 410,
        }
    )
