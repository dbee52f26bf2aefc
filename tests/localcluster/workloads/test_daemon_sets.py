from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from itertools import chain

from steersman.kinds.apps_v1 import (
    ControllerRevision,
    DaemonSet,
    DaemonSetStatus,
    DaemonSetUpdateStrategy,
    RollingUpdateDaemonSet,
)
from steersman.kinds.core_v1 import Node, Pod
from steersman.localcluster import node_taints, scheduler
from steersman.localcluster.simulated_node.node import simulated_node
from steersman.localcluster.workloads.daemon_sets import reconciler as daemon_sets
from steersman.testing.cluster import Cluster
from steersman.testing.fake_clock import FakeClock
from tests.localcluster.workloads.making import daemon_set, names, set_image, template


@asynccontextmanager
async def three_nodes(cluster: Cluster) -> AsyncIterator[None]:
    """Run the controller on a cluster of three nodes."""
    nodes = [simulated_node(name) for name in ("a", "b", "c")]
    async with cluster.running(daemon_sets.operator, scheduler.operator, node_taints.operator, *nodes):
        await cluster.settle()
        yield


def status(cluster: Cluster) -> DaemonSetStatus:
    """Return the status of the one DaemonSet."""
    (found,) = cluster.list(DaemonSet)
    return found.status


def images(cluster: Cluster) -> dict[str, list[str]]:
    """Return the images of the pods on each node."""
    found: dict[str, list[str]] = {}
    for pod in cluster.list(Pod):
        found.setdefault(pod.spec.node_name or "", []).append(pod.spec.containers[0].image or "")
    return {name: sorted(found[name]) for name in sorted(found)}


async def test_every_node_has_one_pod(cluster: Cluster, fake_clock: FakeClock) -> None:
    """Also a node that is added later, and one that is cordoned; the pod of a deleted node is deleted."""
    async with three_nodes(cluster):
        await cluster.client.create(daemon_set())
        await fake_clock.advance(0)
        assert images(cluster) == {"a": ["one"], "b": ["one"], "c": ["one"]}
        (first, *_) = cluster.list(Pod)
        (revision,) = cluster.list(ControllerRevision)
        assert first.labels["controller-revision-hash"] == revision.labels["controller-revision-hash"]
        assert first.labels["pod-template-generation"] == "1"
        found = status(cluster)
        assert (found.desired_number_scheduled, found.number_ready, found.updated_number_scheduled) == (3, 3, 3)
        assert (found.number_available, found.number_unavailable) == (3, None)
        await cluster.client.patch(await cluster.client.get(Node, "a"), {"spec": {"unschedulable": True}})
        await cluster.client.delete(first)
        await fake_clock.advance(0)
        assert images(cluster) == {"a": ["one"], "b": ["one"], "c": ["one"]}


async def test_a_node_selector_is_applied(cluster: Cluster, fake_clock: FakeClock) -> None:
    """A driver runs where its hardware is: it follows a label of the node."""
    async with three_nodes(cluster):
        made = daemon_set()
        assert made.spec.template.spec is not None
        made.spec.template.spec.node_selector = {"disk": "fast"}
        await cluster.client.create(made)
        await fake_clock.advance(0)
        assert names(cluster) == []
        node = await cluster.client.get(Node, "b")
        await cluster.client.patch(node, {"metadata": {"labels": {"disk": "fast"}}})
        await fake_clock.advance(0)
        assert images(cluster) == {"b": ["one"]}
        await cluster.client.patch(node, {"metadata": {"labels": {"disk": None}}})
        await fake_clock.advance(0)
        assert images(cluster) == {}
        assert status(cluster).desired_number_scheduled == 0


async def test_an_update_replaces_the_pod_of_one_node_at_a_time(cluster: Cluster, fake_clock: FakeClock) -> None:
    """The agent may be missing on one node for a moment, but not on all."""
    async with three_nodes(cluster):
        agent = await cluster.client.create(daemon_set(template=template(app="agent", ready_after="5s")))
        await fake_clock.advance(6)
        await set_image(cluster, agent, "two")
        await fake_clock.advance(1)
        assert sorted(chain(*images(cluster).values())) == ["one", "one", "two"]
        assert (status(cluster).number_unavailable, status(cluster).updated_number_scheduled) == (1, 1)
        await fake_clock.advance(5)
        assert sorted(chain(*images(cluster).values())) == ["one", "two", "two"]
        await fake_clock.advance(10)
        assert images(cluster) == {"a": ["two"], "b": ["two"], "c": ["two"]}
        assert sorted(one.revision for one in cluster.list(ControllerRevision)) == [1, 2]


async def test_with_surge_the_new_pod_runs_before_the_old_one_is_deleted(
    cluster: Cluster, fake_clock: FakeClock
) -> None:
    """A node that always needs its agent has two for a moment."""
    async with three_nodes(cluster):
        rolling = RollingUpdateDaemonSet(max_surge=1, max_unavailable=0)
        strategy = DaemonSetUpdateStrategy(type="RollingUpdate", rolling_update=rolling)
        made = daemon_set(template=template(app="agent", ready_after="5s"), update_strategy=strategy)
        agent = await cluster.client.create(made)
        await fake_clock.advance(6)
        await set_image(cluster, agent, "two")
        await fake_clock.advance(1)
        assert images(cluster) == {"a": ["one", "two"], "b": ["one"], "c": ["one"]}
        await fake_clock.advance(5)
        assert images(cluster) == {"a": ["two"], "b": ["one", "two"], "c": ["one"]}
        await fake_clock.advance(15)
        assert images(cluster) == {"a": ["two"], "b": ["two"], "c": ["two"]}


async def test_on_delete_waits_for_users(cluster: Cluster, fake_clock: FakeClock) -> None:
    """Some users replace the pods of a node when they maintain that node."""
    async with three_nodes(cluster):
        agent = await cluster.client.create(daemon_set(update_strategy=DaemonSetUpdateStrategy(type="OnDelete")))
        await fake_clock.advance(0)
        await set_image(cluster, agent, "two")
        await fake_clock.advance(60)
        assert images(cluster) == {"a": ["one"], "b": ["one"], "c": ["one"]}
        await cluster.client.delete(next(pod for pod in cluster.list(Pod) if pod.spec.node_name == "c"))
        await fake_clock.advance(0)
        assert images(cluster) == {"a": ["one"], "b": ["one"], "c": ["two"]}
