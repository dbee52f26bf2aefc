"""Replicas of a sharded operator on one server: who works on what, hand-over, crash, and the fence."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field

import pytest

from steersman.client.client import Client
from steersman.clock import Clock
from steersman.concurrency import background
from steersman.controller.context import Context
from steersman.errors import ConfigError, DeclarationError, LeadershipLost
from steersman.history.records import ObjectName
from steersman.history.replicas import merged_overview, merged_view
from steersman.informer.changes import Change
from steersman.kinds.coordination_v1 import Lease
from steersman.kinds.core_v1 import ConfigMap, Secret
from steersman.manager.leader.election import ElectionOptions
from steersman.manager.leader.shard_election import TABLE
from steersman.manager.manager import Manager, ManagerOptions
from steersman.manager.operator import Operator
from steersman.objects.meta import meta
from steersman.sharding.assignment import Assignment
from steersman.sharding.ranges import shard_of
from steersman.testing.cluster import Cluster
from steersman.testing.fake_clock import FakeClock
from steersman.testing.faults import Faults, Lose, Reset
from steersman.transport.in_memory import InMemoryTransport

SHARDS = 8
pytestmark = pytest.mark.usefixtures("fake_clock")


def active_shards(manager: Manager) -> frozenset[int]:
    """Return the shards that a manager works on."""
    sharded = manager.controllers[0].shards
    assert sharded is not None
    return sharded.keys.active


async def go_on() -> None:
    """Return at once."""


@dataclass
class Replica:
    """One replica: its manager, its network and what it does."""

    name: str
    cluster: Cluster
    #: What each reconcile waits for.
    pause: Callable[[], Awaitable[None]] = go_on
    seen: list[str] = field(default_factory=list)
    #: Objects whose changes reached the author's predicate.
    judged: list[str] = field(default_factory=list)
    #: Background functions that run.
    beats: int = 0
    shard_count: int = SHARDS
    #: Whether it ended because it lost its slot.
    has_lost: bool = False

    def __post_init__(self) -> None:
        self.faults = Faults(self.cluster.server)
        election = ElectionOptions(name="copies", namespace="default", identity=self.name)
        self.manager = Manager(
            [self.operator()],
            InMemoryTransport(self.faults, clock=self.cluster.clock),
            ManagerOptions(election=election, instance=self.name),
            clock=self.cluster.clock,
            randomness=self.cluster.randomness,
        )

    def operator(self) -> Operator:
        """Return an operator that copies ConfigMaps to Secrets."""
        operator = Operator("copies", shards=self.shard_count)

        def judge(change: Change) -> bool:
            self.judged.append((change.old if hasattr(change, "old") else change.new).key.name)
            return True

        @operator.reconciler(ConfigMap, owns=[Secret], when=judge, workers=4)
        async def copy(config_map: ConfigMap, ctx: Context[ConfigMap]) -> None:
            self.seen.append(config_map.name)
            await self.pause()
            await ctx.apply(Secret(meta(f"{config_map.name}-copy"), string_data={"by": self.name}))

        @operator.background
        async def beat(client: Client, clock: Clock) -> None:
            del client
            self.beats += 1
            try:
                await clock.sleep(1e9)
            finally:
                self.beats -= 1

        return operator

    @property
    def shards(self) -> frozenset[int]:
        """The shards that it works on."""
        return active_shards(self.manager)

    async def _run(self) -> None:
        try:
            await self.manager.run()
        except LeadershipLost:
            self.has_lost = True

    @asynccontextmanager
    async def running(self, *, ready: bool = True) -> AsyncIterator["Replica"]:
        """Run it inside the block; its end is a clean stop."""
        async with background(self._run(), name=self.name) as task:
            if ready:
                await self.cluster.drive(self.manager.wait_ready())
            with self.cluster.waiting_for(self.manager):
                await self.cluster.settle()
                try:
                    yield self
                finally:
                    task.cancel()
                    await self.cluster.drive(_ended(task))


async def _ended(task: asyncio.Task[None]) -> None:
    await asyncio.wait({task})


async def create(cluster: Cluster, count: int) -> dict[str, int]:
    """Create ConfigMaps; return the shard of each."""
    made = [await cluster.client.create(ConfigMap(meta(f"c{number}"))) for number in range(count)]
    await cluster.settle()
    return {one.name: shard_of(one.uid, SHARDS) for one in made}


def table(cluster: Cluster) -> Assignment:
    """Return the table of shards on the server."""
    lease = next(one for one in cluster.list(Lease) if one.name == "copies-shards")
    return Assignment.parse(lease.metadata.annotations[TABLE])


async def test_shards_wait_for_a_leader_without_shards(cluster: Cluster, fake_clock: FakeClock) -> None:
    """An update that adds shards starts its replicas while the leader of the former version works on all objects."""
    async with Replica("a", cluster, shard_count=0).running() as leader:
        assert leader.manager.is_idle
        async with Replica("b", cluster).running(ready=False) as b:
            await fake_clock.advance(60.0)
            await create(cluster, 4)
            assert len(leader.seen) >= 4
            assert not b.seen
            leader.faults.inject(Reset(), times=None)  # it cannot release its Lease: silence, not a clean stop
            await fake_clock.advance(12.0)
            assert leader.has_lost
            assert not b.shards
            await fake_clock.advance(14.0)
            assert b.shards == set(range(SHARDS))


async def test_the_replicas_know_which_of_them_works_on_an_object(cluster: Cluster) -> None:
    """``steer why`` asks all of them; each has the object in its cache, one knows what is done about it."""
    async with Replica("a", cluster).running() as a, Replica("b", cluster).running() as b:
        shards = await create(cluster, 12)
        for name, shard in shards.items():
            views = [one.manager.introspection.view(ObjectName("ConfigMap", "default", name)) for one in (a, b)]
            assert [one.replica is not None and one.replica.is_working for one in views] == [
                shard in a.shards,
                shard in b.shards,
            ]
            merged = merged_view(views)
            assert merged.replica is not None
            assert (merged.replica.shard, merged.replica.shards) == (shard, SHARDS)
            assert merged.reconciles
        overview = merged_overview([one.manager.introspection.overview() for one in (a, b)])
        assert overview.leadership is not None
        assert overview.leadership.shards == tuple(range(SHARDS))
        own = [[x for x in one.manager.introspection.summaries() if not x.is_foreign] for one in (a, b)]
        assert len(own[0]) + len(own[1]) == len(shards)


async def test_every_object_is_reconciled_by_the_replica_that_holds_its_shard(cluster: Cluster) -> None:
    """The work is divided, and children follow their owner: a deleted Secret triggers the same replica."""
    async with Replica("a", cluster).running() as a, Replica("b", cluster).running() as b:
        assert len(a.shards) == len(b.shards) == SHARDS // 2
        assert a.shards | b.shards == set(range(SHARDS))
        shards = await create(cluster, 20)
        assert {*a.seen, *b.seen} == shards.keys()
        assert {shards[name] for name in a.seen} <= a.shards
        assert {shards[name] for name in b.seen} <= b.shards
        a.seen.clear()
        b.seen.clear()
        await cluster.client.delete(await cluster.client.get(Secret, "c7-copy"))
        await cluster.settle()
        assert {*a.seen, *b.seen} == {"c7"}
        assert bool(a.seen) == (shards["c7"] in a.shards)


async def test_changes_of_other_replicas_objects_are_dropped_before_the_predicate(cluster: Cluster) -> None:
    """Predicates decode objects: with ten replicas nine tenths of that would be wasted."""
    async with Replica("a", cluster).running() as a, Replica("b", cluster).running():
        a.judged.clear()
        shards = await create(cluster, 20)
        assert {shards[name] for name in a.judged} <= a.shards


async def test_a_clean_stop_hands_all_shards_over_in_no_time(cluster: Cluster, fake_clock: FakeClock) -> None:
    """A rolling update pauses no object for longer than its requests take."""
    async with Replica("a", cluster).running() as a:
        async with AsyncExitStack() as stack:
            b = await stack.enter_async_context(Replica("b", cluster).running())
            shards = await create(cluster, 20)
            theirs = b.shards
            before = fake_clock.monotonic()
            a.seen.clear()
        await cluster.settle()
        assert a.shards == set(range(SHARDS))
        assert {name for name, shard in shards.items() if shard in theirs} <= set(a.seen), "no key is forgotten"
        assert fake_clock.monotonic() - before < 1.0


async def test_a_crashed_replica_is_replaced_after_a_lease_and_not_before(
    cluster: Cluster, fake_clock: FakeClock
) -> None:
    """Silence is not death: the other one may still write until its own deadline, five seconds earlier."""
    async with Replica("a", cluster).running() as a, Replica("b", cluster).running() as b:
        shards = await create(cluster, 20)
        theirs, mine = b.shards, a.shards
        a.seen.clear()
        b.faults.inject(Reset(), times=None)
        b.faults.drop()
        crashed = fake_clock.monotonic()
        while a.shards == mine:
            assert fake_clock.monotonic() - crashed < 15.0
            had_stopped = b.has_lost
            await fake_clock.advance(0.5)
        assert fake_clock.monotonic() - crashed > 12.0
        assert had_stopped, "b stopped long before a began"
        await fake_clock.advance(1.0)
        assert a.shards == set(range(SHARDS))
        assert {name for name, shard in shards.items() if shard in theirs} <= set(a.seen)


async def test_a_shard_moves_only_when_its_runs_have_ended(cluster: Cluster, fake_clock: FakeClock) -> None:
    """The next holder must not work beside a run that is still under way; other shards do not wait for it."""
    gate = asyncio.Event()
    async with Replica("a", cluster, pause=gate.wait).running() as a:
        made = [await cluster.client.create(ConfigMap(meta(f"c{number}"))) for number in range(4)]
        await fake_clock.settle()
        assert len(a.seen) == 4
        busy = {shard_of(one.uid, SHARDS) for one in made}
        b = Replica("b", cluster)
        async with background(b.manager.run(), name="b"):
            await cluster.drive(b.manager.wait_ready())
            await fake_clock.advance(5.0)
            leaving = SHARDS // 2 - len(b.shards)
            assert leaving > 0, "the test needs a shard that is busy and should move"
            assert b.shards
            assert not busy & b.shards
            gate.set()
            await fake_clock.advance(1.0)
            assert len(a.shards) == len(b.shards) == SHARDS // 2
            assert not a.shards & b.shards


async def test_a_replica_without_its_watch_does_not_take_over_from_one_that_works(
    cluster: Cluster, fake_clock: FakeClock
) -> None:
    """A cache is not the truth: the other one renews its slot, and only the watch of it is silent."""
    async with Replica("a", cluster).running() as a, Replica("b", cluster).running() as b:
        a.faults.hold("/leases")
        await fake_clock.advance(60.0)
        assert len(a.shards) == len(b.shards) == SHARDS // 2


async def test_a_write_for_a_shard_of_another_replica_is_rejected_before_it_is_sent(cluster: Cluster) -> None:
    """A task that a reconciler has left behind must not write for a shard that has moved."""
    async with Replica("a", cluster).running() as a:
        sharded = a.manager.controllers[0].shards
        assert sharded is not None
        clients = [sharded.environment(one.uid).options.client for one in [await _made(cluster, n) for n in range(12)]]
        await cluster.settle()
        async with Replica("b", cluster).running() as b:
            a.faults.clear()
            made = cluster.list(ConfigMap)
            for client, obj in zip(clients, sorted(made, key=lambda one: int(one.name[1:])), strict=True):
                if shard_of(obj.uid, SHARDS) in b.shards:
                    with pytest.raises(LeadershipLost, match="does not hold shard"):
                        await client.patch(obj, {"data": {"n": "1"}})
                else:
                    await client.patch(obj, {"data": {"n": "1"}})
            assert 0 < a.faults.count("PATCH", "/configmaps") < 12


async def _made(cluster: Cluster, number: int) -> ConfigMap:
    return await cluster.client.create(ConfigMap(meta(f"c{number}")))


async def test_a_replica_with_another_number_of_shards_waits_for_the_others_to_stop(cluster: Cluster) -> None:
    """A rolling update that changes the number must not divide the same objects in two ways at once."""
    async with AsyncExitStack() as stack:
        a = await stack.enter_async_context(Replica("a", cluster).running())
        async with Replica("b", cluster, shard_count=3).running(ready=False) as b:
            await create(cluster, 6)
            assert not b.seen
            assert len(a.shards) == SHARDS
            await stack.aclose()
            await cluster.settle()
            assert b.shards == {0, 1, 2}
            assert len(set(b.seen)) == 6
            assert table(cluster).count == 3


async def test_more_replicas_than_shards_stand_by(cluster: Cluster, fake_clock: FakeClock) -> None:
    """A replica without a slot waits, and takes over when another one stops."""
    async with AsyncExitStack() as stack:
        a = await stack.enter_async_context(Replica("a", cluster, shard_count=1).running())
        b = Replica("b", cluster, shard_count=1)
        async with b.running(ready=False):
            await fake_clock.advance(60.0)
            assert a.shards == {0}
            assert not b.shards
            await stack.aclose()
            await fake_clock.advance(3.0)
            assert b.shards == {0}


async def test_background_functions_run_on_one_replica(cluster: Cluster) -> None:
    """They have no object and so no shard: the holder of the first shard runs them."""
    async with AsyncExitStack() as stack:
        a = await stack.enter_async_context(Replica("a", cluster).running())
        assert a.beats == 1
        async with Replica("b", cluster).running() as b:
            assert a.beats + b.beats == 1
            assert bool(a.beats) == (0 in a.shards)
            await stack.aclose()
            await cluster.settle()
            assert b.beats == 1


async def test_a_lost_response_to_a_move_leaves_no_shard_without_a_worker(
    cluster: Cluster, fake_clock: FakeClock
) -> None:
    """Whether the table was written is unknown then: the replica reads it, and works on what it holds."""
    async with Replica("a", cluster).running() as a:
        b = Replica("b", cluster)
        b.faults.inject(Lose(), method="PATCH", path="/leases/copies-shards", times=2)
        a.faults.inject(Lose(), method="PATCH", path="/leases/copies-shards", times=2)
        async with b.running():
            await fake_clock.advance(20.0)
            assert len(a.shards) == len(b.shards) == SHARDS // 2
            assert not a.shards & b.shards


async def test_a_sharded_operator_needs_no_more_than_its_roles(cluster: Cluster, fake_clock: FakeClock) -> None:
    """The generated roles name every Lease that it writes."""
    operator = Replica("a", cluster).operator()
    election = ElectionOptions(name="copies", namespace="default", identity="a")
    async with cluster.running(operator, options=ManagerOptions(election=election)) as manager:
        await create(cluster, 3)
        await fake_clock.advance(5.0)
        assert active_shards(manager) == set(range(SHARDS))


def test_a_wrong_number_of_shards_is_rejected_where_it_is_declared() -> None:
    """A replica could do nothing with it."""
    with pytest.raises(DeclarationError, match="from 1 to"):
        Operator("copies", shards=-1)


async def test_operators_of_one_process_have_the_same_number_of_shards(cluster: Cluster) -> None:
    """They share their slots and their table."""
    election = ElectionOptions(name="one", namespace="default", identity="a")
    operators = [Operator("one", shards=2), Operator("two", shards=4)]
    manager = Manager(operators, cluster.transport, ManagerOptions(election=election), clock=cluster.clock)
    with pytest.raises(ConfigError, match="one has 2, two has 4"):
        await manager.run()
