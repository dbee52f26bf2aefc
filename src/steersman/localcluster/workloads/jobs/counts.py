"""The pods of a Job that succeeded and failed, each counted once even if it is deleted. Pure.

A pod that ended carries a finalizer until its uid is in the Job's status; when the finalizer is gone the uid is removed
and the number grows. Whatever happens in between, no pod is lost or counted twice.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime

from steersman.kinds.batch_v1 import Job, UncountedTerminatedPods
from steersman.kinds.core_v1 import Pod

FINALIZER = "batch.kubernetes.io/job-tracking"
INDEX = "batch.kubernetes.io/job-completion-index"


def is_indexed(job: Job) -> bool:
    """Return whether each completion has an index."""
    return job.spec.completion_mode == "Indexed"


def has_succeeded(pod: Pod) -> bool:
    """Return whether a pod did its work."""
    return pod.status.phase == "Succeeded"


def has_failed(pod: Pod) -> bool:
    """Return whether a pod will not finish its work: it failed, or is being deleted before it ended."""
    return pod.status.phase == "Failed" or (pod.is_deleting and not has_succeeded(pod))


def index_of(pod: Pod) -> int | None:
    """Return the number of the completion that a pod works on."""
    text = pod.annotations.get(INDEX, "")
    return int(text) if text.isdecimal() else None


@dataclass(slots=True)
class Counts:
    """Numbers of a Job so far; ``waiting`` are the pods whose finalizer can be removed now."""

    succeeded: int = 0
    failed: int = 0
    uncounted_succeeded: list[str] = field(default_factory=list)
    uncounted_failed: list[str] = field(default_factory=list)
    completed: set[int] = field(default_factory=set)
    waiting: list[Pod] = field(default_factory=list)

    @property
    def all_succeeded(self) -> int:
        """All that succeeded, counted or about to be."""
        return self.succeeded + len(self.uncounted_succeeded)

    @property
    def all_failed(self) -> int:
        """All that failed, counted or about to be."""
        return self.failed + len(self.uncounted_failed)

    @property
    def uncounted(self) -> UncountedTerminatedPods:
        """Pods that have ended but are not counted yet, as in the status."""
        return UncountedTerminatedPods(
            succeeded=sorted(self.uncounted_succeeded) or None, failed=sorted(self.uncounted_failed) or None
        )


def count(job: Job, pods: Sequence[Pod]) -> Counts:
    """Take the next step of counting."""
    counts = Counts(job.status.succeeded or 0, job.status.failed or 0)
    counts.completed = set(parse_indexes(job.status.completed_indexes or ""))
    by_uid = {pod.uid: pod for pod in pods}
    seen = job.status.uncounted_terminated_pods or UncountedTerminatedPods()
    counts.succeeded += _flush(seen.succeeded or (), by_uid, counts.uncounted_succeeded, counts.waiting)
    counts.failed += _flush(seen.failed or (), by_uid, counts.uncounted_failed, counts.waiting)
    known = {*counts.uncounted_succeeded, *counts.uncounted_failed}
    for pod in pods:
        if FINALIZER not in pod.metadata.finalizers or pod.uid in known:
            continue
        if has_succeeded(pod):
            _note_success(job, counts, pod)
        elif job.spec.suspend and pod.is_deleting:
            # Deleted by the suspension: that is not a failure.
            counts.waiting.append(pod)
        elif has_failed(pod):
            counts.uncounted_failed.append(pod.uid)
    if is_indexed(job):
        counts.succeeded = len(counts.completed) - len(counts.uncounted_succeeded)
    return counts


def _note_success(job: Job, counts: Counts, pod: Pod) -> None:
    if is_indexed(job):
        index = index_of(pod)
        if index is None or index in counts.completed or index >= (job.spec.completions or 0):
            # A second success of the same number counts for nothing.
            counts.waiting.append(pod)
            return
        counts.completed.add(index)
    counts.uncounted_succeeded.append(pod.uid)


def _flush(uids: Iterable[str], pods: Mapping[str, Pod], kept: list[str], waiting: list[Pod]) -> int:
    """Count the recorded pods without a finalizer; keep those whose finalizer must be removed first."""
    free = 0
    for uid in uids:
        pod = pods.get(uid)
        if pod is None or FINALIZER not in pod.metadata.finalizers:
            free += 1
        else:
            kept.append(uid)
            waiting.append(pod)
    return free


def parse_indexes(text: str) -> Iterable[int]:
    """Read ``1,3-5``."""
    for part in filter(None, text.split(",")):
        low, _, high = part.partition("-")
        yield from range(int(low), int(high or low) + 1)


def format_indexes(indexes: Iterable[int]) -> str:
    """Write numbers as ``1,3-5``."""
    parts: list[list[int]] = []
    for number in sorted(indexes):
        if parts and parts[-1][-1] == number - 1:
            parts[-1][1:] = [number]
        else:
            parts.append([number])
    # Two neighbours are written one by one, as the Job controller does.
    return ",".join(
        str(part[0]) if len(part) == 1 else f"{part[0]}{',' if part[1] == part[0] + 1 else '-'}{part[1]}"
        for part in parts
    )


def last_end(pods: Iterable[Pod], now: datetime) -> datetime | None:
    """Return when the last of the pods ended."""
    return max((end_of(pod, now) for pod in pods), default=None)


def end_of(pod: Pod, now: datetime) -> datetime:
    """Return when a pod ended, or was deleted; now, if unknown."""
    states = [status.state.terminated for status in pod.status.container_statuses or () if status.state is not None]
    times = [state.finished_at for state in states if state is not None and state.finished_at is not None]
    deleted = pod.metadata.deletion_timestamp
    return max(times) if times else min(deleted, now) if deleted is not None else now
