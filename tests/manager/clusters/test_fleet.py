"""Operators in several clusters: each has its own manager, and one that is away stops no other."""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Mapping
from contextlib import asynccontextmanager

import pytest
from msgspec.json import decode

from steersman.concurrency import background
from steersman.controller.context import Context
from steersman.errors import ConfigError
from steersman.history.records import ObjectView
from steersman.kinds.coordination_v1 import Lease
from steersman.kinds.core_v1 import ConfigMap, Secret
from steersman.manager.clusters.fleet import Connections, Fleet, FleetHistoryApp
from steersman.manager.leader.election import ElectionOptions
from steersman.manager.manager import ManagerOptions
from steersman.manager.operator import Operator
from steersman.objects.meta import meta
from steersman.protocol.http import Request
from steersman.testing.cluster import Cluster
from steersman.testing.fake_clock import FakeClock
from steersman.testing.faults import Reset
from steersman.transport.base import Transport
from steersman.transport.config import ClusterConfig
from steersman.transport.in_memory import InMemoryTransport

NAMES = ("eu", "us")


class ListedClusters:
    """A provider whose clusters a test changes."""

    def __init__(self) -> None:
        self._changes: asyncio.Queue[Mapping[str, ClusterConfig]] = asyncio.Queue()

    def set(self, *names: str, namespace: str = "default") -> None:
        """Replace the clusters."""
        found = {name: ClusterConfig(server=f"https://{name}.example.com", namespace=namespace) for name in names}
        self._changes.put_nowait(found)

    async def clusters(self) -> AsyncGenerator[Mapping[str, ClusterConfig], None]:
        """Yield what the test has set."""
        while True:
            yield await self._changes.get()


class World:
    """Two API servers, and a fleet that works in them."""

    def __init__(self, clock: FakeClock, options: ManagerOptions | None = None) -> None:
        self.clock = clock
        self.servers = {name: Cluster(clock=clock, seed=1) for name in NAMES}
        self.provider = ListedClusters()
        #: Connections that were opened, by the name of their cluster.
        self.opened: list[str] = []
        #: The cluster and the name of each object that was reconciled.
        self.seen: list[tuple[str, str]] = []
        self.fleet = Fleet(
            [self.operator()],
            self.provider,
            options or ManagerOptions(sync_timeout=20.0),
            connections=Connections(self._connect),
            clock=clock,
        )

    def operator(self) -> Operator:
        """Return an operator that copies ConfigMaps to Secrets."""
        operator = Operator("copies")

        @operator.reconciler(ConfigMap, owns=[Secret])
        async def copy(config_map: ConfigMap, ctx: Context[ConfigMap]) -> None:
            self.seen.append((ctx.cluster, config_map.name))
            await ctx.apply(Secret(meta(f"{config_map.name}-copy"), string_data={"cluster": ctx.cluster}))

        return operator

    def _connect(self, config: ClusterConfig) -> Transport:
        name = config.server.removeprefix("https://").partition(".")[0]
        self.opened.append(name)
        return InMemoryTransport(self.servers[name].faults, clock=self.clock)

    @asynccontextmanager
    async def running(self, *names: str) -> AsyncIterator[Fleet]:
        """Run the fleet in these clusters inside the block."""
        self.provider.set(*names)
        async with background(self.fleet.run(), name="fleet"):
            await self.clock.settle()
            yield self.fleet

    async def create(self, cluster: str, name: str) -> None:
        """Create a ConfigMap, and wait until the fleet is idle."""
        await self.servers[cluster].client.create(ConfigMap(meta(name)))
        await self.clock.settle()


async def test_each_cluster_has_its_own_objects_and_the_run_knows_which_one_it_is(fake_clock: FakeClock) -> None:
    """Keys are those of one cluster: an object of the same name in another is another object."""
    world = World(fake_clock)
    async with world.running(*NAMES) as fleet:
        await world.create("eu", "a")
        await world.create("us", "a")
        await world.create("us", "b")
        assert {one for one in world.seen if len(one[1]) == 1} == {("eu", "a"), ("us", "a"), ("us", "b")}
        for name in NAMES:
            (copy,) = [one for one in world.servers[name].list(Secret) if one.name == "a-copy"]
            assert copy.data == {"cluster": name.encode()}
        assert not [one for one in world.servers["eu"].list(Secret) if one.name == "b-copy"]
        assert fleet.readiness.failing() == {}
        page = fleet.metrics().decode()
        assert 'steersman_cluster_ready{cluster="eu"} 1.0' in page
        assert 'controller_runtime_reconcile_total{cluster="us",controller="configmap",result="success"}' in page


async def test_a_cluster_that_is_away_stops_no_other_and_is_named(fake_clock: FakeClock) -> None:
    """Silence is not death: it is tried again for as long as it is listed."""
    world = World(fake_clock)
    world.servers["us"].faults.inject(Reset(), times=None)
    async with world.running(*NAMES) as fleet:
        await world.create("eu", "a")
        assert ("eu", "a") in world.seen
        await fake_clock.advance(25.0)  # the manager has given up to wait for its caches, and has begun again
        assert list(fleet.readiness.failing(exclude=["started"])) == ["cluster/us"]
        assert fleet.readiness.failing()["started"] == "not all controllers run yet in us"
        assert "cluster/eu" in fleet.readiness.names()
        assert 'steersman_cluster_ready{cluster="us"} 0.0' in fleet.metrics().decode()
        await world.create("eu", "b")
        assert ("eu", "b") in world.seen
        world.servers["us"].faults.clear()
        await fake_clock.advance(60.0)
        await world.create("us", "c")
        assert ("us", "c") in world.seen
        assert fleet.readiness.failing() == {}


async def test_a_cluster_that_is_not_listed_any_more_is_left_and_its_lease_released(fake_clock: FakeClock) -> None:
    """Another process may be told to work there."""
    election = ElectionOptions(name="copies", namespace="", identity="")
    world = World(fake_clock, ManagerOptions(election=election, instance="pod", sync_timeout=20.0))
    async with world.running(*NAMES) as fleet:
        await fake_clock.advance(5.0)
        leases = {name: world.servers[name].list(Lease)[0] for name in NAMES}
        identities = {one.spec.holder_identity for one in leases.values() if one.spec is not None}
        assert len(identities) == 2, "each cluster has a leader of its own"
        world.provider.set("eu")
        await fake_clock.advance(5.0)
        assert list(fleet.managers) == ["eu"]
        (left,) = world.servers["us"].list(Lease)
        assert left.spec is not None
        assert not left.spec.holder_identity
        assert fleet.readiness.names() == ["started", "clusters", "cluster/eu"]
        await world.create("us", "a")
        assert ("us", "a") not in world.seen


async def test_a_replica_that_waits_for_its_leases_is_ready(fake_clock: FakeClock) -> None:
    """Deployments probe without the check ``started``: otherwise no rollout would ever end."""
    options = ManagerOptions(
        election=ElectionOptions(name="copies", namespace="", identity=""), instance="pod", sync_timeout=20.0
    )
    leader = World(fake_clock, options)
    async with leader.running(*NAMES):
        await fake_clock.advance(5.0)
        waiting = World(fake_clock, options)
        waiting.servers = leader.servers
        async with waiting.running(*NAMES) as fleet:
            await fake_clock.advance(5.0)
            assert fleet.readiness.failing() == {"started": "not all controllers run yet in eu, us"}


async def test_a_cluster_with_new_settings_is_joined_again(fake_clock: FakeClock) -> None:
    """A rotated token is such a change; the other clusters are not disturbed."""
    world = World(fake_clock)
    async with world.running(*NAMES):
        before = list(world.opened)
        world.provider.set("eu", "us", namespace="default")
        await fake_clock.settle()
        assert world.opened == before, "nothing has changed"
        world.provider.set("eu", "us", namespace="ops")
        await fake_clock.settle()
        assert sorted(world.opened) == ["eu", "eu", "us", "us"]
        await world.create("eu", "a")
        assert ("eu", "a") in world.seen


async def test_a_leader_that_was_deposed_in_one_cluster_goes_on_in_the_others(fake_clock: FakeClock) -> None:
    """Each cluster has a Lease and a fence of its own; in the first one the process takes part again."""
    election = ElectionOptions(name="copies", namespace="", identity="")
    world = World(fake_clock, ManagerOptions(election=election, instance="pod", sync_timeout=20.0))
    async with world.running(*NAMES) as fleet:
        await fake_clock.advance(5.0)
        former = fleet.managers["us"]
        world.servers["us"].faults.inject(Reset(), path="leases", times=None)
        await fake_clock.advance(14.0)
        assert fleet.managers.get("us") is not former
        await world.create("eu", "a")
        await world.create("us", "a")
        assert ("eu", "a") in world.seen
        assert ("us", "a") not in world.seen
        world.servers["us"].faults.clear()
        await fake_clock.advance(40.0)
        assert ("us", "a") in world.seen


async def test_steer_why_asks_about_one_cluster(fake_clock: FakeClock) -> None:
    """A port-forward reaches one port, behind which there are several histories."""
    world = World(fake_clock)
    async with world.running(*NAMES) as fleet:
        await world.create("us", "a")
        transport = InMemoryTransport(FleetHistoryApp(fleet), clock=fake_clock)
        assert decode((await transport.request(Request("GET", "/clusters"))).body) == ["eu", "us"]
        found = [
            decode(
                (
                    await transport.request(
                        Request("GET", f"/object?resource=cm&name=a&namespace=default&cluster={name}")
                    )
                ).body,
                type=ObjectView,
            )
            for name in NAMES
        ]
        assert [(one.exists, one.cluster) for one in found] == [
            (False, "eu (https://eu.example.com)"),
            (True, "us (https://us.example.com)"),
        ]
        assert (await transport.request(Request("GET", "/overview?cluster=asia"))).status == 404


def test_what_a_process_has_once_is_rejected(fake_clock: FakeClock) -> None:
    """A second manager would fail to listen on the same port."""
    operator = Operator("a")

    class OwnServer:
        """A server of the author."""

        async def run(self) -> None:
            """Run forever."""

        async def wait_ready(self) -> None:
            """Return at once."""

    operator.add_server(OwnServer())
    connections = Connections(lambda _: InMemoryTransport(Cluster(clock=fake_clock).server, clock=fake_clock))
    with pytest.raises(ConfigError, match="run this operator in one cluster"):
        Fleet([operator], ListedClusters(), ManagerOptions(), connections=connections, clock=fake_clock)
