"""The member slots of a replica set, from its object and its pods: pure functions."""

from steersman.kinds.apps_v1 import StatefulSet
from steersman.kinds.core_v1 import Pod

from mgors.api.mgors_v1 import Mgors
from mgors.members import FIRST_ARBITER, Gone, Slot
from mgors.names import arbiters_name, host_of

_REVISION = "controller-revision-hash"


def slots_of(mgors: Mgors, pods: dict[str, Pod], sets: dict[str, StatefulSet]) -> list[Slot]:
    """Return every wanted slot, and every slot that has a pod."""
    found = []
    for name, wanted, first in (
        (mgors.name, mgors.spec.members, 0),
        (arbiters_name(mgors), mgors.spec.arbiters, FIRST_ARBITER),
    ):
        stateful_set = sets.get(name)
        running = (stateful_set.spec.replicas or 0) if stateful_set else 0
        for ordinal in range(max(wanted, running)):
            pod = pods.get(f"{name}-{ordinal}")
            is_ready = pod is not None and _is_ready(pod)  # a pod that is being deleted is alive until it has ended
            if pod is not None and pod.is_deleting:
                pod = None  # the pod is being deleted, so its member is not queried
            found.append(
                Slot(
                    number=first + ordinal,
                    pod=f"{name}-{ordinal}",
                    pod_uid=pod.uid if pod else "",
                    host=host_of(pod, mgors) if pod else "",
                    is_arbiter=first > 0,
                    is_wanted=ordinal < wanted,
                    is_stale=pod is not None and stateful_set is not None and _is_stale(pod, stateful_set),
                    is_ready=is_ready,
                    reach=Gone("no pod" if pod is None else "no address"),
                )
            )
    return found


def _is_ready(pod: Pod) -> bool:
    return any(one.type == "Ready" and one.status == "True" for one in pod.status.conditions or [])


def _is_stale(pod: Pod, stateful_set: StatefulSet) -> bool:
    status = stateful_set.status
    if status.observed_generation != stateful_set.generation or not status.update_revision:
        return False
    return pod.metadata.labels.get(_REVISION) != status.update_revision
