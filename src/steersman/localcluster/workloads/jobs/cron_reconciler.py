"""CronJobs: a Job each time the schedule comes round."""

from collections.abc import Iterable
from copy import deepcopy
from datetime import datetime, timedelta

from steersman.controller.context import Context
from steersman.errors import AlreadyExists, Permanent
from steersman.kinds.batch_v1 import CronJob, Job
from steersman.kinds.core_v1 import ObjectReference
from steersman.localcluster.workloads.jobs.cron_schedule import DueRuns, due, schedule_of
from steersman.localcluster.workloads.jobs.outcome import COMPLETE, FAILED, condition_of, is_over
from steersman.manager.operator import Operator
from steersman.objects.cron import ScheduleError
from steersman.objects.meta import ObjectMeta
from steersman.objects.times import format_time
from steersman.protocol.options import DeleteOptions, Preconditions

operator = Operator("cronjob-controller")
SCHEDULED = "batch.kubernetes.io/cronjob-scheduled-timestamp"
_KEPT_SUCCESSES, _KEPT_FAILURES = 3, 1
#: A moment after the time itself, so that it has certainly come.
_MARGIN = 0.1


@operator.reconciler(CronJob, owns=[Job])
async def reconcile(cron_job: CronJob, ctx: Context[CronJob]) -> None:
    """Record Jobs that ended, start the one that is due, and requeue for the next."""
    jobs = sorted(ctx.owned(Job), key=_age)
    await _note_ended(cron_job, jobs, ctx)
    await _forget_history(cron_job, jobs, ctx)
    if cron_job.spec.suspend:
        return
    now = ctx.now()
    try:
        found = due(cron_job, now)
    except ScheduleError as error:
        raise Permanent("UnparseableSchedule", f"unparseable schedule {cron_job.spec.schedule!r}: {error}") from None
    if found.too_many:
        text = "too many missed start times. Set or decrease .spec.startingDeadlineSeconds or check clock skew"
        ctx.event("TooManyMissedTimes", text, kind="Warning")
    if found.missed is not None:
        await _begin(cron_job, jobs, found, ctx)
    if found.following is not None:
        ctx.requeue_after((found.following - now).total_seconds() + _MARGIN)


def _age(job: Job) -> tuple[float, str]:
    born = job.metadata.creation_timestamp
    return (born.timestamp() if born is not None else 0.0, job.name)


async def _note_ended(cron_job: CronJob, jobs: Iterable[Job], ctx: Context[CronJob]) -> None:
    """Update the list of running Jobs, and the time of the last success."""
    status = cron_job.status
    by_uid = {job.uid: job for job in jobs}
    active = []
    for reference in status.active or ():
        job = by_uid.pop(reference.uid or "", None)
        if job is None:
            if await ctx.get(Job, reference.name or "") is None:
                ctx.event("MissingJob", f"Active job went missing: {reference.name}")
        elif is_over(job):
            ended = COMPLETE if condition_of(job.status, COMPLETE) is not None else FAILED
            ctx.event("SawCompletedJob", f"Saw completed job: {job.name}, condition: {ended}")
        else:
            active.append(reference)
    active += [_reference(job) for job in by_uid.values() if not is_over(job) and not job.is_deleting]
    status.active = active or None
    successes = [job.status.completion_time for job in jobs if job.status.completion_time is not None]
    if successes:
        status.last_successful_time = max([*successes, *filter(None, [status.last_successful_time])])


async def _forget_history(cron_job: CronJob, jobs: Iterable[Job], ctx: Context[CronJob]) -> None:
    """Delete the oldest finished Jobs beyond the limits."""
    spec = cron_job.spec
    successes = _KEPT_SUCCESSES if spec.successful_jobs_history_limit is None else spec.successful_jobs_history_limit
    failures = _KEPT_FAILURES if spec.failed_jobs_history_limit is None else spec.failed_jobs_history_limit
    for kind, limit in ((COMPLETE, successes), (FAILED, failures)):
        ended = [job for job in jobs if condition_of(job.status, kind) is not None and not job.is_deleting]
        for job in ended[: max(len(ended) - limit, 0)]:
            await _delete(job, ctx)


async def _delete(job: Job, ctx: Context[CronJob]) -> None:
    options = DeleteOptions(propagation_policy="Background", preconditions=Preconditions(uid=job.uid))
    await ctx.client.delete(job, options=options, missing_ok=True)
    ctx.event("SuccessfulDelete", f"Deleted job {job.name}")


async def _begin(cron_job: CronJob, jobs: Iterable[Job], found: DueRuns, ctx: Context[CronJob]) -> None:
    """Start the Job that is due, unless it is too late or the concurrency policy forbids it."""
    missed, now, spec = found.missed, ctx.now(), cron_job.spec
    if missed is None:
        return
    limit = spec.starting_deadline_seconds
    if limit is not None and missed + timedelta(seconds=limit) < now:
        ctx.event("MissSchedule", f"Missed scheduled time to start a job: {format_time(missed)}", kind="Warning")
        return
    running = [job for job in jobs if not is_over(job) and not job.is_deleting]
    if spec.concurrency_policy == "Forbid" and running:
        text = "Not starting job because prior execution is running and concurrency policy is Forbid"
        ctx.event("JobAlreadyActive", text)
        return
    if spec.concurrency_policy == "Replace":
        for job in running:
            await _delete(job, ctx)
        gone = {job.uid for job in running}
        cron_job.status.active = [one for one in cron_job.status.active or () if one.uid not in gone] or None
    try:
        job = await ctx.create(job_of(cron_job, missed))
    except AlreadyExists:
        cron_job.status.last_schedule_time = missed
        return
    ctx.event("SuccessfulCreate", f"Created job {job.name}")
    cron_job.status.active = [*(cron_job.status.active or ()), _reference(job)]
    cron_job.status.last_schedule_time = missed


def job_of(cron_job: CronJob, scheduled: datetime) -> Job:
    """Return the Job of a scheduled time; its name contains the minute, so that there is only one for each."""
    template = cron_job.spec.job_template
    if template.spec is None:
        raise Permanent("InvalidJobTemplate", f"CronJob {cron_job.name} has no spec.jobTemplate.spec: write one")
    metadata = template.metadata or ObjectMeta()
    zone = schedule_of(cron_job).zone
    shown = scheduled.astimezone(zone).isoformat(timespec="seconds").replace("+00:00", "Z")
    return Job(
        ObjectMeta(
            f"{cron_job.name}-{int(scheduled.timestamp()) // 60}",
            labels=dict(metadata.labels),
            annotations={**metadata.annotations, SCHEDULED: shown},
        ),
        spec=deepcopy(template.spec),
    )


def _reference(job: Job) -> ObjectReference:
    return ObjectReference(
        api_version="batch/v1",
        kind="Job",
        name=job.name,
        namespace=job.namespace,
        uid=job.uid,
        resource_version=job.resource_version,
    )
