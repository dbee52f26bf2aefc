"""Watching for a caller: typed events in order, over any number of lists and streams, until the caller has enough.

The rules of resuming are those of ``protocol.list_watch``; this carries them out and turns a new state into the events
that lead to it, so that a deletion is seen even if it happened while nobody was watching.
"""

import logging
from collections import deque
from collections.abc import Iterable, Iterator
from contextlib import AbstractAsyncContextManager
from typing import Any, Generic, Self, TypeAlias

from msgspec import Raw, Struct

from steersman.client.interfaces import O
from steersman.client.session import Kind, Session, class_of, described, read_item
from steersman.errors import (
    ApiError,
    DecodeError,
    Expired,
    Gone,
    InternalError,
    ServerTimeout,
    ServiceUnavailable,
    SteersmanError,
    Timeout,
    TlsError,
    TooManyRequests,
)
from steersman.objects.codec import RawList, decode_as
from steersman.objects.identity import GroupVersionKind, ObjectKey
from steersman.objects.resource import gvk_of
from steersman.protocol.http import Request
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
from steersman.protocol.options import ListOptions
from steersman.protocol.requests import Requests
from steersman.protocol.responses import body_of, collection_error
from steersman.protocol.watch_frames import Added, Applied, Bookmark, Deleted, Failed, Modified, RawEvent
from steersman.transport.watch_stream import WatchStream, open_watch

_log = logging.getLogger("steersman.client")

#: Failures that pass by themselves; any other answer of the server is the caller's to hear.
_PASSING = (Gone, InternalError, ServerTimeout, ServiceUnavailable, Timeout, TooManyRequests)

#: What ends the present list, watch or wait, and takes its place.
_Next: TypeAlias = List | Probe | Watch | Wait


class _Meta(Struct, rename="camel"):
    name: str = ""
    namespace: str = ""
    uid: str = ""
    resource_version: str = ""


class _Known(Struct):
    """What of an object must be known to follow it."""

    metadata: _Meta
    kind: str = ""

    @property
    def key(self) -> ObjectKey:
        return ObjectKey(self.metadata.namespace, self.metadata.name)


class _OpenStream(Struct, frozen=True):
    """A watch under way, and how it is closed."""

    context: AbstractAsyncContextManager[WatchStream]
    events: WatchStream


class Watcher(Generic[O]):
    """One caller's watch: ``async with client.watch(Pod) as events: async for event in events: …``.

    First comes what is there now as ``Applied``, then every change, for ever. The block's end closes the connection;
    without a block it is closed when the watch is collected. It remembers the bytes of what it has shown, to tell later
    what is gone.

    With a version it begins there, and raises ``Expired`` if the server no longer has it: what happened since cannot be
    known. Other answers that do not pass by themselves, such as ``Forbidden``, are raised too. An object that is not
    what its class says raises ``DecodeError`` in its turn; the watch can go on after it.
    """

    def __init__(
        self, session: Session, kind: Kind, namespace: str | None, settings: ListWatchSettings, since: str = ""
    ) -> None:
        self._session = session
        self._kind = kind
        self._gvk = kind if isinstance(kind, GroupVersionKind) else gvk_of(class_of(kind))
        self._namespace = namespace
        self._since = since
        self._state = State(settings, version=since)
        self._requests: Requests | None = None
        #: What is to be done when there are no more events to give.
        self._todo: _Next | None = None
        self._stream: _OpenStream | None = None
        #: What the caller has been shown and is not deleted.
        self._shown: dict[ObjectKey, tuple[_Meta, bytes]] = {}
        #: The new state under way; see law 2 of the machine.
        self._buffer: dict[ObjectKey, tuple[_Meta, bytes]] = {}
        #: Events that wait to be given; their objects are read only then, so that a broken one concerns nobody else.
        self._events: deque[tuple[type[Any], bytes]] = deque()
        self._failure: SteersmanError | None = None
        #: Whether a complete state has been received.
        self._is_complete = False

    def __repr__(self) -> str:
        return f"<Watcher {described(self._kind)} {type(self._state.phase).__name__} version={self._state.version!r}>"

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def close(self) -> None:
        """Close the connection, if one is open."""
        stream, self._stream = self._stream, None
        if stream is not None:
            await stream.context.__aexit__(None, None, None)

    def __aiter__(self) -> Self:
        return self

    async def initial(self) -> list[O]:
        """Wait for the complete first state and give it at once; afterwards only changes are given.

        It must be the first thing that is asked. A watch that begins at a version has no such state: it is empty.
        """
        while not (self._is_complete or self._since or self._failure):
            await self._advance()
        if self._failure is not None:
            await self.close()
            raise self._failure
        # Changes that came right after the state are in it already.
        self._events.clear()
        return [read_item(self._kind, data) for _, data in self._shown.values()]

    async def __anext__(self) -> Applied[O] | Deleted[O]:
        while not self._events:
            if self._failure is not None:
                await self.close()
                raise self._failure
            await self._advance()
        event_type, data = self._events.popleft()
        event: Applied[O] | Deleted[O] = event_type(read_item(self._kind, data))
        return event

    async def _advance(self) -> None:
        """Do the next thing; afterwards there may be events."""
        if self._requests is None:
            self._requests = await self._session.requests(self._kind)
            self._namespace = self._session.scope(self._requests, self._namespace)
            self._todo = self._tell(Started(*self._now()))
        following = await self._carry_out(self._requests)
        if following is not None:
            await self.close()
            self._todo = following
        if self._since and self._state.is_initial:
            self._failure = Expired(
                f"{described(self._kind)}: version {self._since} is too old to watch from", code=410, reason="Expired"
            )

    def _now(self) -> tuple[float, float]:
        return self._session.clock.monotonic(), self._session.randomness.between(0.0, 0.999)

    # Telling the machine.

    def _tell(self, told: Input) -> _Next | None:
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
                self._events += self._difference()
                self._shown, self._buffer = self._buffer, {}
                self._is_complete = True
            case Report(error):
                self._report(error)
            case List() | Probe() | Watch() | Wait():
                return effect
        return None

    def _report(self, error: SteersmanError) -> None:
        if isinstance(error, TlsError) or (isinstance(error, ApiError) and not isinstance(error, _PASSING)):
            self._failure = collection_error(error, self._gvk)
        else:
            _log.info("watch failed, trying again", extra={"kind": described(self._kind), "error": str(error)})

    def _difference(self) -> Iterator[tuple[type[Any], bytes]]:
        """Give the events that lead from what was shown to the new state."""
        for key, (meta, data) in self._shown.items():
            new = self._buffer.get(key)
            if new is None or new[0].uid != meta.uid:
                yield Deleted, data
        for key, (meta, data) in self._buffer.items():
            old = self._shown.get(key)
            if old is None or old[0].uid != meta.uid:
                yield Added, data
            elif old[0].resource_version != meta.resource_version:
                yield Modified, data

    # Carrying out.

    async def _carry_out(self, requests: Requests) -> _Next | None:
        match self._todo:
            case List(options):
                return self._tell(await self._list(requests, options, keep=True))
            case Probe(options):
                return self._tell(await self._list(requests, options, keep=False))
            case Wait(seconds):
                await self._session.clock.sleep(seconds)
                return self._tell(Woken(*self._now()))
            case Watch(options):
                return await self._read_stream(requests.watch(self._namespace or "", options), options.timeout_seconds)
            case None:
                raise RuntimeError("the list/watch machine asked for nothing")

    async def _list(self, requests: Requests, options: ListOptions, *, keep: bool) -> Input:
        request = requests.list(self._namespace or "", options)
        try:
            page = decode_as(RawList, body_of(await self._session.transport.request(request)))
        except SteersmanError as error:
            return ListFailed(*self._now(), error)
        if keep:
            for item in page.items or ():
                if (known := self._known(item)) is not None:
                    self._buffer[known.key] = (known.metadata, bytes(item))
        return PageReceived(*self._now(), page.metadata.resource_version or "", page.metadata.continue_ or "")

    async def _read_stream(self, request: Request, lasts: float | None) -> _Next | None:
        """Take in what comes next on the stream, which is opened first if need be."""
        try:
            if self._stream is None:
                self._stream = await self._open(request, lasts)
            events = await anext(self._stream.events, None)
            if events is not None:
                return self._take(events)
        except SteersmanError as error:
            return self._tell(WatchFailed(*self._now(), error))
        return self._tell(WatchClosed(*self._now()))

    async def _open(self, request: Request, lasts: float | None) -> "_OpenStream":
        context = open_watch(self._session.transport, request, clock=self._session.clock, lasts=lasts)
        return _OpenStream(context, await context.__aenter__())

    def _take(self, events: Iterable[RawEvent]) -> _Next | None:
        for event in events:
            match event:
                case Bookmark(version=version, initial_events_end=ends):
                    told: Input = BookmarkReceived(*self._now(), version, ends)
                case Failed(error=error):
                    told = WatchFailed(*self._now(), error)
                case _:
                    known = self._known(event.object)
                    if known is None:
                        continue
                    self._apply(event, known)
                    told = EventsReceived(*self._now(), known.metadata.resource_version, 1, isinstance(event, Added))
            if (following := self._tell(told)) is not None:
                return following
        return None

    def _known(self, raw: Raw) -> _Known | None:
        """Read what must be known of an object; what is no object of this kind is left out."""
        try:
            known = decode_as(_Known, raw)
        except DecodeError as error:
            _log.warning("left out what is no object", extra={"kind": described(self._kind), "error": str(error)})
            return None
        if known.kind and known.kind != self._gvk.kind:
            _log.warning("left out an object of another kind", extra={"kind": known.kind, "wanted": self._gvk.kind})
            return None
        return known

    def _apply(self, event: Applied[Raw] | Deleted[Raw], known: _Known) -> None:
        data = bytes(event.object)
        target = self._buffer if self._state.is_initial else self._shown
        if isinstance(event, Deleted):
            target.pop(known.key, None)
        else:
            target[known.key] = (known.metadata, data)
        if not self._state.is_initial:
            self._events.append((type(event), data))
