"""Keeps a store true: carries out what the list/watch machine asks for, and tells it what came of it.

It decides nothing about when to list, watch or wait: ``protocol.list_watch`` does. It reads bytes into records, writes
the store, and hands on the changes, each only after the store has it.
"""

import logging
from collections.abc import Callable, Iterable
from typing import TypeAlias

from msgspec import Raw, Struct

from steersman.clock import Clock
from steersman.errors import DecodeError, NotFound, SteersmanError
from steersman.informer.changes import Change
from steersman.informer.freshness import Freshness
from steersman.informer.record import Record, RecordReader
from steersman.informer.store import Store
from steersman.informer.wakeup import Wakeup
from steersman.objects.codec import RawList, decode_as
from steersman.objects.identity import ObjectKey
from steersman.protocol.list_watch import ListWatchSettings, State, step
from steersman.protocol.list_watch_messages import (
    Begin,
    BookmarkReceived,
    Commit,
    Effect,
    EventsReceived,
    Input,
    List,
    ListFailed,
    PageReceived,
    Probe,
    Report,
    Started,
    Wait,
    Watch,
    WatchClosed,
    WatchFailed,
    Woken,
)
from steersman.protocol.options import ListOptions, WatchOptions
from steersman.protocol.requests import Requests
from steersman.protocol.responses import body_of, collection_error
from steersman.protocol.watch_frames import Added, Bookmark, Deleted, Failed, RawEvent
from steersman.randomness import Randomness
from steersman.transport.base import Transport
from steersman.transport.watch_stream import open_watch

_log = logging.getLogger("steersman.informer")

#: What ends the present list, watch or wait, and takes its place.
_Next: TypeAlias = List | Probe | Watch | Wait


class Link(Struct, frozen=True):
    """What a reflector needs of the world."""

    transport: Transport
    clock: Clock
    randomness: Randomness


class Source(Struct, frozen=True):
    """What is replicated: a resource, in one namespace or in all."""

    requests: Requests
    settings: ListWatchSettings
    namespace: str = ""

    def __str__(self) -> str:
        return f"{self.requests.resource.gvr}{f' in {self.namespace}' if self.namespace else ''}"


class Reflector:
    """Follows one resource until it is cancelled. ``on_changes`` and ``on_synced`` must not raise."""

    def __init__(
        self,
        source: Source,
        store: Store,
        reader: RecordReader,
        link: Link,
        on_changes: Callable[[list[Change]], None],
    ) -> None:
        self._source = source
        self._store = store
        self._reader = reader
        self._link = link
        self._on_changes = on_changes
        self._state = State(source.settings)
        #: The complete new state that is under way. It replaces the store's content at ``Commit``.
        self._buffer: dict[ObjectKey, Record] = {}
        self._synced = False
        self._was_synced = False
        self._heard_at: float | None = None
        self._error: SteersmanError | None = None
        self._nudge = Wakeup()

    async def run(self) -> None:
        """List and watch for ever."""
        todo = self._tell(Started(*self._now()))
        while todo is not None:
            todo = await self._carry_out(todo)

    def nudge(self) -> None:
        """End a wait now: what was waited for may have come, such as the kind itself."""
        self._nudge.set()

    @property
    def is_synced(self) -> bool:
        """Whether the store holds a complete state, and the kind is still served."""
        return self._synced

    def freshness(self) -> Freshness:
        """Show how current the replica is."""
        age = None if self._heard_at is None else self._link.clock.monotonic() - self._heard_at
        return Freshness(self._synced, age, self._error)

    def _now(self) -> tuple[float, float]:
        return self._link.clock.monotonic(), self._link.randomness.between(0.0, 0.999)

    # Telling the machine.

    def _tell(self, told: Input) -> _Next | None:
        """Give the machine one input; do at once what needs no waiting; answer what replaces the present stream."""
        self._state, effects = step(self._state, told)
        following: _Next | None = None
        for effect in effects:
            following = self._at_once(effect) or following
        return following

    def _at_once(self, effect: Effect) -> _Next | None:
        match effect:
            case Begin():
                self._buffer = {}
            case Commit():
                self._commit()
            case Report(error):
                self._report(error)
            case List() | Probe() | Watch() | Wait():
                return effect
        return None

    def _commit(self) -> None:
        buffer, self._buffer = self._buffer, {}
        changes = self._store.replace(buffer.values(), namespace=self._source.namespace, initial=not self._was_synced)
        self._synced = self._was_synced = True
        self._on_changes(changes)

    def _report(self, error: SteersmanError) -> None:
        error = collection_error(error, self._source.requests.resource.gvk)
        level = logging.INFO if str(error) == str(self._error) else logging.WARNING
        _log.log(level, "list/watch failed, trying again", extra={"source": str(self._source), "error": str(error)})
        self._error = error
        if isinstance(error, NotFound) and self._synced:
            # The kind itself is gone, and all of its objects with it.
            self._synced = False
            self._on_changes(self._store.replace((), namespace=self._source.namespace))

    def _heard(self) -> None:
        self._heard_at = self._link.clock.monotonic()
        self._error = None

    # Carrying out.

    async def _carry_out(self, effect: _Next) -> _Next | None:
        match effect:
            case List(options):
                return self._tell(await self._list(options, keep=True))
            case Probe(options):
                return self._tell(await self._list(options, keep=False))
            case Watch(options):
                return await self._watch(options)
            case Wait(seconds):
                await self._nudge.wait(self._link.clock, seconds)
                return self._tell(Woken(*self._now()))

    async def _list(self, options: ListOptions, *, keep: bool) -> Input:
        request = self._source.requests.list(self._source.namespace, options)
        try:
            page = decode_as(RawList, body_of(await self._link.transport.request(request)))
        except SteersmanError as error:
            return ListFailed(*self._now(), error)
        self._heard()
        if keep:
            self._keep(page.items or [])
        return PageReceived(*self._now(), page.metadata.resource_version or "", page.metadata.continue_ or "")

    async def _watch(self, options: WatchOptions) -> _Next | None:
        link = self._link
        request = self._source.requests.watch(self._source.namespace, options)
        try:
            async with open_watch(link.transport, request, clock=link.clock, lasts=options.timeout_seconds) as stream:
                async for events in stream:
                    if (instead := self._take(events)) is not None:
                        return instead
        except SteersmanError as error:
            return self._tell(WatchFailed(*self._now(), error))
        return self._tell(WatchClosed(*self._now()))

    # Reading events.

    def _take(self, events: Iterable[RawEvent]) -> _Next | None:
        """Take in what one read of the stream brought; objects between two bookmarks are one input."""
        batch: list[RawEvent] = []
        for event in events:
            if isinstance(event, (Bookmark, Failed)):
                self._take_objects(batch)
                batch = []
                if (instead := self._take_mark(event)) is not None:
                    return instead
            else:
                batch.append(event)
        return self._take_objects(batch)

    def _take_mark(self, event: Bookmark | Failed) -> _Next | None:
        if isinstance(event, Failed):
            return self._tell(WatchFailed(*self._now(), event.error))
        self._heard()
        return self._tell(BookmarkReceived(*self._now(), event.version, initial_events_end=event.initial_events_end))

    def _take_objects(self, events: list[RawEvent]) -> _Next | None:
        if not events:
            return None
        self._heard()
        take = self._into_buffer if self._state.is_initial else self._into_store
        version = take(events)
        if not version:
            return None
        only_added = all(isinstance(event, Added) for event in events)
        return self._tell(EventsReceived(*self._now(), version, len(events), only_added))

    def _into_buffer(self, events: list[RawEvent]) -> str:
        version = ""
        for event in events:
            if isinstance(event, (Bookmark, Failed)) or (record := self._record(event.object)) is None:
                continue
            version = record.resource_version
            if isinstance(event, Deleted):
                self._buffer.pop(record.key, None)
            else:
                self._buffer[record.key] = record
        return version

    def _into_store(self, events: list[RawEvent]) -> str:
        changes: list[Change] = []
        version = ""
        put, remove, read = self._store.put, self._store.remove, self._record
        for event in events:
            if isinstance(event, (Bookmark, Failed)) or (record := read(event.object)) is None:
                continue
            version = record.resource_version
            changes += remove(record) if isinstance(event, Deleted) else put(record)
        if changes:
            self._on_changes(changes)
        return version

    def _keep(self, items: list[Raw]) -> None:
        """Take in a page, letting go of each item as its record is made: a long list is never there twice."""
        items.reverse()
        while items:
            if (record := self._record(items.pop())) is not None:
                self._buffer[record.key] = record

    def _record(self, raw: Raw) -> Record | None:
        try:
            return self._reader.read(raw)
        except DecodeError as error:
            _log.warning("left out what is no object", extra={"source": str(self._source), "error": str(error)})
            return None

    def __repr__(self) -> str:
        return f"<Reflector {self._source} {type(self._state.phase).__name__} version={self._state.version!r}>"
