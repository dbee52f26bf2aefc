"""The pods of a Job, and how many of them it should have. Pure."""

from collections.abc import Sequence
from datetime import datetime, timedelta

from steersman.kinds.batch_v1 import Job
from steersman.kinds.core_v1 import EnvVar, EnvVarSource, ObjectFieldSelector, Pod
from steersman.localcluster.workloads.jobs.counts import (
    FINALIZER,
    INDEX,
    Counts,
    end_of,
    has_failed,
    has_succeeded,
    index_of,
    is_indexed,
    last_end,
)
from steersman.localcluster.workloads.pods import is_finished, pod_from

#: Between failures a Job waits, each time twice as long.
FIRST_BACKOFF, MAX_BACKOFF = timedelta(seconds=10), timedelta(seconds=600)
_VARIABLE = "JOB_COMPLETION_INDEX"


def job_pod(job: Job, index: int | None) -> Pod:
    """Return a pod of a Job, in Indexed mode for one of its indexes."""
    prefix = f"{job.name}-" if index is None else f"{job.name}-{index}-"
    pod = pod_from(job.spec.template, prefix=prefix)
    pod.metadata.finalizers.append(FINALIZER)
    if index is not None:
        pod.labels[INDEX] = pod.annotations[INDEX] = str(index)
        pod.spec.hostname = pod.spec.hostname or f"{job.name}-{index}"
        source = EnvVarSource(field_ref=ObjectFieldSelector(field_path=f"metadata.labels['{INDEX}']"))
        for container in [*(pod.spec.init_containers or ()), *pod.spec.containers]:
            if not any(one.name == _VARIABLE for one in container.env or ()):
                container.env = [*(container.env or ()), EnvVar(name=_VARIABLE, value_from=source)]
    return pod


def active_pods(job: Job, pods: Sequence[Pod]) -> list[Pod]:
    """Return the pods that work, or will; a deleted one counts until it ended if it must end first."""
    if job.spec.pod_replacement_policy == "Failed":
        return [pod for pod in pods if not is_finished(pod)]
    return [pod for pod in pods if not is_finished(pod) and not has_failed(pod)]


def wanted_active(job: Job, counts: Counts, active: int) -> int:
    """Return how many pods should work now."""
    parallelism = 1 if job.spec.parallelism is None else job.spec.parallelism
    if job.spec.completions is None:
        # As soon as one succeeded the others may finish, and no new one starts.
        return min(active, parallelism) if counts.all_succeeded else parallelism
    return min(parallelism, max(job.spec.completions - counts.all_succeeded, 0))


def free_indexes(job: Job, counts: Counts, active: Sequence[Pod], number: int) -> list[int | None]:
    """Return the indexes of the next pods: the lowest unused ones, or ``None`` for each in NonIndexed mode."""
    if not is_indexed(job):
        return [None] * number
    taken = {*counts.completed, *(index_of(pod) for pod in active)}
    free: list[int | None] = [index for index in range(job.spec.completions or 0) if index not in taken]
    return free[:number]


def failures_in_a_row(pods: Sequence[Pod], counts: Counts, now: datetime) -> int:
    """Return the number of failures since the last success."""
    last = last_end([pod for pod in pods if has_succeeded(pod)], now)
    if not counts.all_succeeded or last is None:
        return counts.all_failed
    return sum(end_of(pod, now) > last for pod in pods if has_failed(pod))


def backoff(pods: Sequence[Pod], failures: int, now: datetime) -> float:
    """Return the seconds to wait before the next pod; the more failures in a row, the longer."""
    last = last_end([pod for pod in pods if has_failed(pod)], now)
    if not failures or last is None:
        return 0.0
    wait = min(FIRST_BACKOFF * (1 << min(failures - 1, 10)), MAX_BACKOFF)
    return max((last + wait - now).total_seconds(), 0.0)
