"""Jobs: pods until enough of them have succeeded, or too many have failed."""

from collections.abc import Sequence
from typing import Any

from steersman.controller.context import Context
from steersman.controller.predicates import always
from steersman.informer.changes import Change, record_of
from steersman.kinds.batch_v1 import Job
from steersman.kinds.core_v1 import Pod
from steersman.localcluster.workloads.batches import slow_start
from steersman.localcluster.workloads.claiming import claimed, orphans
from steersman.localcluster.workloads.jobs.counts import FINALIZER, Counts, count, format_indexes, is_indexed
from steersman.localcluster.workloads.jobs.outcome import (
    ABOUT_TO,
    COMPLETE,
    SUSPENDED,
    JobOutcome,
    add_condition,
    is_over,
    seconds_to_deadline,
    verdict,
)
from steersman.localcluster.workloads.jobs.pods import (
    active_pods,
    backoff,
    failures_in_a_row,
    free_indexes,
    job_pod,
    wanted_active,
)
from steersman.localcluster.workloads.pods import by_dispensability, is_finished, is_ready, selector_of
from steersman.manager.operator import Operator

operator = Operator("job-controller")

#: Unsupported features, and the condition message of a Job that uses one.
_IGNORED = {
    "podFailurePolicy": "failures are all counted",
    "backoffLimitPerIndex": "the limit of the whole Job counts",
}


def _selects(job: Job, pod: Any) -> bool:
    return job.spec.selector is not None and selector_of(job.spec.selector).matches(pod.labels)


# Every change counts: uids that its own last run noted are what the next run goes on with.
@operator.reconciler(Job, owns=[Pod], watches=[orphans(Pod, _selects)], when=always, while_deleting=True, workers=2)
async def reconcile(job: Job, ctx: Context[Job]) -> None:
    """Count finished pods, create or delete pods, and update the status."""
    if job.spec.managed_by and job.spec.managed_by != "kubernetes.io/job-controller":
        return
    if is_over(job):
        pods = ctx.owned(Pod)
    else:
        pods = await claimed(job, ctx, Pod, selector_of(job.spec.selector), finalizer=FINALIZER)
    await _Run(job, pods, ctx).go()


class _Run:
    """One look at one Job."""

    def __init__(self, job: Job, pods: Sequence[Pod], ctx: Context[Job]) -> None:
        self._job = job
        self._pods = sorted(pods, key=lambda pod: pod.name)
        self._ctx = ctx
        self._now = ctx.now().replace(microsecond=0)
        self._counts: Counts = count(job, self._pods)
        self._active = active_pods(job, self._pods)

    async def go(self) -> None:
        job = self._job
        for pod in self._counts.waiting:
            await release(pod, self._ctx)
        if is_over(job) or job.is_deleting:
            await self._free_leftovers()
            self._tell()
            return
        self._begin()
        end = verdict(job, self._counts, self._pods, len(self._active), self._now)
        if end is not None:
            await self._conclude(end)
        elif job.spec.suspend:
            await self._delete(self._active)
        else:
            await self._manage()
            left = seconds_to_deadline(job, self._now)
            if left is not None:
                self._ctx.requeue_after(max(left, 0.001))
        self._tell()

    def _begin(self) -> None:
        """Set the start time, or clear it while the Job is suspended."""
        job, status = self._job, self._job.status
        if job.spec.suspend:
            if add_condition(status, SUSPENDED, "JobSuspended", "Job suspended", self._now):
                self._ctx.event("Suspended", "Job suspended")
            status.start_time = None
            return
        was_suspended = any(one.type == SUSPENDED and one.status == "True" for one in status.conditions or ())
        if was_suspended:
            add_condition(status, SUSPENDED, "JobResumed", "Job resumed", self._now, holds=False)
            self._ctx.event("Resumed", "Job resumed")
        if status.start_time is None:
            status.start_time = self._now
            self._warn_of_ignored()

    def _warn_of_ignored(self) -> None:
        asked = {
            "podFailurePolicy": self._job.spec.pod_failure_policy,
            "backoffLimitPerIndex": self._job.spec.backoff_limit_per_index,
        }
        for field, value in asked.items():
            if value is not None:
                text = f"spec.{field} is not carried out by this local cluster: {_IGNORED[field]}"
                self._ctx.event("NotSimulated", text, kind="Warning")

    async def _conclude(self, end: JobOutcome) -> None:
        """Report that the Job is about to end, delete its pods, and when none is left report that it has ended."""
        status = self._job.status
        add_condition(status, ABOUT_TO[end.type], end.reason, end.message, self._now)
        await self._delete(self._active)
        if self._active or self._counts.uncounted_failed or self._counts.uncounted_succeeded:
            return
        if any(not is_finished(pod) for pod in self._pods):
            return
        add_condition(status, end.type, end.reason, end.message, self._now)
        if end.type == COMPLETE:
            status.completion_time = self._now
            self._ctx.event("Completed", "Job completed")
        else:
            self._ctx.event(end.reason, end.message, kind="Warning")

    async def _manage(self) -> None:
        wanted = wanted_active(self._job, self._counts, len(self._active))
        if len(self._active) > wanted:
            surplus = by_dispensability(self._active, self._ctx.now())
            await self._delete(surplus[: len(self._active) - wanted])
            return
        missing = wanted - len(self._active)
        failures = failures_in_a_row(self._pods, self._counts, self._now)
        wait = backoff(self._pods, failures, self._ctx.now())
        if missing and wait:
            self._ctx.requeue_after(wait)
            return
        indexes = free_indexes(self._job, self._counts, self._active, missing)

        async def create(number: int) -> None:
            pod = await self._ctx.create(job_pod(self._job, indexes[number]))
            self._ctx.event("SuccessfulCreate", f"Created pod: {pod.name}")
            self._active.append(pod)

        failure = await slow_start(len(indexes), create)
        if failure is not None:
            self._ctx.event("FailedCreate", f"Error creating: {failure}", kind="Warning")
            raise failure

    async def _delete(self, pods: Sequence[Pod]) -> None:
        for pod in pods:
            if not pod.is_deleting:
                await self._ctx.delete(pod)
                self._ctx.event("SuccessfulDelete", f"Deleted pod: {pod.name}")

    async def _free_leftovers(self) -> None:
        """Release pods that end after the Job has: they are not counted."""
        for pod in self._pods:
            if FINALIZER in pod.metadata.finalizers and (is_finished(pod) or pod.is_deleting):
                await release(pod, self._ctx)

    def _tell(self) -> None:
        status, counts = self._job.status, self._counts
        status.active = len([pod for pod in self._active if not pod.is_deleting]) or None
        status.ready = sum(is_ready(pod) for pod in self._active)
        status.terminating = sum(pod.is_deleting and not is_finished(pod) for pod in self._pods)
        status.succeeded = counts.succeeded or None
        status.failed = counts.failed or None
        status.uncounted_terminated_pods = counts.uncounted
        if is_indexed(self._job):
            status.completed_indexes = format_indexes(counts.completed) or None


async def release(pod: Pod, ctx: Context[Job] | Context[Pod]) -> None:
    """Remove the finalizer that keeps a pod until it is counted."""
    if FINALIZER in pod.metadata.finalizers:
        pod.metadata.finalizers = [one for one in pod.metadata.finalizers if one != FINALIZER]
        await ctx.update(pod)


def _is_kept(change: Change) -> bool:
    return FINALIZER in record_of(change).finalizers


@operator.reconciler(Pod, when=_is_kept, while_deleting=True, name="job-orphans")
async def free_orphan(pod: Pod, ctx: Context[Pod]) -> None:
    """Remove the finalizer of a pod whose Job is deleted: no other controller would."""
    if FINALIZER not in pod.metadata.finalizers:
        return
    owner = pod.controller
    job = await ctx.client.try_get(Job, owner.name, pod.namespace) if owner is not None else None
    if job is None or owner is None or job.uid != owner.uid:
        await release(pod, ctx)
