"""The informer: a kind's replica and those who want to know of its changes. Any number of them share one watch.

Promises: the store has a change before any handler is told; every handler sees each object's changes in order, a late
one first gets everything there is; a slow or raising handler holds up nobody else.
"""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from contextlib import AsyncExitStack
from types import TracebackType
from typing import Generic, Self, TypeVar, cast

from msgspec import Struct, field

from steersman.concurrency import background
from steersman.errors import WaitTimeout
from steersman.informer.changes import Added, Change, Deleted, Updated
from steersman.informer.freshness import Freshness
from steersman.informer.index import BY_NAMESPACE, Extract, by_namespace
from steersman.informer.list_watch_driver import ApiConnection, Source
from steersman.informer.reader import StoreReader
from steersman.informer.record import Record, RecordReader, Transform
from steersman.informer.reflector import Reflector
from steersman.informer.store import Store
from steersman.informer.subscription import Handler, Subscription
from steersman.objects.identity import ApiResource, GroupVersionKind
from steersman.objects.resource import KubeObject, Unstructured, resource_of
from steersman.objects.selectors import LabelSelector
from steersman.protocol.list_watch import ListWatchSettings
from steersman.protocol.requests import Requests

K = TypeVar("K", bound=KubeObject | Unstructured)

_PARTIAL = GroupVersionKind("meta.k8s.io", "v1", "PartialObjectMetadata")
#: Seconds that starting waits for the first complete state.
SYNC_TIMEOUT = 120.0
#: The shortest time between two resyncs.
MIN_RESYNC = 1.0


class Selection(Struct, frozen=True, kw_only=True):
    """Which objects of a kind are replicated. Equal selections can share a watch."""

    #: None of them means all.
    namespaces: tuple[str, ...] = ()
    label_selector: str = ""
    field_selector: str = ""
    #: Keep only the metadata of each object; read them as ``PartialObjectMetadata``.
    metadata_only: bool = False
    #: Ask for the initial state as a stream where the server can.
    watch_list: bool = True


EVERYTHING = Selection()


class InformerOptions(Struct, frozen=True, kw_only=True):
    """How a replica is kept."""

    transform: Transform | None = None
    #: Further ways to find objects, beside by namespace.
    indexes: Mapping[str, Extract] = field(default_factory=dict)


class Informer(StoreReader[K], Generic[K]):
    """A kind's replica: read it, or be told of its changes. Use it as ``async with``, or run it and wait for sync."""

    def __init__(
        self,
        kind: type[K],
        link: ApiConnection,
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
        store = Store({BY_NAMESPACE: by_namespace, **options.indexes})
        super().__init__(kind, store)
        self._link = link
        reader = RecordReader(_PARTIAL if selection.metadata_only else self.resource.gvk, transform=options.transform)
        settings = ListWatchSettings(
            label_selector=selection.label_selector,
            field_selector=selection.field_selector,
            watch_list=selection.watch_list,
        )
        requests = Requests(self.resource, metadata_only=selection.metadata_only)
        self._reflectors = [
            Reflector(Source(requests, settings, namespace), store, reader, link, self._on_changes)
            for namespace in dict.fromkeys(selection.namespaces or ("",))
        ]
        self._subscriptions: list[Subscription] = []
        #: The tasks of each handler that is being told, to end them with it.
        self._telling: dict[Subscription, list[asyncio.Task[None]]] = {}
        self._tasks: asyncio.TaskGroup | None = None
        self._waiters: list[asyncio.Future[None]] = []
        self._exit = AsyncExitStack()

    # Being told.

    def add_handler(self, handler: Handler, *, name: str = "", resync: float | None = None) -> Subscription:
        """Tell a handler of every change from now on, and first of everything there is, marked as initial.

        ``resync`` repeats all objects to this handler every so many seconds; nothing is asked of the server.
        """
        if resync is not None and resync < MIN_RESYNC:
            raise ValueError(f"resync must be at least {MIN_RESYNC:g} s, got {resync}")
        label = name or getattr(handler, "__qualname__", type(handler).__qualname__)
        subscription = Subscription(label, handler, clock=self._link.clock, resync=resync)
        subscription.push([Added(record, is_initial=True) for record in self._store.records()])
        if self.is_synced:
            subscription.mark_synced()
        self._subscriptions.append(subscription)
        if self._tasks is not None:
            self._start(subscription, self._tasks)
        return subscription

    def remove_handler(self, subscription: Subscription) -> None:
        """Tell a handler nothing more, not even what waits for it; one that is gone already is fine."""
        if subscription in self._subscriptions:
            self._subscriptions.remove(subscription)
        for task in self._telling.pop(subscription, ()):
            task.cancel()

    def handle(
        self,
        *,
        added: Callable[[K], Awaitable[None] | None] | None = None,
        updated: Callable[[K, K], Awaitable[None] | None] | None = None,
        deleted: Callable[[K], Awaitable[None] | None] | None = None,
    ) -> Subscription:
        """Tell functions of typed objects: ``added(new)``, ``updated(old, new)``, ``deleted(last_known)``."""

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
        """Let ``by_index(name, value)`` find objects by what a function gives for each."""

        def extract(record: Record) -> list[str]:
            return values(self.decode(record))

        self._store.add_index(name, extract)

    def ensure_record_index(self, name: str, extract: Extract) -> None:
        """Index by a value that needs no decoding, unless there is an index of that name."""
        if not self._store.has_index(name):
            self._store.add_index(name, extract)

    # State.

    @property
    def store(self) -> Store:
        """The records themselves, to read."""
        return self._store

    @property
    def is_partial(self) -> bool:
        """Whether it leaves out some objects, or parts of them, that its namespaces have."""
        return bool(self.selection.label_selector or self.selection.field_selector or self.selection.metadata_only)

    def covers_namespace(self, namespace: str) -> bool:
        """Tell whether objects of a namespace are replicated."""
        return not self.selection.namespaces or namespace in self.selection.namespaces

    @property
    def is_synced(self) -> bool:
        """Whether the replica holds a complete state."""
        return all(reflector.is_synced for reflector in self._reflectors)

    async def wait_synced(self, *, within: float | None = None) -> None:
        """Wait for the first complete state; the ``WaitTimeout`` says what stands in the way."""
        try:
            async with self._link.clock.timeout(within):
                while not self.is_synced:
                    waiter: asyncio.Future[None] = asyncio.get_running_loop().create_future()
                    self._waiters.append(waiter)
                    await waiter
        except TimeoutError:
            raise WaitTimeout(f"{self.resource.gvk} did not sync in {within} s: {self.freshness().reason}") from None

    def freshness(self) -> Freshness:
        """Show how current the replica is; of several namespaces the least current counts."""
        parts = [reflector.freshness() for reflector in self._reflectors]
        ages = [part.age for part in parts]
        known = [age for age in ages if age is not None]
        return Freshness(
            is_synced=all(part.is_synced for part in parts),
            age=max(known) if known and len(known) == len(ages) else None,
            error=next((part.error for part in parts if part.error is not None), None),
        )

    def nudge(self) -> None:
        """Try again now if a failure is being waited out."""
        for reflector in self._reflectors:
            reflector.nudge()

    # Life.

    async def run(self) -> None:
        """Keep the replica true and the handlers told, until cancelled."""
        if self._tasks is not None:
            raise RuntimeError(f"{self!r} runs already")
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
                self._telling.clear()

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
        telling = [tasks.create_task(subscription.run(), name=f"handler/{subscription.name}")]
        if subscription.resync is not None:
            resync = self._resync(subscription, subscription.resync)
            telling.append(tasks.create_task(resync, name=f"resync/{subscription.name}"))
        self._telling[subscription] = telling

    async def _resync(self, subscription: Subscription, seconds: float) -> None:
        while True:
            await self._link.clock.sleep(seconds)
            subscription.push([Updated(record, record) for record in self._store.records()])

    def _on_changes(self, changes: list[Change]) -> None:
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

    def __repr__(self) -> str:
        state = "synced" if self.is_synced else self.freshness().reason
        return f"<Informer {self.resource.gvr} objects={len(self._store)} handlers={len(self._subscriptions)} {state}>"


def _declared_resource(kind: type[KubeObject | Unstructured]) -> ApiResource:
    if issubclass(kind, Unstructured):
        raise TypeError("an informer of Unstructured objects needs resource=…: which kind it shall follow")
    return resource_of(kind)
