"""The front: from what a user asks for to tasks, and from tasks to what the user sees.

What was applied before is read from the tasks, never from the status: users can erase that, and a restart may come at
any time. When the target changes, the old one is revoked before the new one is applied.
"""

from steersman import Context
from steersman.controller import always

from foobar.api.foo_bar_task_v1 import FooBarTask, Operation, Progress
from foobar.api.foo_bar_v1 import FooBar, State
from foobar.operator import operator
from foobar.tasks import Tasks, apply_of, revoke_of

#: Seconds after which a revoke that failed is tried again from the start.
REVOKE_AGAIN = 60.0

_STATES: dict[tuple[Operation, Progress], State] = {
    ("Apply", "Pending"): "Applying",
    ("Apply", "Succeeded"): "ApplySucceed",
    ("Apply", "Failed"): "ApplyFailed",
    ("Revoke", "Pending"): "Revoking",
    ("Revoke", "Succeeded"): "RevokeSucceed",
    ("Revoke", "Failed"): "RevokeFailed",
}


@operator.reconciler(FooBar, owns=[FooBarTask], when=always)  # always: whoever erases the status gets it back
async def reconcile(foobar: FooBar, ctx: Context[FooBar]) -> None:
    """Revoke what is not wanted any more, then apply what is, and show the task that is at work."""
    tasks = Tasks(ctx.owned(FooBarTask))
    task = await _revoke(tasks, tasks.outdated(foobar), ctx)
    if task is None:
        task = tasks.current(foobar) or await ctx.apply(apply_of(foobar))
    _show(task, foobar, ctx)


@reconcile.cleanup
async def cleanup(foobar: FooBar, ctx: Context[FooBar]) -> None:
    """Revoke everything; the finalizer stays until that is done, and the tasks go with their owner."""
    tasks = Tasks(ctx.owned(FooBarTask))
    task = await _revoke(tasks, tasks.applied, ctx)
    if task is not None:
        _show(task, foobar, ctx)
        ctx.requeue_after(REVOKE_AGAIN)


async def _revoke(tasks: Tasks, applied: list[FooBarTask], ctx: Context[FooBar]) -> FooBarTask | None:
    """Bring the undoing of tasks forward; give one that is not done yet, ``None`` when all are."""
    unfinished = None
    for apply in applied:
        revoke = tasks.revoke(apply)
        if revoke is not None and revoke.status.progress == "Succeeded":
            if not apply.is_deleting:
                await ctx.delete(apply)
        elif apply.is_deleting or not apply.is_finished:
            # Its worker may be at it this moment: undoing what is being done would leave it half done.
            unfinished = apply
        elif revoke is None:
            unfinished = await ctx.apply(revoke_of(apply))
        else:
            unfinished = revoke
            await _begin_again(revoke, ctx)
    return unfinished


async def _begin_again(revoke: FooBarTask, ctx: Context[FooBar]) -> None:
    """Let a revoke that failed be followed by another one, after a while."""
    if revoke.status.finished_at is None:
        return
    waited = (ctx.now() - revoke.status.finished_at).total_seconds()
    if waited >= REVOKE_AGAIN:
        await ctx.delete(revoke)
    else:
        ctx.requeue_after(REVOKE_AGAIN - waited)


def _show(task: FooBarTask, foobar: FooBar, ctx: Context[FooBar]) -> None:
    status = foobar.status
    state = "Revoking" if task.is_deleting else _STATES[task.spec.operation, task.status.progress]
    message = task.status.message
    if (status.status, status.message, status.observed_generation) == (state, message, foobar.generation):
        return
    if status.status != state and task.is_finished:
        ctx.event(state, message, kind="Warning" if task.status.progress == "Failed" else "Normal")
    status.status, status.message, status.observed_generation = state, message, foobar.generation
    status.update_time = ctx.now().replace(microsecond=0)
