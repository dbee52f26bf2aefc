from typing import Any

from steersman.kinds.apps_v1 import (
    ControllerRevision,
    RollingUpdateStatefulSetStrategy,
    StatefulSet,
    StatefulSetOrdinals,
    StatefulSetPersistentVolumeClaimRetentionPolicy,
    StatefulSetStatus,
    StatefulSetUpdateStrategy,
)
from steersman.kinds.core_v1 import (
    PersistentVolumeClaim,
    PersistentVolumeClaimSpec,
    Pod,
    VolumeResourceRequirements,
)
from steersman.localcluster import volumes
from steersman.localcluster.workloads.stateful_sets import reconciler as stateful_sets
from steersman.objects.meta import meta
from steersman.objects.quantity import Quantity
from steersman.testing.cluster import Cluster
from steersman.testing.fake_clock import FakeClock
from tests.localcluster.workloads.making import events_of, names, node_and, set_image, stateful_set, template

SLOW = template(app="db", ready_after="5s")


def rolling(**options: Any) -> StatefulSetUpdateStrategy:
    """Return a strategy that replaces pods one after another."""
    return StatefulSetUpdateStrategy(type="RollingUpdate", rolling_update=RollingUpdateStatefulSetStrategy(**options))


def images(cluster: Cluster) -> list[str]:
    """Return the images of all pods, by their ordinals."""
    return [pod.spec.containers[0].image or "" for pod in sorted(cluster.list(Pod), key=lambda pod: pod.name)]


def status(cluster: Cluster) -> StatefulSetStatus:
    """Return the status of the one StatefulSet."""
    (found,) = cluster.list(StatefulSet)
    return found.status


async def test_pods_start_in_order_and_stop_in_reverse(cluster: Cluster, fake_clock: FakeClock) -> None:
    """A follower needs its leader: the next pod is created when the one before is ready, never sooner."""
    async with node_and(cluster, stateful_sets.operator):
        db = await cluster.client.create(stateful_set(3, template=SLOW))
        for expected in (["db-0"], ["db-0", "db-1"], ["db-0", "db-1", "db-2"]):
            await fake_clock.advance(1)
            assert names(cluster) == expected
            await fake_clock.advance(3.5)
            assert names(cluster) == expected
            await fake_clock.advance(0.5)
        await fake_clock.advance(5)
        assert status(cluster).ready_replicas == 3
        await cluster.client.scale(db, 1)
        await fake_clock.advance(1)
        assert names(cluster) == ["db-0"]
        gone = [line for line in events_of(cluster, "StatefulSet") if line.startswith("SuccessfulDelete")]
        assert gone == [f"SuccessfulDelete: Delete Pod db-{number} in StatefulSet db successful" for number in (2, 1)]


async def test_parallel_pods_do_not_wait_for_each_other(cluster: Cluster, fake_clock: FakeClock) -> None:
    """Not every application needs the order."""
    async with node_and(cluster, stateful_sets.operator):
        made = stateful_set(3, template=SLOW, pod_management_policy="Parallel", ordinals=StatefulSetOrdinals(start=5))
        db = await cluster.client.create(made)
        await fake_clock.advance(1)
        assert names(cluster) == ["db-5", "db-6", "db-7"]
        await cluster.client.scale(db, 0)
        await fake_clock.advance(0)
        assert names(cluster) == []


async def test_a_pod_has_its_own_name_labels_and_revision(cluster: Cluster, fake_clock: FakeClock) -> None:
    """Peers find each other by these names."""
    async with node_and(cluster, stateful_sets.operator):
        await cluster.client.create(stateful_set(1))
        await fake_clock.advance(0)
        (pod,) = cluster.list(Pod)
        (revision,) = cluster.list(ControllerRevision)
        assert pod.labels == {
            "app": "db",
            "apps.kubernetes.io/pod-index": "0",
            "controller-revision-hash": revision.name,
            "statefulset.kubernetes.io/pod-name": "db-0",
        }
        assert (pod.spec.hostname, pod.spec.subdomain) == ("db-0", "db")
        assert revision.name == f"db-{revision.labels['controller.kubernetes.io/hash']}"
        assert (revision.revision, revision.labels["app"]) == (1, "db")
        assert revision.data["spec"]["template"]["$patch"] == "replace"
        assert status(cluster).current_revision == status(cluster).update_revision == revision.name


async def test_an_update_replaces_the_highest_ordinal_first(cluster: Cluster, fake_clock: FakeClock) -> None:
    """One pod at a time, each waiting for the one before to be ready again."""
    async with node_and(cluster, stateful_sets.operator):
        db = await cluster.client.create(stateful_set(3, template=SLOW))
        await fake_clock.advance(20)
        first = status(cluster).current_revision
        await set_image(cluster, db, "two")
        await fake_clock.advance(3)
        assert images(cluster) == ["one", "one", "two"]
        assert (status(cluster).current_revision, status(cluster).updated_replicas) == (first, 1)
        await fake_clock.advance(5)
        assert images(cluster) == ["one", "two", "two"]
        await fake_clock.advance(10)
        assert images(cluster) == ["two", "two", "two"]
        assert status(cluster).current_revision == status(cluster).update_revision != first
        assert status(cluster).current_replicas == 3


async def test_a_partition_keeps_lower_ordinals_unchanged(cluster: Cluster, fake_clock: FakeClock) -> None:
    """A canary is the highest ordinal alone; a lower one that is lost is created again from its old template."""
    async with node_and(cluster, stateful_sets.operator):
        db = await cluster.client.create(stateful_set(3, update_strategy=rolling(partition=2)))
        await fake_clock.advance(0)
        await set_image(cluster, db, "two")
        await fake_clock.advance(0)
        assert images(cluster) == ["one", "one", "two"]
        await cluster.client.delete(await cluster.client.get(Pod, "db-0"))
        await fake_clock.advance(0)
        assert images(cluster) == ["one", "one", "two"]
        await cluster.client.patch(db, {"spec": {"updateStrategy": {"rollingUpdate": {"partition": 0}}}})
        await fake_clock.advance(0)
        assert images(cluster) == ["two", "two", "two"]


async def test_on_delete_waits_for_users(cluster: Cluster, fake_clock: FakeClock) -> None:
    """Some users choose the moment of each restart themselves."""
    async with node_and(cluster, stateful_sets.operator):
        db = await cluster.client.create(stateful_set(2, update_strategy=StatefulSetUpdateStrategy(type="OnDelete")))
        await fake_clock.advance(0)
        await set_image(cluster, db, "two")
        await fake_clock.advance(60)
        assert images(cluster) == ["one", "one"]
        await cluster.client.delete(await cluster.client.get(Pod, "db-0"))
        await fake_clock.advance(0)
        assert images(cluster) == ["two", "one"]


async def test_a_rollback_gives_the_old_revision_a_new_number(cluster: Cluster, fake_clock: FakeClock) -> None:
    """`kubectl rollout undo` writes the old template; no third revision is created for it."""
    async with node_and(cluster, stateful_sets.operator):
        db = await cluster.client.create(stateful_set(1, revision_history_limit=1))
        await fake_clock.advance(0)
        for image in ("two", "one"):
            await set_image(cluster, db, image)
            await fake_clock.advance(0)
        assert sorted(one.revision for one in cluster.list(ControllerRevision)) == [2, 3]
        for image in ("three", "four"):
            await set_image(cluster, db, image)
            await fake_clock.advance(0)
        assert sorted(one.revision for one in cluster.list(ControllerRevision)) == [4, 5]
        assert images(cluster) == ["four"]


async def test_each_pod_has_claims_that_outlive_it(cluster: Cluster, fake_clock: FakeClock) -> None:
    """The data belongs to the ordinal, not to the pod: scaling down and up again finds it."""
    async with node_and(cluster, stateful_sets.operator, volumes.operator):
        db = await cluster.client.create(stateful_set(2, volume_claim_templates=[_claim()]))
        await fake_clock.advance(0)
        claims = {claim.name: claim for claim in cluster.list(PersistentVolumeClaim)}
        assert sorted(claims) == ["data-db-0", "data-db-1"]
        assert claims["data-db-0"].labels == {"app": "db", "kind": "data"}
        assert {claim.status.phase for claim in claims.values()} == {"Bound"}
        volume = ((await cluster.client.get(Pod, "db-1")).spec.volumes or [])[0]
        assert volume.persistent_volume_claim is not None
        assert volume.persistent_volume_claim.claim_name == "data-db-1"
        await cluster.client.scale(db, 1)
        await fake_clock.advance(0)
        await cluster.client.scale(db, 2)
        await fake_clock.advance(0)
        assert {claim.uid for claim in cluster.list(PersistentVolumeClaim)} == {one.uid for one in claims.values()}
        await cluster.client.delete(db)
        await fake_clock.advance(0)
        assert names(cluster) == []
        assert len(cluster.list(PersistentVolumeClaim)) == 2


async def test_claims_are_deleted_as_the_retention_policy_says(cluster: Cluster, fake_clock: FakeClock) -> None:
    """With the policy Delete, claims are deleted when the set is scaled down or deleted."""
    async with node_and(cluster, stateful_sets.operator, volumes.operator):
        policy = StatefulSetPersistentVolumeClaimRetentionPolicy(when_deleted="Delete", when_scaled="Delete")
        made = stateful_set(2, volume_claim_templates=[_claim()], persistent_volume_claim_retention_policy=policy)
        db = await cluster.client.create(made)
        await fake_clock.advance(0)
        await cluster.client.scale(db, 1)
        await fake_clock.advance(0)
        assert [claim.name for claim in cluster.list(PersistentVolumeClaim)] == ["data-db-0"]
        await cluster.client.delete(db)
        await fake_clock.advance(0)
        assert cluster.list(PersistentVolumeClaim) == []


async def test_a_finished_pod_is_created_again(cluster: Cluster, fake_clock: FakeClock) -> None:
    """An evicted pod still exists as an object; its ordinal must not stay empty because of it."""
    async with node_and(cluster, stateful_sets.operator):
        await cluster.client.create(stateful_set(1))
        await fake_clock.advance(0)
        (before,) = cluster.list(Pod)
        await cluster.client.status.patch(before, {"status": {"phase": "Failed"}})
        await fake_clock.advance(1)
        (after,) = cluster.list(Pod)
        assert after.uid != before.uid
        assert status(cluster).ready_replicas == 1
        text = "RecreatingFailedPod: StatefulSet default/db is recreating failed Pod db-0"
        assert text in events_of(cluster, "StatefulSet")


def _claim() -> PersistentVolumeClaim:
    resources = VolumeResourceRequirements(requests={"storage": Quantity("1Gi")})
    spec = PersistentVolumeClaimSpec(access_modes=["ReadWriteOnce"], resources=resources)
    return PersistentVolumeClaim(meta("data", labels={"kind": "data"}), spec=spec)
