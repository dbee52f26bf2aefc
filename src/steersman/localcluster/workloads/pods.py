"""What all workload controllers know about pods: how they are created from a template, and their state. Pure."""

from collections.abc import Iterable, Mapping
from copy import deepcopy
from datetime import datetime, timedelta

from steersman.kinds.core_v1 import Pod, PodCondition, PodSpec, PodTemplateSpec
from steersman.kinds.meta_v1 import LabelSelector as SelectorSpec
from steersman.objects.meta import ObjectMeta
from steersman.objects.selectors import LabelSelector

#: Deletion cost of a pod; the lowest is deleted first.
DELETION_COST = "controller.kubernetes.io/pod-deletion-cost"
_PHASES = {"Pending": 0, "Unknown": 1, "Running": 2}
#: Earlier than any pod; a pod that never was ready counts as ready for the shortest time.
_NEVER = timedelta(0)


def selector_of(spec: SelectorSpec | None) -> LabelSelector:
    """Return the selector that a workload's spec holds."""
    if spec is None:
        return LabelSelector()
    return LabelSelector.from_expressions(spec.match_labels, spec.match_expressions)


def pod_from(template: PodTemplateSpec, *, prefix: str, labels: Mapping[str, str] | None = None) -> Pod:
    """Return a pod of a template; the server completes its name."""
    metadata = template.metadata or ObjectMeta()
    return Pod(
        ObjectMeta(
            generate_name=prefix,
            labels={**metadata.labels, **(labels or {})},
            annotations=dict(metadata.annotations),
            finalizers=list(metadata.finalizers),
        ),
        spec=deepcopy(template.spec) if template.spec is not None else PodSpec(containers=[]),
    )


def is_finished(pod: Pod) -> bool:
    """Return whether no container of the pod will run again."""
    return pod.status.phase in ("Succeeded", "Failed")


def is_active(pod: Pod) -> bool:
    """Return whether it runs or will run."""
    return not is_finished(pod) and not pod.is_deleting


def ready_condition(pod: Pod) -> PodCondition | None:
    """Return its Ready condition."""
    return next((condition for condition in pod.status.conditions or () if condition.type == "Ready"), None)


def is_ready(pod: Pod) -> bool:
    """Return whether it can do its work."""
    condition = ready_condition(pod)
    return condition is not None and condition.status == "True"


def available_in(pod: Pod, min_ready_seconds: int | None, now: datetime) -> float | None:
    """Return the seconds until it has been ready for long enough, 0 if it has; ``None`` while it is not ready."""
    if not is_ready(pod):
        return None
    condition = ready_condition(pod)
    since = condition.last_transition_time if condition is not None else None
    if not min_ready_seconds or since is None:
        return 0.0
    return max((since + timedelta(seconds=min_ready_seconds) - now).total_seconds(), 0.0)


def is_available(pod: Pod, min_ready_seconds: int | None, now: datetime) -> bool:
    """Return whether it has been ready for long enough to be counted on."""
    return available_in(pod, min_ready_seconds, now) == 0.0


def next_available(pods: Iterable[Pod], min_ready_seconds: int | None, now: datetime) -> float | None:
    """Return the seconds until the next of the pods becomes available by time alone; ``None`` if none will."""
    waits = (available_in(pod, min_ready_seconds, now) for pod in pods)
    return min((wait for wait in waits if wait), default=None)


def by_dispensability(pods: Iterable[Pod], now: datetime) -> list[Pod]:
    """Return pods in the order in which the ReplicaSet controller deletes them.

    Not bound before bound, not running before running, not ready before ready, low deletion cost before high, then
    ready for the shortest time, restarted most often, youngest.
    """
    return sorted(pods, key=lambda pod: _rank(pod, now))


def _rank(pod: Pod, now: datetime) -> tuple[bool, int, bool, int, timedelta, int, timedelta, str]:
    condition = ready_condition(pod)
    since = condition.last_transition_time if condition is not None and condition.status == "True" else None
    born = pod.metadata.creation_timestamp
    return (
        bool(pod.spec.node_name),
        _PHASES.get(pod.status.phase or "Pending", 0),
        is_ready(pod),
        _cost(pod),
        now - since if since is not None else _NEVER,
        -sum(status.restart_count for status in pod.status.container_statuses or ()),
        now - born if born is not None else _NEVER,
        pod.name,
    )


def _cost(pod: Pod) -> int:
    try:
        return int(pod.annotations.get(DELETION_COST, "0"))
    except ValueError:
        return 0
