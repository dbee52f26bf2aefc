"""The reconciler of FooBarTask: runs a task, with a limited number of attempts, and records the result."""

from steersman import Context, Permanent, Retry

from foobar.actions import apply, revoke
from foobar.api.foo_bar_task_v1 import FooBarTask, Progress
from foobar.operator import operator
from foobar.tasks import FINALIZER

#: Attempts before a task has failed; the delays between them are 1, 2, 4, … seconds.
MOST_ATTEMPTS = 5
#: Seconds for which a finished task is kept.
TTL = 600.0

_ACTIONS = {"Apply": apply, "Revoke": revoke}


@operator.reconciler(FooBarTask, workers=4, finalizer=FINALIZER)
async def work(task: FooBarTask, ctx: Context[FooBarTask]) -> None:
    """Run the task, which is idempotent. Errors of the API server and the network are retried by the framework."""
    if task.is_finished:
        await _expire(task, ctx)
        return
    try:
        message = await _ACTIONS[task.spec.operation](task, ctx)
    except Permanent as refusal:
        _finish(task, "Failed", refusal.message, ctx)
    except Retry as failure:
        task.status.attempts += 1
        if task.status.attempts < MOST_ATTEMPTS:
            task.status.message = str(failure)
            raise Retry(str(failure), after=2.0 ** (task.status.attempts - 1)) from None
        _finish(task, "Failed", str(failure), ctx)
    else:
        _finish(task, "Succeeded", message, ctx)


@work.cleanup
async def undo(task: FooBarTask, ctx: Context[FooBarTask]) -> None:
    """Revoke what a task applied before it is deleted: otherwise the operator would not know about it any more."""
    if task.spec.operation == "Apply":
        await revoke(task, ctx)


def _finish(task: FooBarTask, progress: Progress, message: str, ctx: Context[FooBarTask]) -> None:
    task.status.progress, task.status.message = progress, message
    task.status.finished_at = ctx.now().replace(microsecond=0)
    ctx.condition("Ready", progress == "Succeeded", progress, message)
    ctx.requeue_after(TTL)


async def _expire(task: FooBarTask, ctx: Context[FooBarTask]) -> None:
    """Delete a task after its TTL; tasks that applied something stay, because they are the durable state."""
    if task.spec.operation == "Apply" or task.status.finished_at is None:
        return
    left = TTL - (ctx.now() - task.status.finished_at).total_seconds()
    if left <= 0:
        await ctx.delete(task)
    else:
        ctx.requeue_after(left)
