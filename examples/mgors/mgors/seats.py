"""The places of a replica set, from its object and the pods that are there. Pure."""

from steersman.kinds.apps_v1 import StatefulSet
from steersman.kinds.core_v1 import Pod

from mgors.api.mgors_v1 import Mgors
from mgors.members import FIRST_ARBITER, Seat
from mgors.objects import arbiters_name, host_of

_REVISION = "controller-revision-hash"


def seats_of(mgors: Mgors, pods: dict[str, Pod], sets: dict[str, StatefulSet]) -> list[Seat]:
    """Give every place that is wanted, and every one that has a pod."""
    found = []
    for name, wanted, first in (
        (mgors.name, mgors.spec.members, 0),
        (arbiters_name(mgors), mgors.spec.arbiters, FIRST_ARBITER),
    ):
        stateful_set = sets.get(name)
        running = (stateful_set.spec.replicas or 0) if stateful_set else 0
        for ordinal in range(max(wanted, running)):
            pod = pods.get(f"{name}-{ordinal}")
            if pod is not None and pod.is_deleting:
                pod = None  # it is on its way, and what it says does not count any more
            found.append(
                Seat(
                    number=first + ordinal,
                    pod=f"{name}-{ordinal}",
                    pod_uid=pod.uid if pod else "",
                    host=host_of(pod, mgors) if pod else "",
                    is_arbiter=first > 0,
                    is_wanted=ordinal < wanted,
                    is_stale=pod is not None and stateful_set is not None and _is_stale(pod, stateful_set),
                )
            )
    return found


def _is_stale(pod: Pod, stateful_set: StatefulSet) -> bool:
    status = stateful_set.status
    if status.observed_generation != stateful_set.generation or not status.update_revision:
        return False
    return pod.metadata.labels.get(_REVISION) != status.update_revision
