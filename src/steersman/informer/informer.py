"""`Informer`: a cache of a kind, and handlers that are called with its changes. All of them share one watch.

Promises: the store has a change before any handler is called with it; every handler gets the changes of an object in
order, and a late handler gets all existing objects first; a slow or failing handler does not delay the others.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Mapping
from contextlib import AsyncExitStack
from types import TracebackType
from typing import Generic, Self, TypeVar, cast

from msgspec import Struct, field

from steersman.concurrency import background
from steersman.errors import WaitTimeout
from steersman.informer.changes import Added, Change, Deleted, Updated
from steersman.informer.compression import COMPRESS_ABOVE, Compression
from steersman.informer.freshness import Freshness
from steersman.informer.growth import LARGE, CacheGrowth
from steersman.informer.index import BY_NAMESPACE, Extract, by_namespace
from steersman.informer.list_watch_driver import ApiConnection, Source
from steersman.informer.reader import StoreReader
from steersman.informer.record import PARTIAL, Record, RecordReader, Transform
from steersman.informer.reflector import Reflector
from steersman.informer.store import Store
from steersman.informer.subscription import Handler, Subscription
from steersman.objects.identity import ApiResource
from steersman.objects.resource import KubeObject, PartialObjectMetadata, Unstructured, resource_of
from steersman.objects.selectors import LabelSelector
from steersman.protocol.list_watch import ListWatchSettings
from steersman.protocol.requests import Requests

K = TypeVar("K", bound=KubeObject | Unstructured)

_log = logging.getLogger("steersman.informer")
#: Seconds to wait for the first complete state at the start.
SYNC_TIMEOUT = 120.0
#: The shortest time between two resyncs.
MIN_RESYNC = 1.0


class Selection(Struct, frozen=True, kw_only=True):
    """Which objects of a kind are cached. Equal selections can share a watch."""

    #: Empty for all.
    namespaces: tuple[str, ...] = ()
    label_selector: str = ""
    field_selector: str = ""
    #: Keep only the metadata of each object: read it by ``get_metadata`` and ``list_metadata``.
    metadata_only: bool = False
    #: Request the initial state as a stream (WatchList) if the server supports it.
    watch_list: bool = True

    @property
    def text(self) -> str:
        """Selectors of labels and fields, for people."""
        return ",".join(filter(None, (self.label_selector, self.field_selector)))


EVERYTHING = Selection()


class InformerOptions(Struct, frozen=True, kw_only=True):
    """How objects are cached."""

    transform: Transform | None = None
    #: Indexes besides that by namespace.
    indexes: Mapping[str, Extract] = field(default_factory=dict)
    #: Bytes of cached objects from which a warning names the cache.
    large: int = LARGE
    #: Bytes of cached objects from which those that have not changed lately are compressed; ``None`` for never.
    compress_above: int | None = COMPRESS_ABOVE


class Informer(StoreReader[K], Generic[K]):
    """A cache of a kind: read it, or handle its changes. Use ``async with``, or ``run`` it and ``wait_synced``."""

    def __init__(
        self,
        kind: type[K],
        connection: ApiConnection,
        selection: Selection = EVERYTHING,
        *,
        options: InformerOptions | None = None,
        resource: ApiResource | None = None,
    ) -> None:
        options = options or InformerOptions()
        self.resource = (
            resource if resource is not None else _declared_resource(cast("type[KubeObject | Unstructured]", kind))
        )
        self.selection = selection
        self.label_selector = LabelSelector.parse(selection.label_selector)
        store = Store(
            {BY_NAMESPACE: by_namespace, **options.indexes},
            compression=Compression(connection.clock.monotonic, options.compress_above),
        )
        super().__init__(kind, store)
        self._connection = connection
        #: Whether the class of the objects has more than metadata.
        self._has_content = not issubclass(kind, (PartialObjectMetadata, Unstructured))
        reader = RecordReader(PARTIAL if selection.metadata_only else self.resource.gvk, transform=options.transform)
        settings = ListWatchSettings(
            label_selector=selection.label_selector,
            field_selector=selection.field_selector,
            watch_list=selection.watch_list,
        )
        requests = Requests(self.resource, metadata_only=selection.metadata_only)
        self._reflectors = [
            Reflector(Source(requests, settings, namespace), store, reader, connection, self._on_changes)
            for namespace in dict.fromkeys(selection.namespaces or ("",))
        ]
        self._subscriptions: list[Subscription] = []
        #: The running tasks of each handler.
        self._delivering: dict[Subscription, list[asyncio.Task[None]]] = {}
        self._tasks: asyncio.TaskGroup | None = None
        self._waiters: list[asyncio.Future[None]] = []
        self._growth = CacheGrowth(options.large)
        self._exit = AsyncExitStack()

    # Handlers.

    def add_handler(self, handler: Handler, *, name: str = "", resync: float | None = None) -> Subscription:
        """Call a handler with every existing object, marked as initial, and then with every change.

        ``resync`` repeats all objects to this handler every so many seconds, without a request to the server.
        """
        if resync is not None and resync < MIN_RESYNC:
            raise ValueError(f"resync must be at least {MIN_RESYNC:g} s, got {resync}")
        label = name or getattr(handler, "__qualname__", type(handler).__qualname__)
        subscription = Subscription(label, handler, clock=self._connection.clock, resync=resync)
        subscription.push([Added(record, is_initial=True) for record in self._store.records()])
        if self.is_synced:
            subscription.mark_synced()
        self._subscriptions.append(subscription)
        if self._tasks is not None:
            self._start(subscription, self._tasks)
        return subscription

    def remove_handler(self, subscription: Subscription) -> None:
        """Remove a handler at once, with its undelivered changes; a removed one is not an error."""
        if subscription in self._subscriptions:
            self._subscriptions.remove(subscription)
        for task in self._delivering.pop(subscription, ()):
            task.cancel()

    def handle(
        self,
        *,
        added: Callable[[K], Awaitable[None] | None] | None = None,
        updated: Callable[[K, K], Awaitable[None] | None] | None = None,
        deleted: Callable[[K], Awaitable[None] | None] | None = None,
    ) -> Subscription:
        """Call functions with typed objects: ``added(new)``, ``updated(old, new)``, ``deleted(last_known)``."""

        def handler(change: Change) -> Awaitable[None] | None:
            match change:
                case Added(new):
                    return None if added is None else added(self.decode(new))
                case Updated(old, new):
                    return None if updated is None else updated(self.decode(old), self.decode(new))
                case Deleted(old):
                    return None if deleted is None else deleted(self.decode(old))

        return self.add_handler(handler, name=f"{self.resource.gvk.kind} handler")

    def add_index(self, name: str, values: Callable[[K], list[str]]) -> None:
        """Add an index for ``by_index(name, value)``, by the values that a function returns for each object.

        An object for which the function raises, or that does not decode, is logged and left out.
        """

        def extract(record: Record) -> list[str]:
            try:
                return list(values(self.decode(record)))
            except Exception:  # noqa: BLE001 - an author's function must not stop the cache
                extra = {"kind": self.resource.gvk.kind, "key": str(record.key), "index": name}
                _log.exception("an index function failed: the object is left out", extra=extra)
                return []

        self._store.add_index(name, extract)

    def ensure_record_index(self, name: str, extract: Extract) -> None:
        """Add an index by a value that needs no decoding, unless there is an index of that name."""
        if not self._store.has_index(name):
            self._store.add_index(name, extract)

    def decode(self, record: Record) -> K:
        """Return a new object, decoded from a record.

        Raises ``LookupError`` if only metadata is cached: an object of the kind would look empty.
        """
        if self.selection.metadata_only and self._has_content:
            raise LookupError(
                f"{self.resource.gvk.kind} objects are cached without content: use get_metadata or list_metadata"
            )
        return super().decode(record)

    # State.

    @property
    def store(self) -> Store:
        """Store of the records, for reading."""
        return self._store

    @property
    def is_partial(self) -> bool:
        """Whether some objects of its namespaces, or parts of them, are not cached."""
        return self.is_selective or self.selection.metadata_only

    @property
    def is_selective(self) -> bool:
        """Whether some objects of its namespaces are not cached."""
        return bool(self.selection.label_selector or self.selection.field_selector)

    def covers_namespace(self, namespace: str) -> bool:
        """Return whether objects of a namespace are cached."""
        return not self.selection.namespaces or namespace in self.selection.namespaces

    @property
    def is_synced(self) -> bool:
        """Whether the cache holds a complete state."""
        return all(reflector.is_synced for reflector in self._reflectors)

    async def wait_synced(self, *, within: float | None = None) -> None:
        """Wait for the first complete state; ``WaitTimeout`` has the reason why it is missing."""
        try:
            async with self._connection.clock.timeout(within):
                while not self.is_synced:
                    waiter: asyncio.Future[None] = asyncio.get_running_loop().create_future()
                    self._waiters.append(waiter)
                    await waiter
        except TimeoutError:
            raise WaitTimeout(f"{self.resource.gvk} did not sync in {within} s: {self.freshness().reason}") from None

    def age(self) -> float | None:
        """Return the age of `freshness` alone: every read of a run asks for it."""
        reflectors = self._reflectors
        return reflectors[0].age if len(reflectors) == 1 else self.freshness().age

    def freshness(self) -> Freshness:
        """Return how current the cache is; of several namespaces the least current counts."""
        if len(self._reflectors) == 1:
            return self._reflectors[0].freshness()
        parts = [reflector.freshness() for reflector in self._reflectors]
        ages = [part.age for part in parts]
        known = [age for age in ages if age is not None]
        return Freshness(
            is_synced=all(part.is_synced for part in parts),
            age=max(known) if known and len(known) == len(ages) else None,
            error=next((part.error for part in parts if part.error is not None), None),
        )

    def nudge(self) -> None:
        """End a back-off after a failure now."""
        for reflector in self._reflectors:
            reflector.nudge()

    def doubt_watch(self, namespace: str) -> None:
        """Replace the watch if it is quiet: the caller misses an event, in this namespace, that must have been sent."""
        for reflector in self._reflectors:
            reflector.doubt_watch(namespace)

    # Life cycle.

    async def run(self) -> None:
        """Update the cache and call the handlers until cancelled."""
        if self._tasks is not None:
            raise RuntimeError(f"{self!r} is already running")
        async with asyncio.TaskGroup() as tasks:
            self._tasks = tasks
            try:
                for subscription in self._subscriptions:
                    self._start(subscription, tasks)
                for reflector in self._reflectors:
                    tasks.create_task(reflector.run(), name=f"reflector/{self.resource.plural}")
                await asyncio.get_running_loop().create_future()
            finally:
                self._tasks = None
                self._delivering.clear()

    async def __aenter__(self) -> Self:
        async with AsyncExitStack() as stack:
            await stack.enter_async_context(background(self.run(), name=f"informer/{self.resource.plural}"))
            await self.wait_synced(within=SYNC_TIMEOUT)
            self._exit = stack.pop_all()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> bool | None:
        return await self._exit.__aexit__(kind, error, trace)

    def _start(self, subscription: Subscription, tasks: asyncio.TaskGroup) -> None:
        delivering = [tasks.create_task(subscription.run(), name=f"handler/{subscription.name}")]
        if subscription.resync is not None:
            resync = self._resync(subscription, subscription.resync)
            delivering.append(tasks.create_task(resync, name=f"resync/{subscription.name}"))
        self._delivering[subscription] = delivering

    async def _resync(self, subscription: Subscription, seconds: float) -> None:
        while True:
            await self._connection.clock.sleep(seconds)
            subscription.push([Updated(record, record) for record in self._store.records()])

    def _on_changes(self, changes: list[Change]) -> None:
        if self._growth.is_due(self._store.bytes):
            self._warn_of_size()
        synced = self.is_synced
        for subscription in self._subscriptions:
            subscription.push(changes)
            if synced:
                subscription.mark_synced()
        if synced and self._waiters:
            waiters, self._waiters = self._waiters, []
            for waiter in waiters:
                if not waiter.done():
                    waiter.set_result(None)

    def _warn_of_size(self) -> None:
        selection = self.selection
        advice = "namespaces or a selector" if selection.metadata_only else "namespaces, a selector or metadata_only"
        _log.warning(
            "a cache is large: limit it by %s",
            advice,
            extra={
                "cache": str(self.resource.gvr),
                "objects": len(self._store),
                "bytes": self._store.bytes,
                "namespaces": list(selection.namespaces),
                "selector": selection.text,
            },
        )

    def __repr__(self) -> str:
        state = "synced" if self.is_synced else self.freshness().reason
        return f"<Informer {self.resource.gvr} objects={len(self._store)} handlers={len(self._subscriptions)} {state}>"


def _declared_resource(kind: type[KubeObject | Unstructured]) -> ApiResource:
    if issubclass(kind, Unstructured):
        raise TypeError("an informer of Unstructured objects needs resource=…: the kind to watch")
    return resource_of(kind)
