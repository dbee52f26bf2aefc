"""`ShardLeadership`: which shards this process may write for; the fence of every write of a sharded operator.

The elector, in its thread, publishes which shards this process holds and which of them should leave. The manager, on
its event loop, reports the shards whose runs have ended. Each side assigns whole values that only it assigns.
"""

from collections.abc import Callable, Mapping
from types import MappingProxyType

from msgspec import Struct

from steersman.clock import Clock
from steersman.errors import LeadershipLost
from steersman.informer.wakeup import Wakeup
from steersman.manager.leader.leadership import Leadership


class ShardHoldings(Struct, frozen=True):
    """What a process holds at one moment."""

    #: The shards that it may write for while its slot is valid, with the number of each hold.
    open: Mapping[int, int] = MappingProxyType({})
    #: Those of them whose runs should end.
    leaving: frozenset[int] = frozenset()
    #: The newest version of each resource that a former holder wrote.
    versions: Mapping[str, str] = MappingProxyType({})


class DrainedShard(Struct, frozen=True):
    """A shard whose runs have ended, and the newest version of each resource that they wrote."""

    shard: int
    number: int
    versions: Mapping[str, str]


class ShardLeadership(Leadership):
    """Leadership of shards. It is valid while the slot of this process is; each shard has a fence of its own."""

    def __init__(self, clock: Clock, count: int) -> None:
        super().__init__(clock)
        #: Number of shards.
        self.count = count
        self._holdings = ShardHoldings()
        self._drained: tuple[DrainedShard, ...] = ()
        self._moved = Wakeup()
        #: Wakes the elector; it replaces this when it starts.
        self._wake_elector: Callable[[], object] = lambda: None
        #: Whether the caches are complete, so that this process can work.
        self._is_ready = False
        #: The newest version of each resource that this process wrote; set before it stops.
        self.written: Mapping[str, str] = MappingProxyType({})

    # For the elector, in its own thread.

    def publish(self, holdings: ShardHoldings) -> None:
        """Replace what this process holds."""
        if holdings != self._holdings:
            self._holdings = holdings
            if not self._loop.is_closed():
                self._loop.call_soon_threadsafe(self._moved.set)

    def listen(self, wake: Callable[[], object]) -> None:
        """Call back, in any thread, when the manager is ready or has drained a shard."""
        self._wake_elector = wake

    @property
    def is_ready(self) -> bool:
        """Whether this process can work."""
        return self._is_ready

    @property
    def drained(self) -> tuple[DrainedShard, ...]:
        """Shards whose runs have ended; those that were released already may be among them."""
        return self._drained

    # For the manager.

    @property
    def holdings(self) -> ShardHoldings:
        """What this process holds."""
        return self._holdings

    def join(self) -> None:
        """Take part: the caches are complete."""
        self._is_ready = True
        self._wake_elector()

    def report_drained(self, drained: DrainedShard) -> None:
        """Release a shard: none of its runs is under way any more."""
        kept = [one for one in self._drained if self._holdings.open.get(one.shard) == one.number]
        self._drained = (*kept, drained)
        self._wake_elector()

    async def wait_moved(self) -> None:
        """Wait until the holdings have changed."""
        await self._moved.wait()

    def fence(self, shard: int) -> "ShardFence":
        """Return the fence of the writes for a shard."""
        return ShardFence(self, shard)

    def __repr__(self) -> str:
        return f"<ShardLeadership valid={self.is_valid} shards={sorted(self._holdings.open)}>"


class ShardFence:
    """Rejects writes for one shard unless this process holds it now."""

    def __init__(self, leadership: ShardLeadership, shard: int) -> None:
        self._leadership = leadership
        self._shard = shard

    def check(self) -> None:
        """Raise ``LeadershipLost`` unless this process may write for the shard now."""
        self._leadership.check()
        if self._shard not in self._leadership.holdings.open:
            raise LeadershipLost(f"this process does not hold shard {self._shard} (any more): it must not write for it")

    def __repr__(self) -> str:
        return f"<ShardFence {self._shard} {self._leadership!r}>"
