"""The status of a Deployment: counts, whether it is available, and whether its rollout makes progress. Pure."""

from collections.abc import Sequence
from copy import deepcopy
from datetime import datetime, timedelta

from steersman.kinds.apps_v1 import Deployment, DeploymentCondition, DeploymentStatus, ReplicaSet
from steersman.localcluster.workloads.deployments.revisions import replicas_of
from steersman.localcluster.workloads.deployments.rolling import limits, wanted_pods

AVAILABLE, PROGRESSING, FAILURE = "Available", "Progressing", "ReplicaFailure"
NEW_AVAILABLE, TIMED_OUT = "NewReplicaSetAvailable", "ProgressDeadlineExceeded"
PAUSED, RESUMED = "DeploymentPaused", "DeploymentResumed"
#: The largest number of seconds means no deadline.
_NO_DEADLINE = 2**31 - 1


def deadline_of(deployment: Deployment) -> int | None:
    """Return the seconds within which a rollout must make progress; ``None`` for all the time in the world."""
    seconds = deployment.spec.progress_deadline_seconds
    return None if seconds is None or seconds == _NO_DEADLINE else seconds


def condition_of(status: DeploymentStatus, kind: str) -> DeploymentCondition | None:
    """Return a condition."""
    return next((condition for condition in status.conditions or () if condition.type == kind), None)


def set_condition(status: DeploymentStatus, kind: str, value: str, reason: str, message: str, *, now: datetime) -> None:
    """Set a condition, which moves to the end; one of the same status and reason stays as it is."""
    old = condition_of(status, kind)
    if old is not None and (old.status, old.reason) == (value, reason):
        return
    now = now.replace(microsecond=0)
    since = old.last_transition_time if old is not None and old.status == value else now
    drop_condition(status, kind)
    status.conditions = [
        *(status.conditions or ()),
        DeploymentCondition(
            type=kind, status=value, reason=reason, message=message, last_update_time=now, last_transition_time=since
        ),
    ]


def drop_condition(status: DeploymentStatus, kind: str) -> None:
    """Remove a condition."""
    status.conditions = [one for one in status.conditions or () if one.type != kind] or None


def counted(deployment: Deployment, replica_sets: Sequence[ReplicaSet], new: ReplicaSet | None) -> DeploymentStatus:
    """Return the status with what the ReplicaSets have now; conditions but that of availability are as before."""
    ready = sum(one.status.ready_replicas or 0 for one in replica_sets)
    available = sum(one.status.available_replicas or 0 for one in replica_sets)
    return DeploymentStatus(
        observed_generation=deployment.metadata.generation,
        replicas=sum(one.status.replicas for one in replica_sets) or None,
        updated_replicas=(new.status.replicas if new is not None else 0) or None,
        ready_replicas=ready or None,
        available_replicas=available or None,
        unavailable_replicas=max(wanted_pods(replica_sets) - available, 0) or None,
        terminating_replicas=sum(one.status.terminating_replicas or 0 for one in replica_sets),
        collision_count=deployment.status.collision_count,
        conditions=deepcopy(deployment.status.conditions),
    )


def judge_availability(deployment: Deployment, status: DeploymentStatus, now: datetime) -> None:
    """Return whether enough pods are available."""
    if (status.available_replicas or 0) >= replicas_of(deployment) - limits(deployment).unavailable:
        text = "Deployment has minimum availability."
        set_condition(status, AVAILABLE, "True", "MinimumReplicasAvailable", text, now=now)
    else:
        text = "Deployment does not have minimum availability."
        set_condition(status, AVAILABLE, "False", "MinimumReplicasUnavailable", text, now=now)


def is_complete(deployment: Deployment, status: DeploymentStatus) -> bool:
    """Return whether all pods are of the newest template, and available."""
    wanted = replicas_of(deployment) or None
    return status.updated_replicas == status.replicas == status.available_replicas == wanted


def judge_progress(deployment: Deployment, status: DeploymentStatus, new: ReplicaSet | None, now: datetime) -> None:
    """Return whether the rollout is done, makes progress, or has made none for too long."""
    if deadline_of(deployment) is None:
        drop_condition(status, PROGRESSING)
        return
    told = condition_of(deployment.status, PROGRESSING)
    was_done = told is not None and told.reason == NEW_AVAILABLE and status.replicas == status.updated_replicas
    if was_done:
        return
    subject = f'ReplicaSet "{new.name}"' if new is not None else f'Deployment "{deployment.name}"'
    if is_complete(deployment, status):
        text = f"{subject} has successfully progressed."
        set_condition(status, PROGRESSING, "True", NEW_AVAILABLE, text, now=now)
    elif _progressed(deployment.status, status):
        _note_progress(status, told, f"{subject} is progressing.", now)
    elif is_timed_out(deployment, status, now):
        text = f"{subject} has timed out progressing."
        set_condition(status, PROGRESSING, "False", TIMED_OUT, text, now=now)


def _progressed(before: DeploymentStatus, after: DeploymentStatus) -> bool:
    old_before = (before.replicas or 0) - (before.updated_replicas or 0)
    old_after = (after.replicas or 0) - (after.updated_replicas or 0)
    return (
        (after.updated_replicas or 0) > (before.updated_replicas or 0)
        or old_after < old_before
        or (after.ready_replicas or 0) > (before.ready_replicas or 0)
        or (after.available_replicas or 0) > (before.available_replicas or 0)
    )


def _note_progress(status: DeploymentStatus, told: DeploymentCondition | None, text: str, now: datetime) -> None:
    """Set the condition with a new update time, even if it is unchanged: that is when progress was last seen."""
    drop_condition(status, PROGRESSING)
    set_condition(status, PROGRESSING, "True", "ReplicaSetUpdated", text, now=now)
    condition = condition_of(status, PROGRESSING)
    if told is not None and condition is not None and told.status == "True":
        condition.last_transition_time = told.last_transition_time


def is_timed_out(deployment: Deployment, status: DeploymentStatus, now: datetime) -> bool:
    """Return whether no progress was seen for longer than the deadline."""
    wait = seconds_to_deadline(deployment, status, now)
    condition = condition_of(status, PROGRESSING)
    return (condition is not None and condition.reason == TIMED_OUT) or (wait is not None and wait <= 0)


def seconds_to_deadline(deployment: Deployment, status: DeploymentStatus, now: datetime) -> float | None:
    """Return the seconds until the rollout fails if nothing happens; ``None`` if it will not."""
    condition, deadline = condition_of(status, PROGRESSING), deadline_of(deployment)
    if condition is None or deadline is None or condition.reason in (NEW_AVAILABLE, TIMED_OUT, PAUSED):
        return None
    since = condition.last_update_time or now
    return (since + timedelta(seconds=deadline) - now).total_seconds()


def judge_pausing(deployment: Deployment, status: DeploymentStatus, now: datetime) -> None:
    """Report that a rollout was paused or resumed: while it is paused the deadline does not run."""
    if deadline_of(deployment) is None:
        return
    told = condition_of(status, PROGRESSING)
    if told is not None and told.reason == TIMED_OUT:
        return
    is_told = told is not None and told.reason == PAUSED
    if deployment.spec.paused and not is_told:
        set_condition(status, PROGRESSING, "Unknown", PAUSED, "Deployment is paused", now=now)
    elif not deployment.spec.paused and is_told:
        set_condition(status, PROGRESSING, "Unknown", RESUMED, "Deployment is resumed", now=now)


def judge_failure(status: DeploymentStatus, replica_sets: Sequence[ReplicaSet], new: ReplicaSet | None) -> None:
    """Report why pods cannot be created: the error of the new ReplicaSet, or else of any."""
    drop_condition(status, FAILURE)
    for one in [*([new] if new is not None else []), *replica_sets]:
        for condition in one.status.conditions or ():
            if condition.type == FAILURE:
                since = condition.last_transition_time
                status.conditions = [
                    *(status.conditions or ()),
                    DeploymentCondition(
                        type=FAILURE,
                        status=condition.status,
                        reason=condition.reason,
                        message=condition.message,
                        last_update_time=since,
                        last_transition_time=since,
                    ),
                ]
                return
