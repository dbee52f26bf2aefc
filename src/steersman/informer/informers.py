"""Sharing: one informer for each kind and selection, whoever asks for it."""

import asyncio
from collections.abc import Iterator
from contextlib import AsyncExitStack
from types import TracebackType
from typing import Any, Self, TypeVar, cast

from steersman.concurrency import background
from steersman.informer.informer import EVERYTHING, Informer, InformerOptions, Selection
from steersman.informer.reflector import Link
from steersman.objects.identity import GroupVersionKind
from steersman.objects.resource import KubeObject, gvk_of

K = TypeVar("K", bound=KubeObject)


class Informers:
    """Informers with one connection and one life: those asked for before ``run`` start with it, later ones at once."""

    def __init__(self, link: Link) -> None:
        self._link = link
        self._informers: dict[tuple[GroupVersionKind, Selection], Informer[Any]] = {}
        self._tasks: asyncio.TaskGroup | None = None
        self._exit = AsyncExitStack()

    def get(
        self, kind: type[K], selection: Selection = EVERYTHING, *, options: InformerOptions | None = None
    ) -> Informer[K]:
        """Give the informer of a kind and selection, made on the first call; options count for that call only."""
        place = (gvk_of(kind), selection)
        known = self._informers.get(place)
        if known is None:
            known = self._informers[place] = Informer(kind, self._link, selection, options=options)
            if self._tasks is not None:
                self._start(known, self._tasks)
        return cast("Informer[K]", known)

    async def run(self) -> None:
        """Run all informers until cancelled."""
        async with asyncio.TaskGroup() as tasks:
            self._tasks = tasks
            try:
                for informer in self._informers.values():
                    self._start(informer, tasks)
                await asyncio.get_running_loop().create_future()
            finally:
                self._tasks = None

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
        return iter(list(self._informers.values()))

    def __len__(self) -> int:
        return len(self._informers)

    @staticmethod
    def _start(informer: Informer[Any], tasks: asyncio.TaskGroup) -> None:
        tasks.create_task(informer.run(), name=f"informer/{informer.resource.plural}")

    def __repr__(self) -> str:
        return f"<Informers {', '.join(repr(informer) for informer in self)}>"
