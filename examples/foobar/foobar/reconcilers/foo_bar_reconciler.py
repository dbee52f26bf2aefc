"""The reconciler of FooBar: creates tasks from the spec, and the status from the tasks.

The tasks show what was applied before, not the status, which users can erase. When the target changes, the old one is
revoked before the new one is applied.
"""

from steersman import Context
from steersman.controller import always

from foobar.api.foo_bar_task_v1 import FooBarTask, Operation, Progress
from foobar.api.foo_bar_v1 import FooBar, State
from foobar.operator import operator
from foobar.tasks import Tasks, apply_of, revoke_of

#: Seconds after which a failed revoke starts again.
REVOKE_RETRY = 60.0

_STATES: dict[tuple[Operation, Progress], State] = {
    ("Apply", "Pending"): "Applying",
    ("Apply", "Succeeded"): "ApplySucceed",
    ("Apply", "Failed"): "ApplyFailed",
    ("Revoke", "Pending"): "Revoking",
    ("Revoke", "Succeeded"): "RevokeSucceed",
    ("Revoke", "Failed"): "RevokeFailed",
}


@operator.reconciler(FooBar, owns=[FooBarTask], when=always)  # always: an erased status is restored
async def reconcile(foobar: FooBar, ctx: Context[FooBar]) -> None:
    """Revoke what is no longer wanted, then apply what is, and show the current task in the status."""
    tasks = Tasks(ctx.owned(FooBarTask))
    task = await _revoke(tasks, tasks.outdated(foobar), ctx)
    if task is None:
        task = tasks.current(foobar) or await ctx.apply(apply_of(foobar))
    _update_status(task, foobar, ctx)


@reconcile.cleanup
async def cleanup(foobar: FooBar, ctx: Context[FooBar]) -> None:
    """Revoke everything; the finalizer stays until then, and the tasks are deleted with their owner."""
    tasks = Tasks(ctx.owned(FooBarTask))
    task = await _revoke(tasks, tasks.applied, ctx)
    if task is not None:
        _update_status(task, foobar, ctx)
        ctx.requeue_after(REVOKE_RETRY)


async def _revoke(tasks: Tasks, applied: list[FooBarTask], ctx: Context[FooBar]) -> FooBarTask | None:
    """Revoke applied tasks; return one that is not revoked yet, or ``None`` when all are."""
    unfinished = None
    for apply in applied:
        revoke = tasks.revoke(apply)
        if revoke is not None and revoke.status.progress == "Succeeded":
            if not apply.is_deleting:
                await ctx.delete(apply)
        elif apply.is_deleting or not apply.is_finished:
            # It may be running at this moment; a concurrent revoke could leave it half done.
            unfinished = apply
        elif revoke is None:
            unfinished = await ctx.apply(revoke_of(apply))
        else:
            unfinished = revoke
            await _retry_revoke(revoke, ctx)
    return unfinished


async def _retry_revoke(revoke: FooBarTask, ctx: Context[FooBar]) -> None:
    """Delete a failed revoke after a while, so that it is created again."""
    if revoke.status.finished_at is None:
        return
    waited = (ctx.now() - revoke.status.finished_at).total_seconds()
    if waited >= REVOKE_RETRY:
        await ctx.delete(revoke)
    else:
        ctx.requeue_after(REVOKE_RETRY - waited)


def _update_status(task: FooBarTask, foobar: FooBar, ctx: Context[FooBar]) -> None:
    status = foobar.status
    state = "Revoking" if task.is_deleting else _STATES[task.spec.operation, task.status.progress]
    message = task.status.message
    if (status.status, status.message, status.observed_generation) == (state, message, foobar.generation):
        return
    if status.status != state and task.is_finished:
        ctx.event(state, message, kind="Warning" if task.status.progress == "Failed" else "Normal")
    status.status, status.message, status.observed_generation = state, message, foobar.generation
    status.update_time = ctx.now().replace(microsecond=0)
