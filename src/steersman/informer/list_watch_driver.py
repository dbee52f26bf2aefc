"""`ListWatchDriver`: carries out what the list/watch machine asks for. Reflectors and `Client.watch` share it.

Every rule about when to list, watch, resume or back off is in ``protocol.list_watch``, which is pure. The driver sends
the requests, reads the stream, and reports each result back to the machine as an input. What it receives goes to a
`Replica`, in this order::

    begin ──▶ keep (pages) or apply (initial events) … ──▶ commit ──▶ apply (changes) … ──▶ begin …

Invariants:

- At most one list, stream or wait is under way. When the machine asks for the next one, the open stream is closed
  first, and nothing more is read from it.
- A replica has received every object that an input is about: `apply` and `keep` are called before the input.
- Events between two bookmarks are one batch and one input. A bookmark can end the initial state (law 2 of the machine),
  so a batch never crosses one.
- Cancelling `advance` loses nothing: an open stream stays open, and the next `advance` continues reading it.
"""

from collections.abc import Iterable
from contextlib import AbstractAsyncContextManager
from typing import Protocol, TypeAlias

from msgspec import Raw, Struct

from steersman.clock import Clock
from steersman.errors import SteersmanError
from steersman.informer.wakeup import Wakeup
from steersman.objects.codec import RawList, decode_as
from steersman.protocol.list_watch import ListWatchSettings, State, step
from steersman.protocol.list_watch_messages import (
    Begin,
    BookmarkReceived,
    Commit,
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
from steersman.protocol.responses import body_of
from steersman.protocol.watch_frames import Added, Applied, Bookmark, Deleted, Failed, RawEvent
from steersman.randomness import Randomness
from steersman.transport.base import Transport
from steersman.transport.watch_stream import WatchStream, open_watch

#: An effect that takes time. It replaces the list, stream or wait before it.
_Activity: TypeAlias = List | Probe | Watch | Wait
#: An event about an object, not decoded yet.
ObjectEvent: TypeAlias = Applied[Raw] | Deleted[Raw]


class ApiConnection(Struct, frozen=True):
    """The API server, the clock and the randomness that a list/watch uses."""

    transport: Transport
    clock: Clock
    randomness: Randomness


class Source(Struct, frozen=True):
    """What is listed and watched: a resource, in one namespace or in all (``""``)."""

    requests: Requests
    settings: ListWatchSettings
    namespace: str = ""

    def __str__(self) -> str:
        return f"{self.requests.resource.gvr}{f' in {self.namespace}' if self.namespace else ''}"


class Replica(Protocol):
    """Receives what the driver reads. Its methods must neither block nor raise."""

    def begin(self) -> None:
        """Start a complete new state in an empty buffer; discard an unfinished one."""

    def keep(self, items: list[Raw]) -> None:
        """Add the objects of one page to the buffer; the list may be consumed."""

    def apply(self, events: list[ObjectEvent], *, initial: bool) -> str:
        """Apply events to the buffer (``initial``) or to the replica, and return the last version; empty if none."""

    def commit(self) -> None:
        """Replace the content of the replica by the buffer: it is complete."""

    def report(self, error: SteersmanError) -> None:
        """Record an error; the driver retries."""

    def heard(self) -> None:
        """Record that the server sent a page, an event or a bookmark."""


class _OpenStream(Struct, frozen=True):
    context: AbstractAsyncContextManager[WatchStream]
    events: WatchStream


class ListWatchDriver:
    """List and watch one source into a replica. With ``since`` the watch begins at that version, without a list."""

    def __init__(self, source: Source, replica: Replica, connection: ApiConnection, *, since: str = "") -> None:
        self._source = source
        self._replica = replica
        self._connection = connection
        self._state = State(source.settings, version=since)
        #: ``None`` before the first ``advance``.
        self._activity: _Activity | None = None
        self._stream: _OpenStream | None = None
        self._nudge = Wakeup()

    @property
    def state(self) -> State:
        """State of the list/watch machine."""
        return self._state

    async def run(self) -> None:
        """List and watch until cancelled."""
        try:
            while True:
                await self.advance()
        finally:
            await self.close()

    async def advance(self) -> None:
        """Do one step: read a page, read the stream once, or wait."""
        if self._activity is None:
            self._activity = self._input(Started(*self._now()))
        following = await self._carry_out(self._activity)
        if following is not None:
            await self.close()
            self._activity = following

    async def close(self) -> None:
        """Close the stream, if one is open."""
        stream, self._stream = self._stream, None
        if stream is not None:
            await stream.context.__aexit__(None, None, None)

    def nudge(self) -> None:
        """End a wait now, because its reason may be gone: the kind may be served by now."""
        self._nudge.set()

    def doubt_watch(self) -> None:
        """Replace the open watch if it is quiet: the caller misses an event that the server must have sent."""
        if self._stream is not None:
            self._stream.events.doubt()

    def _now(self) -> tuple[float, float]:
        return self._connection.clock.monotonic(), self._connection.randomness.between(0.0, 0.999)

    # Inputs and effects of the machine.

    def _input(self, message: Input) -> _Activity | None:
        """Pass one input to the machine, carry out the effects that take no time, and return the one that does."""
        self._state, effects = step(self._state, message)
        activity: _Activity | None = None
        for effect in effects:
            match effect:
                case Begin():
                    self._replica.begin()
                case Commit():
                    self._replica.commit()
                case Report(error):
                    self._replica.report(error)
                case _:
                    activity = effect
        return activity

    async def _carry_out(self, activity: _Activity | None) -> _Activity | None:
        match activity:
            case Watch(options):
                return await self._read_stream(options)
            case List(options):
                return self._input(await self._list(options, keep=True))
            case Probe(options):
                return self._input(await self._list(options, keep=False))
            case Wait(seconds):
                await self._nudge.wait(self._connection.clock, seconds)
                return self._input(Woken(*self._now()))
            case None:
                raise RuntimeError("the list/watch machine asked for nothing")

    async def _list(self, options: ListOptions, *, keep: bool) -> Input:
        request = self._source.requests.list(self._source.namespace, options)
        try:
            page = decode_as(RawList, body_of(await self._connection.transport.request(request)))
        except SteersmanError as error:
            return ListFailed(*self._now(), error)
        self._replica.heard()
        if keep:
            self._replica.keep(page.items or [])
        return PageReceived(*self._now(), page.metadata.resource_version or "", page.metadata.continue_ or "")

    # The stream.

    async def _read_stream(self, options: WatchOptions) -> _Activity | None:
        """Read the stream once, opening it first if necessary."""
        try:
            if self._stream is None:
                self._stream = await self._open(options)
            events = await anext(self._stream.events, None)
            if events is not None:
                return self._receive(events)
        except SteersmanError as error:
            return self._input(WatchFailed(*self._now(), error))
        return self._input(WatchClosed(*self._now()))

    async def _open(self, options: WatchOptions) -> _OpenStream:
        request = self._source.requests.watch(self._source.namespace, options)
        connection = self._connection
        context = open_watch(connection.transport, request, clock=connection.clock, lasts=options.timeout_seconds)
        return _OpenStream(context, await context.__aenter__())

    def _receive(self, events: Iterable[RawEvent]) -> _Activity | None:
        """Apply the events of one read; objects between two bookmarks are one batch."""
        batch: list[ObjectEvent] = []
        for event in events:
            if isinstance(event, (Bookmark, Failed)):
                self._receive_objects(batch)
                batch = []
                if (following := self._receive_mark(event)) is not None:
                    return following
            else:
                batch.append(event)
        return self._receive_objects(batch)

    def _receive_mark(self, event: Bookmark | Failed) -> _Activity | None:
        if isinstance(event, Failed):
            return self._input(WatchFailed(*self._now(), event.error))
        self._replica.heard()
        return self._input(BookmarkReceived(*self._now(), event.version, initial_events_end=event.initial_events_end))

    def _receive_objects(self, events: list[ObjectEvent]) -> _Activity | None:
        if not events:
            return None
        self._replica.heard()
        version = self._replica.apply(events, initial=self._state.is_initial)
        if not version:
            return None
        only_added = all(isinstance(event, Added) for event in events)
        return self._input(EventsReceived(*self._now(), version, len(events), only_added))

    def __repr__(self) -> str:
        return f"<ListWatchDriver {self._source} {type(self._state.phase).__name__} version={self._state.version!r}>"
