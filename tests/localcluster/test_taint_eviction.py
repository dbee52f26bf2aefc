"""Pods leave a node with NoExecute taints when their tolerations are over."""

from datetime import UTC, datetime, timedelta

import pytest

from steersman.client.interfaces import Ref
from steersman.kinds.core_v1 import Container, Node, Pod, PodSpec, Taint, Toleration
from steersman.localcluster import taint_eviction
from steersman.localcluster.simulated_node.node import NAME
from steersman.localcluster.taint_eviction import seconds_left
from steersman.objects.meta import meta
from steersman.testing.cluster import Cluster
from steersman.testing.fake_clock import FakeClock
from tests.localcluster.workloads.making import events_of, node_and

NOW = datetime(2030, 1, 1, tzinfo=UTC)
FULL = Taint(key="disk", value="full", effect="NoExecute")


def tolerating(seconds: int | None) -> Toleration:
    """Return a toleration of the taint."""
    return Toleration(key="disk", operator="Exists", effect="NoExecute", toleration_seconds=seconds)


@pytest.mark.parametrize(
    ("tolerations", "taints", "left"),
    [
        ([], [], None),
        ([], [FULL], 0.0),
        ([tolerating(None)], [FULL], None),
        ([tolerating(60)], [FULL], 50.0),
        ([tolerating(60), tolerating(20)], [FULL], 10.0),
        ([tolerating(-5)], [FULL], 0.0),
        ([tolerating(5)], [FULL], 0.0),
        ([tolerating(60)], [FULL, Taint(key="other", effect="NoExecute")], 0.0),
    ],
)
def test_the_shortest_toleration_counts(tolerations: list[Toleration], taints: list[Taint], left: float | None) -> None:
    """As in the taint manager of Kubernetes, ten seconds after the taint was added."""
    assert seconds_left(tolerations, taints, NOW - timedelta(seconds=10), NOW) == left


def pod(name: str, *tolerations: Toleration) -> Pod:
    """Return a pod on the simulated node."""
    container = Container(name="main", image="one")
    return Pod(meta(name), spec=PodSpec(containers=[container], node_name=NAME, tolerations=list(tolerations)))


async def test_pods_are_deleted_when_their_toleration_is_over(cluster: Cluster, fake_clock: FakeClock) -> None:
    """An operator's pods disappear from a node that failed: it must replace them."""
    async with node_and(cluster, taint_eviction.operator):
        for one in (pod("none"), pod("short", tolerating(30)), pod("long", tolerating(None))):
            await cluster.client.create(one)
        await fake_clock.advance(1)
        await cluster.client.patch(Ref(Node, NAME), {"spec": {"taints": [FULL]}})
        await fake_clock.advance(5)
        assert [one.name for one in cluster.list(Pod)] == ["long", "short"]
        await fake_clock.advance(30)
        assert [one.name for one in cluster.list(Pod)] == ["long"]
        assert "TaintManagerEviction: Marking for deletion Pod default/short" in events_of(cluster, "Pod")


async def test_a_taint_that_is_removed_in_time_deletes_nothing(cluster: Cluster, fake_clock: FakeClock) -> None:
    """A node that was only away for a moment keeps its pods, and the next failure starts its own time."""
    async with node_and(cluster, taint_eviction.operator):
        await cluster.client.create(pod("short", tolerating(30)))
        await fake_clock.advance(1)
        for _ in range(2):
            await cluster.client.patch(Ref(Node, NAME), {"spec": {"taints": [FULL]}})
            await fake_clock.advance(20)
            await cluster.client.patch(Ref(Node, NAME), {"spec": {"taints": None}})
            await fake_clock.advance(1)
        await fake_clock.advance(60)
        assert [one.name for one in cluster.list(Pod)] == ["short"]
