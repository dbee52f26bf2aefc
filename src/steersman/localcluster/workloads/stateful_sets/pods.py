"""The pods of a StatefulSet: each has an ordinal, a name and volumes, which it keeps. Pure."""

import re

from steersman.kinds.apps_v1 import ControllerRevision, StatefulSet
from steersman.kinds.core_v1 import (
    PersistentVolumeClaim,
    PersistentVolumeClaimVolumeSource,
    Pod,
    PodSpec,
    Volume,
)
from steersman.localcluster.workloads.pods import pod_from
from steersman.localcluster.workloads.template_revisions import template_of
from steersman.objects.meta import ObjectMeta, OwnerReference

NAME_LABEL = "statefulset.kubernetes.io/pod-name"
INDEX_LABEL = "apps.kubernetes.io/pod-index"
REVISION_LABEL = "controller-revision-hash"
_NUMBERED = re.compile(r"(.*)-([0-9]{1,9})")


def start_of(stateful_set: StatefulSet) -> int:
    """Return the number of the first pod."""
    ordinals = stateful_set.spec.ordinals
    return (ordinals.start or 0) if ordinals is not None else 0


def ordinal_of(stateful_set: StatefulSet, name: str) -> int | None:
    """Return the number of a pod by its name; ``None`` if it is none of the set's."""
    match = _NUMBERED.fullmatch(name)
    return int(match[2]) if match is not None and match[1] == stateful_set.name else None


def stateful_pod(stateful_set: StatefulSet, revision: ControllerRevision, ordinal: int) -> Pod:
    """Return the pod with an ordinal, of the template of a revision."""
    name = f"{stateful_set.name}-{ordinal}"
    labels = {NAME_LABEL: name, INDEX_LABEL: str(ordinal), REVISION_LABEL: revision.name}
    pod = pod_from(template_of(revision), prefix=f"{stateful_set.name}-", labels=labels)
    pod.metadata.name = name
    pod.metadata.namespace = stateful_set.namespace
    pod.spec.hostname = name
    pod.spec.subdomain = stateful_set.spec.service_name
    _mount_claims(stateful_set, pod.spec, ordinal)
    return pod


def _mount_claims(stateful_set: StatefulSet, spec: PodSpec, ordinal: int) -> None:
    claimed = {
        template.name: Volume(
            name=template.name,
            persistent_volume_claim=PersistentVolumeClaimVolumeSource(
                claim_name=claim_name(stateful_set, template, ordinal)
            ),
        )
        for template in stateful_set.spec.volume_claim_templates or ()
    }
    if claimed:
        spec.volumes = [*claimed.values(), *(one for one in spec.volumes or () if one.name not in claimed)]


def claim_name(stateful_set: StatefulSet, template: PersistentVolumeClaim, ordinal: int) -> str:
    """Return the name of a pod's claim."""
    return f"{template.name}-{stateful_set.name}-{ordinal}"


def claims_of(stateful_set: StatefulSet, ordinal: int) -> list[PersistentVolumeClaim]:
    """Return the claims of the pod with an ordinal."""
    labels = stateful_set.spec.selector.match_labels or {}
    return [
        PersistentVolumeClaim(
            ObjectMeta(
                claim_name(stateful_set, template, ordinal),
                namespace=stateful_set.namespace,
                labels={**template.labels, **labels},
                annotations=dict(template.annotations),
            ),
            spec=template.spec,
        )
        for template in stateful_set.spec.volume_claim_templates or ()
    ]


def claim_owners(
    stateful_set: StatefulSet, pod: Pod | None, ordinal: int, present: list[OwnerReference]
) -> list[OwnerReference]:
    """Return the owners that a claim should have by the set's retention policy.

    Deleted with the set: the set owns it. Deleted when scaled down: the pod that is about to be deleted owns it.
    """
    policy = stateful_set.spec.persistent_volume_claim_retention_policy
    with_set = policy is not None and policy.when_deleted == "Delete"
    with_pod = policy is not None and policy.when_scaled == "Delete"
    is_condemned = not _is_wanted(stateful_set, ordinal)
    ours = {stateful_set.uid, *(one.uid for one in present if one.kind == "Pod")}
    owners = [one for one in present if one.uid not in ours]
    if with_pod and is_condemned:
        if pod is not None:
            owners.append(pod.owner_reference(controller=False))
        else:
            owners += [one for one in present if one.kind == "Pod"]
    elif with_set:
        owners.append(stateful_set.owner_reference())
    return owners


def _is_wanted(stateful_set: StatefulSet, ordinal: int) -> bool:
    start = start_of(stateful_set)
    replicas = 1 if stateful_set.spec.replicas is None else stateful_set.spec.replicas
    return start <= ordinal < start + replicas
