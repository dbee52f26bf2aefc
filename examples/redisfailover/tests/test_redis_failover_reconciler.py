"""What the operator does in the cluster, with servers that only pretend: real ones are in ``databases``."""

from dataclasses import replace
from pathlib import Path

import pytest
from steersman import meta
from steersman.kinds.apps_v1 import Deployment, StatefulSet
from steersman.kinds.core_v1 import ConfigMap, Pod, Secret, Service
from steersman.localcluster.local_cluster import local_operators
from steersman.testing.cluster import Cluster
from steersman.testing.fake_clock import FakeClock

from redisfailover.actions import Action, Adjust, Configure, Follow, Monitor, Promote
from redisfailover.api.redis_failover_v1 import AuthSettings, RedisFailover, RedisFailoverSpec, RedisSettings
from redisfailover.names import ROLE
from redisfailover.observation import Address, RedisNode, SentinelNode
from redisfailover.operator import redis_operator
from redisfailover.servers import Snapshot, Terms

AUTH, WORD = "auth", "hush-hush"


class PretendServers:
    """Servers and sentinels that do what they are told, and fail never."""

    def __init__(self) -> None:
        """Begin with servers that have just started."""
        self.masters: dict[Address, Address | None] = {}
        self.watched: dict[Address, Monitor] = {}
        self.steps: list[Action] = []
        self.terms: list[Terms] = []

    async def look_at(self, node: RedisNode, terms: Terms) -> RedisNode:
        """Say whom it follows."""
        self.terms.append(terms)
        if node.address is None:
            return node
        follows = self.masters.setdefault(node.address, node.address)
        known = replace(node, problem="", is_synced=follows != node.address)
        return replace(known, role="slave", follows=follows) if follows else replace(known, role="master")

    async def look_at_sentinel(self, node: SentinelNode, terms: Terms) -> SentinelNode:
        """Say whom it watches."""
        self.terms.append(terms)
        if node.address is None:
            return node
        told = self.watched.get(node.address)
        known = replace(node, answers=True, replicas=2, others=2)
        return replace(known, watches=told.master, quorum=told.quorum) if told else known

    async def act(self, action: Action, terms: Terms) -> None:
        """Do what is said."""
        self.terms.append(terms)
        self.steps.append(action)
        match action:
            case Promote(node) if node.address:
                self.masters[node.address] = None
            case Follow(node, master) if node.address:
                self.masters[node.address] = master
            case Monitor(node) if node.address:
                self.watched[node.address] = action
            case Configure() | Adjust() | _:
                pass

    async def save(self, source: Address, target: Path, terms: Terms) -> Snapshot:
        """Fail: nobody asks for it here."""
        raise AssertionError(f"no backup was asked for: {source}, {target}, {terms}")


async def test_a_redis_failover_becomes_ready_and_its_pods_say_their_roles(
    cluster: Cluster, fake_clock: FakeClock
) -> None:
    """Names and labels are those that users of spotahome's operator know; afterwards nothing is written any more."""
    servers = PretendServers()
    async with cluster.running(*local_operators()), cluster.running(redis_operator(servers)):
        await cluster.client.create(RedisFailover(meta("a", namespace="default"), RedisFailoverSpec()))
        await fake_clock.advance(30)
        [found] = cluster.list(RedisFailover)
        ready = found.status.condition("Ready")
        assert ready is not None
        assert (ready.status, found.status.master) == ("True", "rfr-a-0")
        roles = {pod.name: pod.labels[ROLE] for pod in cluster.list(Pod) if ROLE in pod.labels}
        assert roles == {"rfr-a-0": "master", "rfr-a-1": "slave", "rfr-a-2": "slave"}
        assert {one.name for one in cluster.list(Service)} >= {"rfrm-a", "rfrs-a", "rfs-a"}
        before = found.resource_version, len(servers.steps)
        await fake_clock.advance(600)
        [found] = cluster.list(RedisFailover)
        assert (found.resource_version, len(servers.steps)) == before


async def test_a_missing_secret_is_told_and_waited_for(cluster: Cluster, fake_clock: FakeClock) -> None:
    """And what is in it is nowhere but there: spotahome's operator writes it into a ConfigMap."""
    servers = PretendServers()
    async with cluster.running(*local_operators()), cluster.running(redis_operator(servers)):
        spec = RedisFailoverSpec(auth=AuthSettings(secret_path=AUTH))
        await cluster.client.create(RedisFailover(meta("a", namespace="default"), spec))
        await fake_clock.advance(10)
        missing = cluster.list(RedisFailover)[0].status.condition("Ready")
        assert missing is not None
        assert missing.reason == "SecretMissing"
        await cluster.client.create(Secret(meta(AUTH, namespace="default"), string_data={"password": WORD}))
        await fake_clock.advance(30)
        ready = cluster.list(RedisFailover)[0].status.condition("Ready")
        assert ready is not None
        assert ready.status == "True"
        assert servers.terms[-1].password == WORD
        assert WORD not in repr(servers.terms[-1])
        objects = [*cluster.list(ConfigMap), *cluster.list(StatefulSet), *cluster.list(Deployment), *cluster.list(Pod)]
        assert not [one.name for one in objects if WORD in str(one)]


@pytest.mark.usefixtures("fake_clock")
async def test_a_setting_that_is_the_operators_is_refused(cluster: Cluster) -> None:
    """It is told at once, and not tried again until it is changed."""
    async with cluster.running(redis_operator(PretendServers())):
        spec = RedisFailoverSpec(redis=RedisSettings(custom_config=["replicaof 10.0.0.1 6379"]))
        await cluster.client.create(RedisFailover(meta("a", namespace="default"), spec))
        await cluster.settle()
        ready = cluster.list(RedisFailover)[0].status.condition("Ready")
    assert ready is not None
    assert (ready.status, ready.reason) == ("False", "ReservedSetting")
