"""Deletes finished Jobs after their ``ttlSecondsAfterFinished``."""

from datetime import datetime, timedelta

from steersman.controller.context import Context
from steersman.controller.predicates import always
from steersman.kinds.batch_v1 import Job
from steersman.localcluster.workloads.jobs.outcome import COMPLETE, FAILED, condition_of
from steersman.manager.operator import Operator
from steersman.protocol.options import DeleteOptions, Preconditions

operator = Operator("ttl-after-finished-controller")
operator.permit(Job, "delete")


# The end of a Job is a change of its status alone.
@operator.reconciler(Job, when=always)
async def reconcile(job: Job, ctx: Context[Job]) -> None:
    """Delete a Job whose time is up, with its pods."""
    expiry = expiry_of(job)
    if expiry is None:
        return
    left = (expiry - ctx.now()).total_seconds()
    if left > 0:
        ctx.requeue_after(left)
        return
    options = DeleteOptions(propagation_policy="Foreground", preconditions=Preconditions(uid=job.uid))
    await ctx.client.delete(job, options=options, missing_ok=True)


def expiry_of(job: Job) -> datetime | None:
    """Return when a Job shall go; ``None`` if it stays."""
    seconds = job.spec.ttl_seconds_after_finished
    ended = condition_of(job.status, COMPLETE) or condition_of(job.status, FAILED)
    if seconds is None or ended is None or ended.last_transition_time is None:
        return None
    return ended.last_transition_time + timedelta(seconds=seconds)
