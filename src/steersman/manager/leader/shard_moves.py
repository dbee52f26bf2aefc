"""`ShardMoves`: starts and ends the work on shards as they come and go, on the event loop of the manager."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping

from steersman.manager.leader.shard_leadership import DrainedShard, ShardLeadership


class ShardMoves:
    """Follow what this process holds until cancelled.

    ``adopt`` begins the work on a shard; ``drain`` ends it, waits for its runs, and returns the newest version of each
    resource that they wrote. They are never called for the same shard at the same time.
    """

    def __init__(
        self,
        leadership: ShardLeadership,
        adopt: Callable[[int, Mapping[str, str]], Awaitable[None]],
        drain: Callable[[int], Awaitable[Mapping[str, str]]],
    ) -> None:
        self._leadership = leadership
        self._adopt = adopt
        self._drain = drain
        #: The number of the hold that is worked on, for each shard.
        self._working: dict[int, int] = {}
        #: The number of the hold that was drained last, for each shard.
        self._reported: dict[int, int] = {}
        #: Shards that are being adopted or drained.
        self._moving: dict[int, asyncio.Task[None]] = {}

    @property
    def is_idle(self) -> bool:
        """Whether the work on every shard has begun or ended as it should."""
        return not self._moving and all(self._is_settled(shard) for shard in self._shards())

    async def run(self) -> None:
        """Adopt and drain shards as they come and go."""
        async with asyncio.TaskGroup() as tasks:
            while True:
                for shard in self._shards():
                    if shard not in self._moving and not self._is_settled(shard):
                        self._moving[shard] = tasks.create_task(self._move(shard), name=f"shard/{shard}")
                await self._leadership.wait_moved()

    def _shards(self) -> set[int]:
        return {*self._leadership.holdings.open, *self._working}

    def _is_settled(self, shard: int) -> bool:
        holdings = self._leadership.holdings
        number = holdings.open.get(shard)
        if shard in holdings.leaving:
            return shard not in self._working and self._reported.get(shard) == number
        return self._working.get(shard) == number

    async def _move(self, shard: int) -> None:
        """Bring the work on a shard in line with what is held, until it is."""
        try:
            while not self._is_settled(shard):
                await self._step(shard)
        finally:
            del self._moving[shard]

    async def _step(self, shard: int) -> None:
        holdings = self._leadership.holdings
        if shard in self._working:
            versions = await self._drain(shard)
            self._report(shard, self._working.pop(shard), versions)
        elif shard in holdings.leaving:
            # It should leave again before the work on it has begun.
            self._report(shard, holdings.open[shard], {})
        else:
            self._working[shard] = holdings.open[shard]
            await self._adopt(shard, holdings.versions)

    def _report(self, shard: int, number: int, versions: Mapping[str, str]) -> None:
        self._reported[shard] = number
        self._leadership.report_drained(DrainedShard(shard, number, versions))

    def __repr__(self) -> str:
        return f"<ShardMoves working={sorted(self._working)} moving={sorted(self._moving)}>"
