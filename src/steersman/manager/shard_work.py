"""The work of one replica on shards: its controllers, and the background functions on the first shard."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any

from steersman.client.client import Client
from steersman.concurrency import background
from steersman.controller.controller import Controller
from steersman.informer.wakeup import Wakeup
from steersman.manager.leader.shard_leadership import ShardFence, ShardLeadership
from steersman.protocol.http import WriteFence
from steersman.sharding.assignment import newest

#: The shard whose holder runs the background functions: they must run once.
_FIRST = 0


class ManagerShards:
    """The clients and fences of each shard, for controllers."""

    def __init__(self, leadership: ShardLeadership, make_client: Callable[[WriteFence, str], Client]) -> None:
        self._leadership = leadership
        #: Makes a client from a fence and the name of a field manager.
        self._make_client = make_client

    @property
    def count(self) -> int:
        """Number of shards."""
        return self._leadership.count

    def fence(self, shard: int) -> ShardFence:
        """Return the fence of all writes for a shard."""
        return self._leadership.fence(shard)

    def client(self, shard: int, client: Client) -> Client:
        """Return a client like that one, whose writes are fenced for a shard."""
        return self._make_client(self.fence(shard), client.field_manager)


class ShardWork:
    """Begins and ends the work on shards."""

    def __init__(
        self, controllers: Sequence[Controller[Any]], functions: Sequence[Callable[[], Awaitable[None]]]
    ) -> None:
        self._controllers = controllers
        self._functions = functions
        #: Whether this replica holds the first shard.
        self._has_first = False
        self._changed = Wakeup()
        self._ended = asyncio.Event()
        self._ended.set()

    async def adopt(self, shard: int, versions: Mapping[str, str]) -> None:
        """Begin the work on a shard."""
        async with asyncio.TaskGroup() as tasks:
            for controller in self._controllers:
                tasks.create_task(_adopt(controller, shard, versions), name=f"adopt/{controller.reconciler.name}")
        if shard == _FIRST:
            self._has_first = True
            self._changed.set()

    async def drain(self, shard: int) -> Mapping[str, str]:
        """End the work on a shard; return the newest version of each kind that was written."""
        if shard == _FIRST:
            self._has_first = False
            self._changed.set()
            await self._ended.wait()
        async with asyncio.TaskGroup() as tasks:
            ended = [
                tasks.create_task(_release(controller, shard), name=f"release/{controller.reconciler.name}")
                for controller in self._controllers
            ]
        versions: Mapping[str, str] = {}
        for task in ended:
            versions = newest(versions, task.result())
        return versions

    async def run(self) -> None:
        """Run the background functions while this replica holds the first shard; an exception of one ends this."""
        while True:
            await self._changed.wait()
            if not self._has_first:
                continue
            self._ended.clear()
            try:
                async with background(self._run_functions(), name="background"):
                    while self._has_first:
                        await self._changed.wait()
            finally:
                self._ended.set()

    async def _run_functions(self) -> None:
        async with asyncio.TaskGroup() as tasks:
            for function in self._functions:
                tasks.create_task(_awaited(function()), name="background")


async def _adopt(controller: Controller[Any], shard: int, versions: Mapping[str, str]) -> None:
    if controller.shards is not None:
        for record in await controller.shards.open(shard, versions):
            controller.adopt(record)


async def _release(controller: Controller[Any], shard: int) -> Mapping[str, str]:
    """End the work of a controller on a shard; return the newest version of each kind that it wrote."""
    shards = controller.shards
    if shards is None:
        return {}
    await shards.keys.close(shard)
    controller.release(lambda record: shards.keys.shard(record.uid) == shard)
    return shards.keys.written


def written_versions(controllers: Sequence[Controller[Any]]) -> dict[str, str]:
    """Return the newest version of each kind that controllers wrote."""
    found: dict[str, str] = {}
    for controller in controllers:
        if controller.shards is not None:
            found = newest(found, controller.shards.keys.written)
    return found


async def _awaited(work: Awaitable[None]) -> None:
    await work
