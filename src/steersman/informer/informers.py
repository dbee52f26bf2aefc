"""`Informers`: one shared informer for each kind and selection."""

import asyncio
from collections.abc import Iterator
from contextlib import AsyncExitStack
from types import TracebackType
from typing import Any, Self, TypeVar, cast

from msgspec.structs import replace

from steersman.concurrency import background
from steersman.informer.informer import EVERYTHING, Informer, InformerOptions, Selection
from steersman.informer.list_watch_driver import ApiConnection
from steersman.informer.subscription import Handler, Subscription
from steersman.objects.identity import ApiResource, GroupVersionKind
from steersman.objects.resource import KubeObject, Unstructured, gvk_of

K = TypeVar("K", bound=KubeObject)


class InformerHandle:
    """A handler at a shared informer. An informer that was created by ``follow`` stops with its last handle."""

    def __init__(self, informers: "Informers", informer: Informer[Any], subscription: Subscription) -> None:
        self._informers = informers
        self.informer = informer
        self.subscription = subscription

    def end(self) -> None:
        """Remove the handler, and stop the informer if this was its last handle; a second call does nothing."""
        self.informer.remove_handler(self.subscription)
        self._informers.leave(self)

    def __repr__(self) -> str:
        return f"<InformerHandle {self.informer.resource.gvr} {self.subscription!r}>"


class Informers:
    """Informers that share a connection: those created before ``run`` start with it, later ones at once."""

    def __init__(self, connection: ApiConnection) -> None:
        self._connection = connection
        self._informers: dict[tuple[GroupVersionKind, Selection], Informer[Any]] = {}
        #: Informers that stop with their last handle, and the handles; those of ``get`` stay.
        self._followed: dict[tuple[GroupVersionKind, Selection], Informer[Any]] = {}
        self._handles: dict[Informer[Any], list[InformerHandle]] = {}
        self._tasks: asyncio.TaskGroup | None = None
        self._running: dict[Informer[Any], asyncio.Task[None]] = {}
        self._exit = AsyncExitStack()

    def get(
        self, kind: type[K], selection: Selection = EVERYTHING, *, options: InformerOptions | None = None
    ) -> Informer[K]:
        """Return the informer of a kind and selection, created on the first call; only that call's options count.

        A selection of metadata shares the informer of the same whole objects if there is one.
        """
        place = (gvk_of(kind), selection)
        known = self._informers.get(place)
        if known is None and selection.metadata_only:
            known = self._informers.get((gvk_of(kind), replace(selection, metadata_only=False)))
        if known is None:
            known = self._informers[place] = Informer(kind, self._connection, selection, options=options)
            self._begin(known)
        return cast("Informer[K]", known)

    def follow(
        self, resource: ApiResource, handler: Handler, selection: Selection = EVERYTHING, *, name: str = ""
    ) -> InformerHandle:
        """Call a handler with the changes of a kind, which needs no class, until the returned handle is ended.

        It is called first with the existing objects, marked as initial. Equal kinds and selections share one watch.
        """
        place = (resource.gvk, selection)
        informer = self._informers.get(place, self._followed.get(place))
        if informer is None:
            informer = self._followed[place] = Informer(Unstructured, self._connection, selection, resource=resource)
            self._begin(informer)
        handle = InformerHandle(self, informer, informer.add_handler(handler, name=name))
        self._handles.setdefault(informer, []).append(handle)
        return handle

    def leave(self, handle: InformerHandle) -> None:
        """Remove a handle; an informer that ``follow`` created stops with its last handle."""
        informer = handle.informer
        others = [other for other in self._handles.pop(informer, ()) if other is not handle]
        if others:
            self._handles[informer] = others
            return
        place = (informer.resource.gvk, informer.selection)
        if self._followed.get(place) is informer:
            del self._followed[place]
            if (task := self._running.pop(informer, None)) is not None:
                task.cancel()

    async def run(self) -> None:
        """Run all informers until cancelled."""
        async with asyncio.TaskGroup() as tasks:
            self._tasks = tasks
            try:
                for informer in self:
                    self._begin(informer)
                await asyncio.get_running_loop().create_future()
            finally:
                self._tasks = None
                self._running.clear()

    async def __aenter__(self) -> Self:
        async with AsyncExitStack() as stack:
            await stack.enter_async_context(background(self.run(), name="informers"))
            self._exit = stack.pop_all()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> bool | None:
        return await self._exit.__aexit__(kind, error, trace)

    def __iter__(self) -> Iterator[Informer[Any]]:
        return iter([*self._informers.values(), *self._followed.values()])

    def __len__(self) -> int:
        return len(self._informers) + len(self._followed)

    def _begin(self, informer: Informer[Any]) -> None:
        if self._tasks is not None:
            task = self._tasks.create_task(informer.run(), name=f"informer/{informer.resource.plural}")
            self._running[informer] = task

    def __repr__(self) -> str:
        return f"<Informers {', '.join(repr(informer) for informer in self)}>"
