from steersman.kinds.core_v1 import (
    PersistentVolume,
    PersistentVolumeClaim,
    PersistentVolumeClaimSpec,
    PersistentVolumeClaimVolumeSource,
    Pod,
    Volume,
    VolumeResourceRequirements,
)
from steersman.kinds.storage_v1 import VolumeAttributesClass
from steersman.localcluster import volumes
from steersman.objects.meta import meta
from steersman.objects.quantity import Quantity
from steersman.testing.cluster import Cluster
from steersman.testing.fake_clock import FakeClock
from tests.localcluster.workloads.making import node_and, template


def claim(name: str = "data", volume: str | None = None) -> PersistentVolumeClaim:
    """Return a claim."""
    resources = VolumeResourceRequirements(requests={"storage": Quantity("1Gi")})
    spec = PersistentVolumeClaimSpec(access_modes=["ReadWriteOnce"], resources=resources, volume_name=volume)
    return PersistentVolumeClaim(meta(name), spec=spec)


async def test_a_claim_is_bound_to_its_own_volume(cluster: Cluster, fake_clock: FakeClock) -> None:
    """Pods and operators wait for claims to be Bound; on a laptop there is nothing to wait for."""
    async with cluster.running(volumes.operator):
        made = await cluster.client.create(claim())
        await fake_clock.advance(0)
        found = await cluster.client.get(PersistentVolumeClaim, "data")
        assert found.status.phase == "Bound"
        assert found.status.capacity == {"storage": Quantity("1Gi")}
        assert found.annotations["pv.kubernetes.io/bind-completed"] == "yes"
        (volume,) = cluster.list(PersistentVolume)
        assert found.spec.volume_name == volume.name == f"pvc-{made.uid}"
        assert volume.status.phase == "Bound"
        assert volume.spec.claim_ref is not None
        assert volume.spec.claim_ref.uid == made.uid
        await cluster.client.delete(found)
        await fake_clock.advance(0)
        assert cluster.list(PersistentVolumeClaim) == []
        assert cluster.list(PersistentVolume) == []


async def test_a_claim_in_use_stays_until_its_pod_is_deleted(cluster: Cluster, fake_clock: FakeClock) -> None:
    """The volume of a running database must not be deleted."""
    async with node_and(cluster, volumes.operator):
        await cluster.client.create(claim())
        spec = template().spec
        assert spec is not None
        spec.volumes = [Volume(name="v", persistent_volume_claim=PersistentVolumeClaimVolumeSource(claim_name="data"))]
        pod = await cluster.client.create(Pod(meta("user"), spec=spec))
        await fake_clock.advance(0)
        await cluster.client.delete(await cluster.client.get(PersistentVolumeClaim, "data"))
        await fake_clock.advance(60)
        assert [one.name for one in cluster.list(PersistentVolumeClaim)] == ["data"]
        await cluster.client.delete(pod)
        await fake_clock.advance(1)
        assert cluster.list(PersistentVolumeClaim) == []


async def test_a_claim_waits_for_the_volume_it_names(cluster: Cluster, fake_clock: FakeClock) -> None:
    """A user who provides a volume gets that one and no other."""
    async with cluster.running(volumes.operator):
        await cluster.client.create(claim(volume="mine"))
        await fake_clock.advance(0)
        assert (await cluster.client.get(PersistentVolumeClaim, "data")).status.phase == "Pending"
        template_volume = volumes.volume_for(claim(), "mine")
        template_volume.spec.claim_ref = None
        template_volume.spec.persistent_volume_reclaim_policy = "Retain"
        await cluster.client.create(template_volume)
        await fake_clock.advance(0)
        found = await cluster.client.get(PersistentVolumeClaim, "data")
        assert found.status.phase == "Bound"
        await cluster.client.delete(found)
        await fake_clock.advance(0)
        (kept,) = cluster.list(PersistentVolume)
        assert kept.status.phase == "Released"


async def test_a_deleted_class_stays_while_a_claim_uses_it(cluster: Cluster, fake_clock: FakeClock) -> None:
    """The finalizer that the server adds must be removed by a controller, or the class could never be deleted."""
    async with node_and(cluster, volumes.operator):
        fast = await cluster.client.create(VolumeAttributesClass(meta("fast"), driver_name="d", parameters={"a": "b"}))
        user = claim()
        user.spec.volume_attributes_class_name = "fast"
        await cluster.client.create(user)
        await fake_clock.advance(0)
        await cluster.client.delete(fast)
        await fake_clock.advance(0)
        assert [one.is_deleting for one in cluster.list(VolumeAttributesClass)] == [True]
        await cluster.client.delete(user)
        await fake_clock.advance(0)
        assert cluster.list(VolumeAttributesClass) == []
