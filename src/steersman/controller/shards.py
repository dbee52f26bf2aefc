"""`ShardKeys`: which keys of a sharded operator are worked on here, which of them run, and what their runs wrote."""

import asyncio
from collections import Counter
from collections.abc import Mapping
from typing import Protocol

from steersman.client.client import Client
from steersman.clock import Clock
from steersman.informer.record import Record
from steersman.informer.store import is_newer
from steersman.protocol.http import WriteFence
from steersman.sharding.ranges import shard_of

#: Seconds that a new holder waits at most for its caches to show what the former one wrote.
CATCH_UP = 0.5


class ShardAccess(Protocol):
    """What the work on one shard uses."""

    @property
    def count(self) -> int:
        """Number of shards."""

    def fence(self, shard: int) -> WriteFence:
        """Return the fence of all writes for a shard."""

    def client(self, shard: int, client: Client) -> Client:
        """Return a client like that one, whose writes are fenced for a shard."""


class ShardKeys:
    """The shards of one controller that are worked on in this process."""

    def __init__(self, count: int, clock: Clock) -> None:
        self._count = count
        self._clock = clock
        self._active: set[int] = set()
        #: Number of runs under way for each shard.
        self._running: Counter[int] = Counter()
        self._waiters: list[tuple[int, asyncio.Future[None]]] = []
        #: The newest version of each kind that runs wrote, and that the caches have shown.
        self._written: dict[str, str] = {}
        self._seen: dict[str, str] = {}
        self._seen_waiters: list[asyncio.Future[None]] = []

    def shard(self, uid: str) -> int:
        """Return the shard of an object."""
        return shard_of(uid, self._count)

    def is_mine(self, record: Record) -> bool:
        """Return whether an object is worked on here."""
        return shard_of(record.uid, self._count) in self._active

    @property
    def active(self) -> frozenset[int]:
        """Shards that are worked on here."""
        return frozenset(self._active)

    # Runs.

    def begin(self, uid: str) -> bool:
        """Begin a run if the object is worked on here; return whether it is. ``end`` must follow."""
        shard = shard_of(uid, self._count)
        if shard not in self._active:
            return False
        self._running[shard] += 1
        return True

    def end(self, uid: str) -> None:
        """End a run."""
        shard = shard_of(uid, self._count)
        self._running[shard] -= 1
        if not self._running[shard]:
            del self._running[shard]
            for waited, waiter in self._waiters:
                if waited == shard and not waiter.done():
                    waiter.set_result(None)

    # Moves.

    def open(self, shard: int) -> None:
        """Work on a shard from now on."""
        self._active.add(shard)

    async def close(self, shard: int) -> None:
        """Begin no run for a shard any more, and wait until those under way have ended."""
        self._active.discard(shard)
        while self._running[shard]:
            waiter: asyncio.Future[None] = asyncio.get_running_loop().create_future()
            self._waiters.append((shard, waiter))
            try:
                await waiter
            finally:
                self._waiters.remove((shard, waiter))

    # What a new holder has to see.

    @property
    def written(self) -> Mapping[str, str]:
        """The newest version of each kind that runs wrote here."""
        return self._written

    def wrote(self, kind: str, version: str) -> None:
        """Record a write of a run."""
        if version and is_newer(version, self._written.get(kind, "")):
            self._written[kind] = version

    def saw(self, kind: str, version: str) -> None:
        """Record a change that a cache has shown."""
        if is_newer(version, self._seen.get(kind, "")):
            self._seen[kind] = version
            if self._seen_waiters:
                for waiter in self._seen_waiters:
                    if not waiter.done():
                        waiter.set_result(None)

    async def wait_seen(self, versions: Mapping[str, str]) -> list[str]:
        """Wait until the caches show these versions, a while at most; return the kinds that they do not show.

        A version cannot be seen if its object was deleted before the cache was filled, so the time is limited.
        """
        try:
            async with self._clock.timeout(CATCH_UP):
                while self._missing(versions):
                    waiter: asyncio.Future[None] = asyncio.get_running_loop().create_future()
                    self._seen_waiters.append(waiter)
                    try:
                        await waiter
                    finally:
                        self._seen_waiters.remove(waiter)
        except TimeoutError:
            pass
        return self._missing(versions)

    def _missing(self, versions: Mapping[str, str]) -> list[str]:
        return [
            kind for kind, version in versions.items() if kind in self._seen and is_newer(version, self._seen[kind])
        ]

    def __repr__(self) -> str:
        return f"<ShardKeys {sorted(self._active)} of {self._count} running={sum(self._running.values())}>"
