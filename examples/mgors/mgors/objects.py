"""The wanted Kubernetes objects of a replica set: pure functions."""

from steersman import Quantity, meta
from steersman.kinds.apps_v1 import StatefulSet, StatefulSetSpec, StatefulSetUpdateStrategy
from steersman.kinds.core_v1 import (
    PersistentVolumeClaim,
    PersistentVolumeClaimSpec,
    Service,
    ServicePort,
    ServiceSpec,
    VolumeResourceRequirements,
)
from steersman.kinds.meta_v1 import LabelSelector
from steersman.kinds.policy_v1 import PodDisruptionBudget, PodDisruptionBudgetSpec

from mgors.api.mgors_v1 import Mgors, Storage
from mgors.names import CLUSTER, PORT, ROLE, arbiters_name
from mgors.pod_template import Revision, pod_template


def service_of(mgors: Mgors) -> Service:
    """Return the Service that gives pods DNS names, also before they are ready: members must find each other."""
    ports = [ServicePort(name=PORT, port=mgors.spec.port)]
    if mgors.spec.monitoring and mgors.spec.monitoring.enabled:
        ports.append(ServicePort(name="metrics", port=mgors.spec.monitoring.port))
    return Service(
        meta(mgors.name, labels={CLUSTER: mgors.name}),
        spec=ServiceSpec(
            cluster_ip="None", publish_not_ready_addresses=True, selector={CLUSTER: mgors.name}, ports=ports
        ),
    )


def disk_size(mgors: Mgors) -> Quantity:
    """Return the wanted size of each disk."""
    return Quantity(str((mgors.spec.storage or Storage()).size or "10Gi"))


def members_of(mgors: Mgors, replicas: int, revision: Revision, existing: StatefulSet | None = None) -> StatefulSet:
    """Return the StatefulSet of the members. The operator replaces their pods, because it knows the primary.

    The template of claims of an existing StatefulSet cannot change, so it stays; claims are resized one by one.
    """
    claim = PersistentVolumeClaim(
        meta("data"),
        spec=PersistentVolumeClaimSpec(
            access_modes=["ReadWriteOnce"],
            storage_class_name=(mgors.spec.storage or Storage()).class_name,
            resources=VolumeResourceRequirements(requests={"storage": _first_size(existing) or disk_size(mgors)}),
        ),
    )
    return _stateful_set(mgors, mgors.name, replicas, revision, [claim])


def _first_size(existing: StatefulSet | None) -> Quantity | None:
    """Return the size that the disks of a StatefulSet were created with."""
    for claim in (existing.spec.volume_claim_templates or []) if existing else []:
        if claim.spec.resources and claim.spec.resources.requests:
            return claim.spec.resources.requests.get("storage")
    return None


def arbiters_of(mgors: Mgors, replicas: int, revision: Revision) -> StatefulSet:
    """Return the StatefulSet of the arbiters: they vote and have no data, so they need no disk."""
    return _stateful_set(mgors, arbiters_name(mgors), replicas, revision, [])


def _stateful_set(
    mgors: Mgors, name: str, replicas: int, revision: Revision, claims: list[PersistentVolumeClaim]
) -> StatefulSet:
    labels = {CLUSTER: mgors.name, ROLE: "member" if claims else "arbiter"}
    return StatefulSet(
        meta(name, labels=labels),
        spec=StatefulSetSpec(
            replicas=replicas,
            service_name=mgors.name,
            pod_management_policy="Parallel",
            update_strategy=StatefulSetUpdateStrategy(type="OnDelete"),
            selector=LabelSelector(match_labels=labels),
            volume_claim_templates=claims or None,
            template=pod_template(mgors, revision, labels, has_disk=bool(claims)),
        ),
    )


def budget_of(mgors: Mgors, *, can_lose_one: bool) -> PodDisruptionBudget:
    """Return the budget of evictions: one pod at a time, and none while a majority needs every working voter.

    Kubernetes counts pods that are Ready, which a member is while it still copies the data of another one.
    """
    return PodDisruptionBudget(
        meta(mgors.name, labels={CLUSTER: mgors.name}),
        spec=PodDisruptionBudgetSpec(
            max_unavailable=1 if can_lose_one else 0, selector=LabelSelector(match_labels={CLUSTER: mgors.name})
        ),
    )
