"""`Watcher`: typed events of a kind in order, over any number of lists and streams, until the caller stops.

It is the `Replica` of a `ListWatchDriver`, which follows the rules of ``protocol.list_watch``. A new complete state is
turned into the events that lead to it from what the caller has seen, so that a deletion is reported even if it happened
while no watch was open.
"""

import logging
from collections import deque
from collections.abc import Iterator
from typing import Any, Generic, Self

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
from steersman.informer.list_watch_driver import ApiConnection, ListWatchDriver, ObjectEvent, Source
from steersman.objects.codec import decode_as
from steersman.objects.identity import GroupVersionKind, ObjectKey
from steersman.objects.resource import gvk_of
from steersman.protocol.list_watch import ListWatchSettings
from steersman.protocol.responses import collection_error
from steersman.protocol.watch_frames import Added, Applied, Deleted, Modified

_log = logging.getLogger("steersman.client")

#: Errors that pass by themselves and are retried; any other response of the server is raised.
_TRANSIENT = (Gone, InternalError, ServerTimeout, ServiceUnavailable, Timeout, TooManyRequests)


class _Metadata(Struct, rename="camel"):
    name: str = ""
    namespace: str = ""
    uid: str = ""
    resource_version: str = ""


class _Head(Struct):
    """The part of an object that is decoded to follow it."""

    metadata: _Metadata
    kind: str = ""

    @property
    def key(self) -> ObjectKey:
        return ObjectKey(self.metadata.namespace, self.metadata.name)


class Watcher(Generic[O]):
    """One caller's watch: ``async with client.watch(Pod) as events: async for event in events: …``.

    It yields every existing object as ``Applied``, then every change, without end. Leaving the block closes the
    connection; without a block it is closed when the watcher is garbage-collected. The watcher keeps the bytes of the
    objects that it has yielded, to report deletions.

    With a version it begins there, and raises ``Expired`` if the server no longer has that version: changes may be
    missing. Errors that do not pass by themselves, such as ``Forbidden``, are raised too. An object that does not match
    its class raises ``DecodeError`` when it is its turn; the watch can be continued after it.
    """

    def __init__(
        self, session: Session, kind: Kind, namespace: str | None, settings: ListWatchSettings, since: str = ""
    ) -> None:
        self._session = session
        self._kind = kind
        self._gvk = kind if isinstance(kind, GroupVersionKind) else gvk_of(class_of(kind))
        self._namespace = namespace
        self._settings = settings
        self._since = since
        #: ``None`` before the first request: a kind without a class is looked up on the server first.
        self._driver: ListWatchDriver | None = None
        #: Objects that the caller has seen and that are not deleted.
        self._shown: dict[ObjectKey, tuple[_Metadata, bytes]] = {}
        #: The complete new state so far.
        self._buffer: dict[ObjectKey, tuple[_Metadata, bytes]] = {}
        #: Events that the caller has not seen. Objects are decoded when they are yielded, so that a malformed one
        #: raises in its own turn.
        self._events: deque[tuple[type[Any], bytes]] = deque()
        self._failure: SteersmanError | None = None
        #: Whether a complete state has been received.
        self._is_complete = False

    def __repr__(self) -> str:
        return f"<Watcher {described(self._kind)} {self._driver!r}>"

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def close(self) -> None:
        """Close the connection, if one is open."""
        if self._driver is not None:
            await self._driver.close()

    def __aiter__(self) -> Self:
        return self

    async def initial(self) -> list[O]:
        """Wait for the first complete state and return it; the iteration then yields only later changes.

        Call it before iterating. A watch that begins at a version has no initial state: the list is empty.
        """
        while not (self._is_complete or self._since or self._failure):
            await self._advance()
        if self._failure is not None:
            await self.close()
            raise self._failure
        # Changes that arrived right after the state are part of it already.
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
        """Advance the driver by one step; there may be events afterwards."""
        if self._driver is None:
            self._driver = await self._start()
        await self._driver.advance()
        if self._since and self._driver.state.is_initial:
            self._failure = Expired(
                f"{described(self._kind)}: version {self._since} is too old to watch from", code=410, reason="Expired"
            )

    async def _start(self) -> ListWatchDriver:
        session = self._session
        requests = await session.requests(self._kind)
        source = Source(requests, self._settings, session.scope(requests, self._namespace))
        connection = ApiConnection(session.transport, session.clock, session.randomness)
        return ListWatchDriver(source, self, connection, since=self._since)

    # The replica of the driver.

    def begin(self) -> None:
        """Start a new buffer."""
        self._buffer = {}

    def keep(self, items: list[Raw]) -> None:
        """Add a page to the buffer."""
        for item in items:
            if (head := self._head(item)) is not None:
                self._buffer[head.key] = (head.metadata, bytes(item))

    def apply(self, events: list[ObjectEvent], *, initial: bool) -> str:
        """Apply events to the buffer, or to what the caller has seen, and return the version of the last one."""
        target = self._buffer if initial else self._shown
        version = ""
        for event in events:
            if (head := self._head(event.object)) is None:
                continue
            version = head.metadata.resource_version
            data = bytes(event.object)
            if isinstance(event, Deleted):
                target.pop(head.key, None)
            else:
                target[head.key] = (head.metadata, data)
            if not initial:
                self._events.append((type(event), data))
        return version

    def commit(self) -> None:
        """Queue the events that lead to the new state, which replaces the old one."""
        self._events += self._difference()
        self._shown, self._buffer = self._buffer, {}
        self._is_complete = True

    def report(self, error: SteersmanError) -> None:
        """Keep an error that does not pass by itself, to raise it; log any other."""
        if isinstance(error, TlsError) or (isinstance(error, ApiError) and not isinstance(error, _TRANSIENT)):
            self._failure = collection_error(error, self._gvk)
        else:
            _log.info("watch failed, trying again", extra={"kind": described(self._kind), "error": str(error)})

    def heard(self) -> None:
        """Ignore it: only replicas that others read have an age."""

    def _difference(self) -> Iterator[tuple[type[Any], bytes]]:
        """Yield the events that lead from what the caller has seen to the new state, deletions first."""
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

    def _head(self, raw: Raw) -> _Head | None:
        """Decode the head of an object; return ``None`` for anything that is not an object of this kind."""
        try:
            head = decode_as(_Head, raw)
        except DecodeError as error:
            _log.warning(
                "ignored an item that is not an object", extra={"kind": described(self._kind), "error": str(error)}
            )
            return None
        if head.kind and head.kind != self._gvk.kind:
            _log.warning("ignored an object of another kind", extra={"kind": head.kind, "wanted": self._gvk.kind})
            return None
        return head
