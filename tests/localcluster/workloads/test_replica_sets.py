from datetime import UTC, datetime, timedelta

from steersman.kinds.apps_v1 import ReplicaSet
from steersman.kinds.core_v1 import Container, ContainerStatus, Pod, PodCondition, PodSpec, PodStatus
from steersman.localcluster.workloads import replica_sets
from steersman.localcluster.workloads.pods import DELETION_COST, by_dispensability
from steersman.objects.meta import meta
from steersman.protocol.options import DeleteOptions
from steersman.testing.cluster import Cluster
from steersman.testing.fake_clock import FakeClock
from steersman.testing.faults import Refuse
from tests.localcluster.workloads.making import events_of, names, node_and, replica_set, template

NOW = datetime(2030, 1, 1, tzinfo=UTC)


def pod(name: str, *, node: str = "n", phase: str = "Running", ready_for: int | None = 60, restarts: int = 0) -> Pod:
    """Return a pod as a server returns it."""
    conditions = []
    if ready_for is not None:
        since = NOW - timedelta(seconds=ready_for)
        conditions = [PodCondition(type="Ready", status="True", last_transition_time=since)]
    container = ContainerStatus(name="main", image="", image_id="", ready=True, restart_count=restarts)
    return Pod(
        meta(name, creation_timestamp=NOW - timedelta(hours=1)),
        spec=PodSpec(containers=[Container(name="main")], node_name=node),
        status=PodStatus(phase=phase, conditions=conditions, container_statuses=[container]),
    )


def test_the_least_useful_pod_is_deleted_first() -> None:
    """Scaling down must not delete the pod that serves and keep the one that crashes."""
    cheap = pod("cheap")
    cheap.annotations[DELETION_COST] = "-5"
    order = [
        pod("unbound", node=""),
        pod("pending", phase="Pending", ready_for=None),
        pod("unready", ready_for=None),
        cheap,
        pod("young", ready_for=5),
        pod("restarted", restarts=3),
        pod("old"),
    ]
    assert [one.name for one in by_dispensability(reversed(order), NOW)] == [one.name for one in order]


async def test_missing_pods_are_replaced_and_surplus_pods_deleted(cluster: Cluster, fake_clock: FakeClock) -> None:
    """There are as many as desired, whatever other clients do."""
    async with node_and(cluster, replica_sets.operator):
        web = await cluster.client.create(replica_set(2))
        await cluster.settle()
        first = names(cluster)
        assert len(first) == 2
        await cluster.client.delete(cluster.list(Pod)[0])
        await cluster.settle()
        assert len(names(cluster)) == 2
        assert names(cluster) != first
        await cluster.client.scale(web, 1)
        await fake_clock.advance(0)
        assert len(names(cluster)) == 1
        assert cluster.list(ReplicaSet)[0].status.replicas == 1
        assert [line.split(": ")[0] for line in events_of(cluster, "ReplicaSet")].count("SuccessfulDelete") == 1


async def test_matching_orphans_are_adopted_and_others_released(cluster: Cluster, fake_clock: FakeClock) -> None:
    """Labels decide: changing one label takes a pod out of a ReplicaSet for inspection."""
    async with node_and(cluster, replica_sets.operator):
        spec = template().spec
        assert spec is not None
        orphan = await cluster.client.create(Pod(meta("orphan", labels={"app": "web"}), spec=spec))
        web = await cluster.client.create(replica_set(2))
        await fake_clock.advance(0)
        assert len(names(cluster)) == 2
        adopted = await cluster.client.get(Pod, "orphan")
        assert adopted.controller is not None
        assert adopted.controller.uid == web.uid
        await cluster.client.patch(orphan, {"metadata": {"labels": {"app": "taken-out"}}})
        await fake_clock.advance(0)
        released = await cluster.client.get(Pod, "orphan")
        assert released.metadata.owner_references == []
        assert len(names(cluster)) == 3, "the one that was taken out has a replacement"


async def test_orphaned_pods_outlive_their_replica_set(cluster: Cluster, fake_clock: FakeClock) -> None:
    """A ReplicaSet that is created again with the same selector takes the pods over, without a restart."""
    async with node_and(cluster, replica_sets.operator):
        web = await cluster.client.create(replica_set(2))
        await fake_clock.advance(0)
        before = names(cluster)
        await cluster.client.delete(web, options=DeleteOptions(propagation_policy="Orphan"))
        await fake_clock.advance(0)
        assert cluster.list(ReplicaSet) == []
        assert names(cluster) == before
        heir = await cluster.client.create(replica_set(2, name="heir"))
        await fake_clock.advance(0)
        assert names(cluster) == before
        assert {one.controller.uid for one in cluster.list(Pod) if one.controller} == {heir.uid}


async def test_many_pods_are_created_slowly(cluster: Cluster, fake_clock: FakeClock) -> None:
    """A server that rejects pods gets one request, not five hundred."""
    async with node_and(cluster, replica_sets.operator):
        cluster.faults.inject(Refuse(403, "Forbidden"), method="POST", path="/pods", times=1)
        await cluster.client.create(replica_set(20))
        await fake_clock.advance(0.001)
        posts = [write for write in cluster.faults.writes() if "/pods" in str(write) and "POST" in str(write)]
        assert len(posts) == 1
        assert cluster.list(ReplicaSet)[0].status.conditions is not None
        await fake_clock.advance(5)
        assert len(names(cluster)) == 20
