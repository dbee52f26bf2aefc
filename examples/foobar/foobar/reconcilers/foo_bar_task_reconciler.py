"""The worker: does what a task says, so often as it takes but not for ever, and remembers how it went."""

from steersman import Context, Permanent, Retry

from foobar.actions import apply, revoke
from foobar.api.foo_bar_task_v1 import FooBarTask, Progress
from foobar.operator import operator
from foobar.tasks import FINALIZER

#: How often a task is tried before it counts as failed; the pauses between are 1, 2, 4, … seconds.
MOST_ATTEMPTS = 5
#: Seconds for which a task that is over can be looked at.
TTL = 600.0

_ACTIONS = {"Apply": apply, "Revoke": revoke}


@operator.reconciler(FooBarTask, workers=4, finalizer=FINALIZER)
async def work(task: FooBarTask, ctx: Context[FooBarTask]) -> None:
    """Do it; doing it again does no harm. What a server or a network does wrong is retried by the framework."""
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
    """Undo what a task applied, before it goes: whoever deletes it by hand would take our knowledge of it away."""
    if task.spec.operation == "Apply":
        await revoke(task, ctx)


def _finish(task: FooBarTask, progress: Progress, message: str, ctx: Context[FooBarTask]) -> None:
    task.status.progress, task.status.message = progress, message
    task.status.finished_at = ctx.now().replace(microsecond=0)
    ctx.condition("Ready", progress == "Succeeded", progress, message)
    ctx.requeue_after(TTL)


async def _expire(task: FooBarTask, ctx: Context[FooBarTask]) -> None:
    """Delete a task when its time is over; those that applied something are kept, as they are what we know of it."""
    if task.spec.operation == "Apply" or task.status.finished_at is None:
        return
    left = TTL - (ctx.now() - task.status.finished_at).total_seconds()
    if left <= 0:
        await ctx.delete(task)
    else:
        ctx.requeue_after(left)
