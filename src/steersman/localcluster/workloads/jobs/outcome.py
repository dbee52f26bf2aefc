"""Whether a Job is over, and why. Pure."""

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import NamedTuple

from steersman.kinds.batch_v1 import Job, JobCondition, JobStatus
from steersman.kinds.core_v1 import Pod
from steersman.localcluster.workloads.jobs.counts import Counts, parse_indexes

COMPLETE, FAILED, SUSPENDED = "Complete", "Failed", "Suspended"
#: A Job that is about to end has this condition first; it has ended when its last pod has.
ABOUT_TO = {COMPLETE: "SuccessCriteriaMet", FAILED: "FailureTarget"}
_DEFAULT_BACKOFF_LIMIT = 6


class JobOutcome(NamedTuple):
    """How a Job ends: ``Complete`` or ``Failed``."""

    type: str
    reason: str
    message: str


def condition_of(status: JobStatus, kind: str) -> JobCondition | None:
    """Return a condition that holds."""
    return next((one for one in status.conditions or () if one.type == kind and one.status == "True"), None)


def is_over(job: Job) -> bool:
    """Return whether a Job has ended."""
    return any(condition_of(job.status, kind) is not None for kind in (COMPLETE, FAILED))


def verdict(job: Job, counts: Counts, pods: Sequence[Pod], active: int, now: datetime) -> JobOutcome | None:
    """Return how a Job ends; ``None`` while it runs."""
    for kind, about in ABOUT_TO.items():
        decided = condition_of(job.status, about)
        if decided is not None:
            return JobOutcome(kind, decided.reason or "", decided.message or "")
    limit = _DEFAULT_BACKOFF_LIMIT if job.spec.backoff_limit is None else job.spec.backoff_limit
    if counts.all_failed > limit or _restarts(job, pods) > limit:
        return JobOutcome(FAILED, "BackoffLimitExceeded", "Job has reached the specified backoff limit")
    left = seconds_to_deadline(job, now)
    if left is not None and left <= 0:
        return JobOutcome(FAILED, "DeadlineExceeded", "Job was active longer than specified deadline")
    if (rule := _matched_rule(job, counts.completed)) is not None:
        return JobOutcome(COMPLETE, "SuccessPolicy", f"Matched rules at index {rule}")
    if _is_done(job, counts, active):
        return JobOutcome(COMPLETE, "CompletionsReached", "Reached expected number of succeeded pods")
    return None


def _matched_rule(job: Job, completed: set[int]) -> int | None:
    """Return the number of the first rule of the success policy that the completed indexes meet."""
    policy = job.spec.success_policy
    for number, rule in enumerate(policy.rules if policy is not None else ()):
        if rule.succeeded_indexes is None:
            done, needed = len(completed), rule.succeeded_count or 0
        else:
            indexes = set(parse_indexes(rule.succeeded_indexes))
            done = len(completed & indexes)
            needed = len(indexes) if rule.succeeded_count is None else rule.succeeded_count
        if done >= needed:
            return number
    return None


def _is_done(job: Job, counts: Counts, active: int) -> bool:
    if job.spec.completions is None:
        return counts.all_succeeded > 0 and active == 0
    return counts.all_succeeded >= job.spec.completions


def _restarts(job: Job, pods: Sequence[Pod]) -> int:
    """Return the restarts inside pods; where nothing is restarted each failure is a separate pod."""
    spec = job.spec.template.spec
    if spec is None or spec.restart_policy != "OnFailure":
        return 0
    running = [pod for pod in pods if pod.status.phase in ("Running", "Pending")]
    return sum(status.restart_count for pod in running for status in pod.status.container_statuses or ())


def seconds_to_deadline(job: Job, now: datetime) -> float | None:
    """Return the seconds until a Job has worked for too long; ``None`` if it never does."""
    limit, start = job.spec.active_deadline_seconds, job.status.start_time
    if limit is None or start is None or job.spec.suspend:
        return None
    return (start + timedelta(seconds=limit) - now).total_seconds()


def add_condition(
    status: JobStatus, kind: str, reason: str, message: str, now: datetime, *, holds: bool = True
) -> bool:
    """Set a condition; answer whether it changed."""
    value = "True" if holds else "False"
    old = next((one for one in status.conditions or () if one.type == kind), None)
    if old is not None and (old.status, old.reason) == (value, reason):
        return False
    others = [one for one in status.conditions or () if one.type != kind]
    new = JobCondition(
        type=kind, status=value, reason=reason, message=message, last_probe_time=now, last_transition_time=now
    )
    status.conditions = [*others, new]
    return True
