"""ReplicationControllers, as far as they differ from ReplicaSets: the selector, its default, and their status."""

from steersman.kinds.core_v1 import Pod, ReplicationController, ReplicationControllerSpec
from steersman.localcluster.workloads import replication_controllers
from steersman.objects.meta import meta
from steersman.testing.cluster import Cluster
from steersman.testing.fake_clock import FakeClock
from steersman.testing.faults import Refuse
from tests.localcluster.workloads.making import names, node_and, template


def controller(replicas: int) -> ReplicationController:
    """Return a ReplicationController whose selector is that of its template."""
    return ReplicationController(meta("web"), spec=ReplicationControllerSpec(replicas=replicas, template=template()))


async def test_there_are_as_many_pods_as_wanted(cluster: Cluster, fake_clock: FakeClock) -> None:
    """Old manifests, and many tests of Kubernetes itself, use it."""
    async with node_and(cluster, replication_controllers.operator):
        web = await cluster.client.create(controller(2))
        await fake_clock.advance(0)
        assert len(names(cluster)) == 2
        await cluster.client.scale(web, 1)
        await fake_clock.advance(0)
        assert len(names(cluster)) == 1
        status = cluster.list(ReplicationController)[0].status
        assert (status.replicas, status.ready_replicas, status.available_replicas) == (1, 1, 1)


async def test_a_pod_whose_labels_changed_is_released(cluster: Cluster, fake_clock: FakeClock) -> None:
    """The pod is kept for inspection, and another one takes its place."""
    async with node_and(cluster, replication_controllers.operator):
        await cluster.client.create(controller(1))
        await fake_clock.advance(0)
        (pod,) = cluster.list(Pod)
        await cluster.client.patch(pod, {"metadata": {"labels": {"app": "other"}}})
        await fake_clock.advance(0)
        released = await cluster.client.get(Pod, pod.name)
        assert released.controller is None
        assert len(names(cluster)) == 2


async def test_a_pod_that_cannot_be_created_shows_in_a_condition(cluster: Cluster, fake_clock: FakeClock) -> None:
    """A quota that is exceeded must be visible on the object that wants the pods, and disappear with it."""
    async with node_and(cluster, replication_controllers.operator):
        cluster.faults.inject(Refuse(403, "Forbidden"), method="POST", path="/pods", times=2)
        await cluster.client.create(controller(1))
        await fake_clock.advance(0.001)
        (condition,) = cluster.list(ReplicationController)[0].status.conditions or []
        assert (condition.type, condition.reason) == ("ReplicaFailure", "FailedCreate")
        await fake_clock.advance(5)
        assert not cluster.list(ReplicationController)[0].status.conditions
        assert len(names(cluster)) == 1
