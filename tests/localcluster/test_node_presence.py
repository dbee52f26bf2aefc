"""The registration of a node in the cluster."""

from steersman.concurrency import background
from steersman.kinds.coordination_v1 import Lease
from steersman.kinds.core_v1 import Node
from steersman.localcluster.node_object import LEASE_NAMESPACE, NodeDescription
from steersman.localcluster.node_presence import NodePresence
from steersman.testing.cluster import Cluster
from steersman.testing.fake_clock import FakeClock

DESCRIPTION = NodeDescription(name="laptop", runtime="process://1")


def ready_of(node: Node) -> tuple[str, str]:
    """Return the status and the reason of a node's Ready condition."""
    (found,) = [condition for condition in node.status.conditions or () if condition.type == "Ready"]
    return found.status, found.reason or ""


async def test_a_node_registers_itself_as_ready_with_capacity_for_pods(cluster: Cluster) -> None:
    """A scheduler places pods on it at once."""
    node = await NodePresence(DESCRIPTION, cluster.client, cluster.clock).register()
    assert ready_of(node) == ("True", "KubeletReady")
    assert str((node.status.allocatable or {})["pods"]) == "500"
    assert node.metadata.labels["kubernetes.io/hostname"] == "laptop"


async def test_a_restarted_node_uses_its_node_object_again(cluster: Cluster) -> None:
    """A restart of the program does not create another node."""
    presence = NodePresence(DESCRIPTION, cluster.client, cluster.clock)
    first = await presence.register()
    await presence.leave()
    assert ready_of(cluster.list(Node)[0]) == ("False", "KubeletNotReady")
    assert (await presence.register()).uid == first.uid
    assert ready_of(cluster.list(Node)[0]) == ("True", "KubeletReady")


async def test_a_node_renews_its_lease(fake_clock: FakeClock) -> None:
    """A client that watches leases can detect a dead node."""
    async with Cluster.start(clock=fake_clock) as cluster:
        presence = NodePresence(DESCRIPTION, cluster.client, fake_clock)
        await presence.register()
        (before,) = cluster.list(Lease, namespace=LEASE_NAMESPACE)
        async with background(presence.run(), name="node"):
            await fake_clock.advance(10)
        (after,) = cluster.list(Lease, namespace=LEASE_NAMESPACE)
    assert after.spec.holder_identity == "laptop"
    assert before.spec.renew_time is not None
    assert after.spec.renew_time is not None
    assert (after.spec.renew_time - before.spec.renew_time).total_seconds() == 10
