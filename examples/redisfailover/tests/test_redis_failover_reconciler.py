"""The operator in a cluster with simulated servers; tests with real ones are in ``databases``."""

from dataclasses import replace
from pathlib import Path

import pytest
from steersman import meta
from steersman.kinds.apps_v1 import Deployment, StatefulSet
from steersman.kinds.core_v1 import ConfigMap, Pod, Secret, Service
from steersman.localcluster import local_operators
from steersman.protocol import load_objects
from steersman.testing import Cluster, FakeClock

from redisfailover.actions import Action, Configure, Follow, Monitor, Promote, SetSentinelOptions
from redisfailover.api.redis_failover_v1 import AuthSettings, RedisFailover, RedisFailoverSpec, RedisSettings
from redisfailover.names import ROLE
from redisfailover.observation import Address, RedisNode, SentinelNode
from redisfailover.operator import redis_operator
from redisfailover.servers import ServerAccess, Snapshot

AUTH, WORD = "auth", "hush-hush"
SAMPLES = sorted((Path(__file__).parent.parent / "samples").glob("*.yaml"))


class PretendServers:
    """Simulated servers and sentinels that execute every action and never fail."""

    def __init__(self) -> None:
        """Create servers that have just started."""
        self.masters: dict[Address, Address | None] = {}
        self.watched: dict[Address, Monitor] = {}
        self.steps: list[Action] = []
        self.access: list[ServerAccess] = []

    async def inspect(self, node: RedisNode, access: ServerAccess) -> RedisNode:
        """Return the server with its master."""
        self.access.append(access)
        if node.address is None:
            return node
        follows = self.masters.setdefault(node.address, node.address)
        known = replace(node, problem="", is_synced=follows != node.address)
        return replace(known, role="slave", follows=follows) if follows else replace(known, role="master")

    async def inspect_sentinel(self, node: SentinelNode, access: ServerAccess) -> SentinelNode:
        """Return the sentinel with its master."""
        self.access.append(access)
        if node.address is None:
            return node
        monitor = self.watched.get(node.address)
        known = replace(node, answers=True, replicas=2, others=2)
        return replace(known, watches=monitor.master, quorum=monitor.quorum) if monitor else known

    async def execute(self, action: Action, access: ServerAccess) -> None:
        """Execute the action."""
        self.access.append(access)
        self.steps.append(action)
        match action:
            case Promote(node) if node.address:
                self.masters[node.address] = None
            case Follow(node, master) if node.address:
                self.masters[node.address] = master
            case Monitor(node) if node.address:
                self.watched[node.address] = action
            case Configure() | SetSentinelOptions() | _:
                pass

    async def save(self, source: Address, target: Path, access: ServerAccess) -> Snapshot:
        """Fail: no test here makes a backup."""
        raise AssertionError(f"unexpected backup: {source}, {target}, {access}")


async def test_a_redis_failover_becomes_ready_and_its_pods_have_role_labels(
    cluster: Cluster, fake_clock: FakeClock
) -> None:
    """Names and labels are those of spotahome's operator; afterwards nothing more is written."""
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


async def test_a_missing_secret_is_reported_and_awaited(cluster: Cluster, fake_clock: FakeClock) -> None:
    """The password must appear in no other object: spotahome's operator writes it into a ConfigMap."""
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
        assert servers.access[-1].password == WORD
        assert WORD not in repr(servers.access[-1])
        objects = [*cluster.list(ConfigMap), *cluster.list(StatefulSet), *cluster.list(Deployment), *cluster.list(Pod)]
        assert not [one.name for one in objects if WORD in str(one)]


@pytest.mark.usefixtures("fake_clock")
async def test_a_reserved_setting_is_rejected(cluster: Cluster) -> None:
    """The error is reported at once, and not retried before the spec changes."""
    async with cluster.running(redis_operator(PretendServers())):
        spec = RedisFailoverSpec(redis=RedisSettings(custom_config=["replicaof 10.0.0.1 6379"]))
        await cluster.client.create(RedisFailover(meta("a", namespace="default"), spec))
        await cluster.settle()
        ready = cluster.list(RedisFailover)[0].status.condition("Ready")
    assert ready is not None
    assert (ready.status, ready.reason) == ("False", "ReservedSetting")


async def test_an_unknown_field_of_a_pod_is_reported(cluster: Cluster, fake_clock: FakeClock) -> None:
    """The CRD does not contain the schema of containers, so the operator must report fields that it drops."""
    document = b"""
    {apiVersion: databases.spotahome.com/v1, kind: RedisFailover, metadata: {name: a},
     spec: {redis: {extraContainers: [{name: beside, image: busybox, comand: [sleep]}]}}}
    """
    async with cluster.running(redis_operator(PretendServers())):
        [wanted] = load_objects(document, source="test")
        await cluster.client.create(wanted)
        await fake_clock.advance(1)
        ready = cluster.list(RedisFailover)[0].status.condition("Ready")
    assert ready is not None
    assert (ready.status, ready.reason) == ("False", "UnknownField")
    assert "spec.redis.extraContainers[0].comand" in ready.message
    assert cluster.list(StatefulSet) == []


async def test_every_sample_leads_to_pods_that_the_server_accepts(cluster: Cluster, fake_clock: FakeClock) -> None:
    """Containers, volumes and placement of the samples must arrive in the pods unchanged."""
    async with cluster.running(redis_operator(PretendServers())):
        for sample in SAMPLES:
            for obj in load_objects(sample.read_bytes(), source=sample.name):
                await cluster.client.create(obj)
        await fake_clock.advance(5)
        names = {one.name for one in cluster.list(RedisFailover)}
        assert {one.name for one in cluster.list(StatefulSet)} == {f"rfr-{name}" for name in names}
        assert {one.name for one in cluster.list(Deployment)} == {f"rfs-{name}" for name in names}
        [placed] = [one for one in cluster.list(StatefulSet) if one.name == "rfr-placed"]
    pod = placed.spec.template.spec
    assert pod is not None
    assert [one.name for one in pod.containers] == ["redis", "redis-exporter", "beside"]
    assert pod.affinity is not None
    assert pod.affinity.pod_anti_affinity is not None
    assert [one.name for one in pod.volumes or ()] == ["config", "users", "redis-data", "notes"]


async def test_the_operator_has_exactly_the_permissions_that_it_needs(cluster: Cluster, fake_clock: FakeClock) -> None:
    """With a password, an update and a deletion; an attacker in the operator can do no more than the operator."""
    await cluster.client.create(Secret(meta(AUTH, namespace="default"), string_data={"password": WORD}))
    operator = redis_operator(PretendServers())
    async with cluster.running(*local_operators()), cluster.running(operator):
        spec = RedisFailoverSpec(auth=AuthSettings(secret_path=AUTH))
        created = await cluster.client.create(RedisFailover(meta("a", namespace="default"), spec))
        await fake_clock.advance(30)
        before = {pod.uid for pod in cluster.list(Pod)}
        await cluster.client.patch(created, {"spec": {"redis": {"image": "redis:7.4-alpine"}}})
        await fake_clock.advance(60)
        assert before - {pod.uid for pod in cluster.list(Pod)}
        await cluster.client.delete(created)
        await fake_clock.advance(30)
        assert cluster.list(StatefulSet) == []
    cluster.assert_rbac_minimal(operator)
