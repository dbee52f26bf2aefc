"""`Reflector`: keeps a store equal to the server, as the `Replica` of a `ListWatchDriver`.

Order and invariants:

- A complete new state is collected in a buffer and replaces the content of the store at once, at ``commit``. Readers
  see the old state or the new one, never a mix.
- Changes are written to the store first and then passed to ``on_changes``, so that a handler that reads the store sees
  at least the change that it is called for.
- ``is_synced`` becomes true with the first ``commit``. It becomes false only if the kind is no longer served (its CRD
  was deleted): then all of its objects are reported as deleted. Any other failure keeps the last known state.
"""

import logging
from collections.abc import Callable

from msgspec import Raw

from steersman.errors import DecodeError, NotFound, SteersmanError
from steersman.informer.changes import Change
from steersman.informer.compression import return_free_memory
from steersman.informer.freshness import Freshness
from steersman.informer.list_watch_driver import ApiConnection, ListWatchDriver, ObjectEvent, Source
from steersman.informer.record import Record, RecordReader
from steersman.informer.store import Store
from steersman.objects.identity import ObjectKey
from steersman.protocol.responses import collection_error
from steersman.protocol.watch_frames import Deleted

_log = logging.getLogger("steersman.informer")


class Reflector:
    """Reflect one source into a store until cancelled. ``on_changes`` must not raise."""

    def __init__(
        self,
        source: Source,
        store: Store,
        reader: RecordReader,
        connection: ApiConnection,
        on_changes: Callable[[list[Change]], None],
    ) -> None:
        self._source = source
        self._store = store
        self._reader = reader
        self._clock = connection.clock
        self._on_changes = on_changes
        self._driver = ListWatchDriver(source, self, connection)
        #: The complete new state so far. It replaces the content of the store at ``commit``.
        self._buffer: dict[ObjectKey, Record] = {}
        #: Bytes that came into the buffer, as they came.
        self._buffered = 0
        self._synced = False
        self._was_synced = False
        self._heard_at: float | None = None
        self._error: SteersmanError | None = None

    async def run(self) -> None:
        """List and watch until cancelled."""
        await self._driver.run()

    def nudge(self) -> None:
        """End a back-off now, because its reason may be gone: the kind may be served by now."""
        self._driver.nudge()

    def doubt_watch(self, namespace: str) -> None:
        """Replace the watch if it is quiet: the caller misses an event, in this namespace, that must have been sent."""
        if self._source.namespace in ("", namespace):
            self._driver.doubt_watch()

    @property
    def is_synced(self) -> bool:
        """Whether the store holds a complete state, and the kind is still served."""
        return self._synced

    @property
    def age(self) -> float | None:
        """Seconds since the server last sent an event, a bookmark or a list; ``None`` before the first."""
        return None if self._heard_at is None else self._clock.monotonic() - self._heard_at

    def freshness(self) -> Freshness:
        """Return how current the replica is."""
        return Freshness(self._synced, self.age, self._error)

    # The replica of the driver.

    def begin(self) -> None:
        """Start a new buffer."""
        self._buffer = {}
        self._buffered = 0

    def keep(self, items: list[Raw]) -> None:
        """Add a page to the buffer; each item is released as its record is made, so that a page is not held twice."""
        items.reverse()
        while items:
            if (record := self._record(items.pop())) is not None:
                self._into_buffer(record)

    def commit(self) -> None:
        """Replace the content of the store by the buffer."""
        buffer, self._buffer = self._buffer, {}
        changes = self._store.replace(buffer.values(), namespace=self._source.namespace, initial=not self._was_synced)
        self._synced = self._was_synced = True
        self._on_changes(changes)
        if self._store.compression is not None and self._store.compression.is_active:
            del buffer  # the objects before they were compressed
            return_free_memory()

    def apply(self, events: list[ObjectEvent], *, initial: bool) -> str:
        """Apply events to the buffer or to the store, and return the version of the last one."""
        return self._all_into_buffer(events) if initial else self._into_store(events)

    def report(self, error: SteersmanError) -> None:
        """Log an error, once as a warning; empty the store if the kind is no longer served."""
        error = collection_error(error, self._source.requests.resource.gvk)
        level = logging.INFO if str(error) == str(self._error) else logging.WARNING
        _log.log(level, "list/watch failed, trying again", extra={"source": str(self._source), "error": str(error)})
        self._error = error
        if isinstance(error, NotFound) and self._synced:
            self._synced = False
            self._on_changes(self._store.replace((), namespace=self._source.namespace))

    def heard(self) -> None:
        """Record that the server answered, and use the occasion to compress what has not changed lately."""
        self._heard_at = self._clock.monotonic()
        self._error = None
        self._store.compress_cold()

    def _into_buffer(self, record: Record) -> None:
        """Add an object to the buffer; of a large state all but the first are compressed as they come."""
        compression = self._store.compression
        self._buffered += len(record.content)
        if compression is not None and self._buffered > compression.threshold:
            compression.begin(self._buffer.values(), self._buffered)
            record = compression.compressed(record)
        self._buffer[record.key] = record

    def _all_into_buffer(self, events: list[ObjectEvent]) -> str:
        version = ""
        for event in events:
            if (record := self._record(event.object)) is None:
                continue
            version = record.resource_version
            if isinstance(event, Deleted):
                self._buffer.pop(record.key, None)
            else:
                self._into_buffer(record)
        return version

    def _into_store(self, events: list[ObjectEvent]) -> str:
        changes: list[Change] = []
        version = ""
        put, remove, read = self._store.put, self._store.remove, self._record
        for event in events:
            if (record := read(event.object)) is None:
                continue
            version = record.resource_version
            changes += remove(record) if isinstance(event, Deleted) else put(record)
        if changes:
            self._on_changes(changes)
        return version

    def _record(self, raw: Raw) -> Record | None:
        try:
            return self._reader.read(raw)
        except DecodeError as error:
            _log.warning(
                "ignored an item that is not an object", extra={"source": str(self._source), "error": str(error)}
            )
            return None

    def __repr__(self) -> str:
        return f"<Reflector {self._driver!r}>"
