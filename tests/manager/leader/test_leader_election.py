"""Elections between replicas on one server, with a clock that the test advances."""

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from datetime import datetime, timedelta

import pytest

from steersman.apiserver.server import ApiServer
from steersman.client.client import Client
from steersman.clock import RealClock
from steersman.errors import LeadershipLost
from steersman.informer.list_watch_driver import ApiConnection
from steersman.kinds.coordination_v1 import Lease
from steersman.kinds.core_v1 import ConfigMap
from steersman.manager.leader.election import ElectionOptions
from steersman.manager.leader.leadership import Leadership
from steersman.manager.leader.thread import elect_here, elect_in_thread
from steersman.objects.meta import meta
from steersman.randomness import Randomness
from steersman.serving.server import Server
from steersman.testing.fake_clock import FakeClock
from steersman.testing.faults import Before, Faults, Lose, Refuse, Reset
from steersman.transport.config import ClusterConfig
from steersman.transport.fenced import FencedTransport
from steersman.transport.http.transport import HttpTransport
from steersman.transport.in_memory import InMemoryTransport


@dataclass
class Replica:
    """One process that takes part in the election."""

    leadership: Leadership
    faults: Faults
    client: Client

    @property
    def leads(self) -> bool:
        """Whether it may write now."""
        return self.leadership.is_valid


@asynccontextmanager
async def replica(server: ApiServer, clock: FakeClock, name: str, seed: int = 0) -> AsyncIterator[Replica]:
    """Start a replica with its own connection."""
    faults = Faults(server)
    transport = InMemoryTransport(faults, clock=clock)
    options = ElectionOptions(name="op", namespace="default", identity=name)
    async with elect_here(ApiConnection(transport, clock, Randomness(seed)), options) as leadership:
        guarded = FencedTransport(InMemoryTransport(server, clock=clock), leadership)
        yield Replica(leadership, faults, Client(guarded, clock=clock))


async def lease(server: ApiServer, clock: FakeClock) -> Lease:
    """Return the lease."""
    return await Client(InMemoryTransport(server, clock=clock), clock=clock).get(Lease, "op")


async def test_the_first_replica_leads_and_renews() -> None:
    """Alone in a cluster, leadership is immediate and lasts."""
    clock = FakeClock()
    server = ApiServer(clock=clock)
    async with replica(server, clock, "a") as a:
        await clock.settle()
        assert a.leads
        first = await lease(server, clock)
        await clock.advance(60.0)
        assert a.leads
        later = await lease(server, clock)
        assert later.spec.holder_identity == "a"
        assert later.spec.lease_transitions == 0
        assert later.spec.acquire_time == first.spec.acquire_time
        assert later.spec.renew_time != first.spec.renew_time


class TickingClock(FakeClock):
    """A clock that never returns the same time of day twice, like a real one."""

    looks = 0

    def now(self) -> datetime:
        """Return the time, a microsecond later each time."""
        self.looks += 1
        return super().now() + timedelta(microseconds=self.looks)


async def test_a_leader_renews_at_its_own_interval() -> None:
    """The leader watches its lease, too: its own renewals must not make it renew again."""
    clock = TickingClock()
    server = ApiServer(clock=clock)
    async with replica(server, clock, "a") as a:
        await clock.settle()
        a.faults.clear()
        await clock.advance(60.0)
        assert a.leads
        assert 25 <= a.faults.count("PATCH") <= 35


async def test_only_one_of_two_leads() -> None:
    """The other stands by for as long as the first renews."""
    clock = FakeClock()
    server = ApiServer(clock=clock)
    async with replica(server, clock, "a") as a:
        await clock.settle()
        async with replica(server, clock, "b") as b:
            for _ in range(60):
                await clock.advance(1.0)
                assert a.leads
                assert not b.leads


async def test_a_clean_stop_hands_over_in_under_a_second() -> None:
    """The successor watches the lease: a rolling update causes no pause."""
    clock = FakeClock()
    server = ApiServer(clock=clock)
    async with AsyncExitStack() as stack:
        a = await stack.enter_async_context(replica(server, clock, "a"))
        await clock.settle()
        assert a.leads
        async with replica(server, clock, "b") as b:
            await clock.advance(3.0)
            await stack.aclose()
            await clock.settle()
            assert b.leads
            assert (await lease(server, clock)).spec.lease_transitions == 1


async def test_a_crashed_leader_is_replaced_after_the_lease_and_not_before() -> None:
    """Fifteen seconds after the last observed renewal; meanwhile no process writes."""
    clock = FakeClock()
    server = ApiServer(clock=clock)
    async with replica(server, clock, "a") as a:
        await clock.settle()
        async with replica(server, clock, "b", seed=1) as b:
            await clock.advance(1.0)
            a.faults.inject(Reset(), times=None)
            seen: list[tuple[bool, bool]] = []
            for _ in range(25):
                await clock.advance(1.0)
                seen.append((a.leads, b.leads))
            assert (True, True) not in seen
            assert seen[-1] == (False, True)
            nobody = [pair for pair in seen if pair == (False, False)]
            assert 1 <= len(nobody) <= 10


async def test_losing_the_connection_stops_writes_at_the_renew_deadline() -> None:
    """Ten seconds after the last renewal every write is rejected by this process."""
    clock = FakeClock()
    server = ApiServer(clock=clock)
    async with replica(server, clock, "a") as a:
        await clock.settle()
        await a.client.create(ConfigMap(meta("before")))
        a.faults.inject(Refuse(503, "ServiceUnavailable"), times=None)
        await clock.advance(10.1)
        assert not a.leads
        with pytest.raises(LeadershipLost):
            await a.client.create(ConfigMap(meta("after")))
        assert await a.client.try_get(ConfigMap, "before") is not None


async def test_the_loss_of_leadership_is_reported_once() -> None:
    """The election itself notifies a process that must end: its event loop may be blocked."""
    clock = FakeClock()
    faults = Faults(ApiServer(clock=clock))
    lost: list[float] = []
    options = ElectionOptions(
        name="op", namespace="default", identity="a", on_lost=lambda: lost.append(clock.monotonic())
    )
    link = ApiConnection(InMemoryTransport(faults, clock=clock), clock, Randomness(0))
    async with elect_here(link, options) as leadership:
        await leadership.wait_acquired()
        faults.inject(Refuse(503, "ServiceUnavailable"), times=None)
        await clock.advance(30.0)
        assert lost == [10.0]


@pytest.mark.parametrize(
    "fault", [Lose(), Reset(), Refuse(409, "Conflict"), Refuse(500), Refuse(429, "TooManyRequests")]
)
async def test_any_single_failure_is_survived(fault: Lose | Reset | Refuse) -> None:
    """One failed request, at any step, loses no leadership and creates no second leader."""
    for step in range(8):
        clock = FakeClock()
        server = ApiServer(clock=clock)
        async with replica(server, clock, "a") as a, replica(server, clock, "b", seed=2) as b:
            for second in range(30):
                if second == step:
                    a.faults.inject(fault, path="/leases")
                    b.faults.inject(fault, path="/leases")
                await clock.advance(0.7)
                assert not (a.leads and b.leads)
            assert a.leads or b.leads


async def test_a_lease_edited_by_another_client_ends_leadership() -> None:
    """An administrator may take it away."""
    clock = FakeClock()
    server = ApiServer(clock=clock)
    async with replica(server, clock, "a") as a:
        await clock.settle()
        held = await lease(server, clock)
        held.spec.holder_identity = "someone"
        await Client(InMemoryTransport(server, clock=clock), clock=clock).update(held)
        await clock.advance(3.0)
        assert not a.leads


async def test_a_deleted_lease_is_created_again() -> None:
    """Deleting too much must not leave an operator without a leader."""
    clock = FakeClock()
    server = ApiServer(clock=clock)
    client = Client(InMemoryTransport(server, clock=clock), clock=clock)
    async with replica(server, clock, "a") as a:
        await clock.settle()
        await client.delete(await lease(server, clock))
        await clock.advance(5.0)
        assert a.leads or await client.try_get(Lease, "op") is not None


async def test_a_competing_write_right_before_ours_wins() -> None:
    """The version decides, not a process that believes to lead."""
    clock = FakeClock()
    server = ApiServer(clock=clock)
    async with replica(server, clock, "a") as a, replica(server, clock, "b", seed=3) as b:
        await clock.settle()
        writes: list[str] = []
        a.faults.inject(Before(lambda: writes.append("a")), method="PATCH", times=None)
        await clock.advance(20.0)
        assert writes
        assert a.leads != b.leads


class JumpingClock(FakeClock):
    """A clock whose wall time can be set, as administrators and NTP do."""

    def __init__(self) -> None:
        super().__init__()
        self.offset = timedelta()

    def now(self) -> datetime:
        """Return the wall-clock time that was set."""
        return super().now() + self.offset


@pytest.mark.parametrize("hours", [-10, -1, 1, 10])
async def test_jumps_of_the_wall_clock_change_nothing(hours: int) -> None:
    """Only monotonic time counts: setting a clock neither loses nor wins leadership."""
    clock = JumpingClock()
    server = ApiServer(clock=clock)
    async with replica(server, clock, "a") as a, replica(server, clock, "b", seed=4) as b:
        await clock.advance(3.0)
        leader, other = (a, b) if a.leads else (b, a)
        for _ in range(5):
            clock.offset += timedelta(hours=hours)
            for _ in range(20):
                await clock.advance(0.5)
                assert leader.leads
                assert not other.leads


async def test_the_elector_thread_renews_while_the_event_loop_is_blocked() -> None:
    """A reconcile that computes for seconds must not silently lose the leadership."""
    clock = RealClock()
    server = ApiServer(clock=clock)
    async with Server(server, clock=clock) as http:
        config = ClusterConfig(server=http.url)
        options = ElectionOptions(name="op", namespace="default", identity="a")
        async with elect_in_thread(lambda: HttpTransport(config, clock=clock), clock, options) as leadership:
            async with clock.timeout(5.0):
                await leadership.wait_acquired()
            assert leadership.is_valid
        assert not leadership.is_valid
        client = Client(InMemoryTransport(server, clock=clock), clock=clock)
        assert (await client.get(Lease, "op")).spec.holder_identity == ""
