"""Volumes of a local cluster: each claim gets its own volume, created on demand and deleted with it."""

from steersman.controller.context import Context
from steersman.controller.predicates import always
from steersman.controller.triggers import Chosen, Watch
from steersman.kinds.core_v1 import (
    HostPathVolumeSource,
    ObjectReference,
    PersistentVolume,
    PersistentVolumeClaim,
    PersistentVolumeClaimStatus,
    PersistentVolumeSpec,
    Pod,
)
from steersman.kinds.storage_v1 import VolumeAttributesClass
from steersman.localcluster.workloads.pods import is_finished
from steersman.manager.operator import Operator
from steersman.objects.identity import ObjectKey
from steersman.objects.meta import ObjectMeta

operator = Operator("persistentvolume-controller")
operator.permit(PersistentVolumeClaim, "patch")
operator.permit(VolumeAttributesClass, "patch")
operator.permit(PersistentVolume, "create", "patch", "delete")

CLAIM_FINALIZER, VOLUME_FINALIZER = "kubernetes.io/pvc-protection", "kubernetes.io/pv-protection"
CLASS_FINALIZER = "kubernetes.io/vac-protection"
_BOUND = {"pv.kubernetes.io/bind-completed": "yes", "pv.kubernetes.io/bound-by-controller": "yes"}
PROVISIONED = "pv.kubernetes.io/provisioned-by"
PROVISIONER = "steersman.dev/local"
#: Where the volumes would be, if they were directories of the node.
_ROOT = "/var/lib/steersman/volumes"


def _uses(claim: PersistentVolumeClaim, pod: Pod) -> bool:
    return claim.name in claim_names(pod)


def _is_of(claim: PersistentVolumeClaim, volume: PersistentVolume) -> bool:
    return _volume_name(claim) == volume.name


def _volume_name(claim: PersistentVolumeClaim) -> str:
    return claim.spec.volume_name or f"pvc-{claim.uid}"


@operator.reconciler(
    PersistentVolumeClaim,
    watches=[Chosen(Pod, by=_uses), Chosen(PersistentVolume, by=_is_of)],
    while_deleting=True,
    name="claims",
)
async def bind(claim: PersistentVolumeClaim, ctx: Context[PersistentVolumeClaim]) -> None:
    """Bind a claim to its volume, created if necessary; release a deleted claim when no pod uses it."""
    if claim.is_deleting:
        await _let_go(claim, ctx)
        return
    name = _volume_name(claim)
    volume = await ctx.get(PersistentVolume, name)
    if volume is None:
        if claim.spec.volume_name:
            # A volume that a claim asks for by name is created by its author.
            claim.status.phase = "Pending"
            return
        volume = await ctx.create(volume_for(claim, name), owned=False)
        ctx.event("ProvisioningSucceeded", f"Successfully provisioned volume {name}")
    reference = volume.spec.claim_ref
    if reference is None:
        volume.spec.claim_ref = _reference(claim)
        volume = await ctx.update(volume)
    elif (reference.namespace, reference.name) != (claim.namespace, claim.name):
        text = f'volume "{name}" already bound to a different claim.'
        ctx.event("FailedBinding", text, kind="Warning")
        return
    if not _BOUND.items() <= claim.annotations.items() or not claim.spec.volume_name:
        await ctx.patch(claim, {"metadata": {"uid": claim.uid, "annotations": _BOUND}, "spec": {"volumeName": name}})
    claim.status = PersistentVolumeClaimStatus(
        phase="Bound", access_modes=volume.spec.access_modes, capacity=volume.spec.capacity
    )


async def _let_go(claim: PersistentVolumeClaim, ctx: Context[PersistentVolumeClaim]) -> None:
    pods = await ctx.list(Pod)
    if CLAIM_FINALIZER in claim.metadata.finalizers and not any(_uses(claim, pod) for pod in pods):
        claim.metadata.finalizers = [one for one in claim.metadata.finalizers if one != CLAIM_FINALIZER]
        await ctx.update(claim)


def _volume_of(claim: PersistentVolumeClaim) -> list[ObjectKey]:
    return [ObjectKey("", _volume_name(claim))]


@operator.reconciler(
    PersistentVolume,
    when=always,
    watches=[Watch(PersistentVolumeClaim, to=_volume_of)],
    while_deleting=True,
    name="volumes",
)
async def follow(volume: PersistentVolume, ctx: Context[PersistentVolume]) -> None:
    """Set the phase of a volume; delete one that was created for a deleted claim."""
    reference = volume.spec.claim_ref
    claim = None
    if reference is not None:
        claim = await ctx.get(PersistentVolumeClaim, reference.name or "", reference.namespace or "")
        if claim is not None and reference.uid and claim.uid != reference.uid:
            claim = None
    if volume.is_deleting:
        if claim is None and VOLUME_FINALIZER in volume.metadata.finalizers:
            volume.metadata.finalizers = [one for one in volume.metadata.finalizers if one != VOLUME_FINALIZER]
            await ctx.update(volume)
        return
    phase = "Available" if reference is None else "Bound" if claim is not None else "Released"
    if volume.status.phase != phase:
        volume.status.phase = phase
        volume.status.last_phase_transition_time = ctx.now().replace(microsecond=0)
    if phase == "Released" and volume.spec.persistent_volume_reclaim_policy == "Delete":
        await ctx.delete(volume)


def _classes_of(user: PersistentVolumeClaim | PersistentVolume) -> list[ObjectKey]:
    names = {user.spec.volume_attributes_class_name}
    if isinstance(user, PersistentVolumeClaim):
        names.add(user.status.current_volume_attributes_class_name)
    return [ObjectKey("", name) for name in sorted(filter(None, names))]


@operator.reconciler(
    VolumeAttributesClass,
    watches=[Watch(PersistentVolumeClaim, to=_classes_of), Watch(PersistentVolume, to=_classes_of)],
    while_deleting=True,
    name="volume-attributes-classes",
)
async def release_class(attributes: VolumeAttributesClass, ctx: Context[VolumeAttributesClass]) -> None:
    """Remove the finalizer of a deleted class when no claim and no volume uses it."""
    if not attributes.is_deleting or CLASS_FINALIZER not in attributes.metadata.finalizers:
        return
    claims, volumes = await ctx.list(PersistentVolumeClaim, namespace=""), await ctx.list(PersistentVolume)
    users: list[PersistentVolumeClaim | PersistentVolume] = [*claims, *volumes]
    if not any(attributes.key in _classes_of(user) for user in users):
        attributes.metadata.finalizers = [one for one in attributes.metadata.finalizers if one != CLASS_FINALIZER]
        await ctx.update(attributes)


def claim_names(pod: Pod) -> set[str]:
    """Return the claims that a pod uses; a finished pod uses none."""
    if is_finished(pod):
        return set()
    sources = (volume.persistent_volume_claim for volume in pod.spec.volumes or ())
    return {source.claim_name for source in sources if source is not None}


def volume_for(claim: PersistentVolumeClaim, name: str) -> PersistentVolume:
    """Return the volume of a claim, as large as requested."""
    resources = claim.spec.resources
    requests = resources.requests if resources is not None else None
    return PersistentVolume(
        ObjectMeta(name, annotations={PROVISIONED: PROVISIONER}),
        spec=PersistentVolumeSpec(
            capacity={"storage": (requests or {})["storage"]} if requests and "storage" in requests else None,
            access_modes=claim.spec.access_modes,
            volume_mode=claim.spec.volume_mode,
            storage_class_name=claim.spec.storage_class_name,
            persistent_volume_reclaim_policy="Delete",
            claim_ref=_reference(claim),
            host_path=HostPathVolumeSource(path=f"{_ROOT}/{claim.namespace}/{claim.name}", type="DirectoryOrCreate"),
        ),
    )


def _reference(claim: PersistentVolumeClaim) -> ObjectReference:
    return ObjectReference(
        api_version="v1",
        kind="PersistentVolumeClaim",
        namespace=claim.namespace,
        name=claim.name,
        uid=claim.uid,
        resource_version=claim.resource_version,
    )
