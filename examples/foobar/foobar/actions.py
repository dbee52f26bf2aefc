"""What a FooBar does to its target, a ConfigMap of its namespace: it puts its mark on it, and takes it off again.

A target that is not there may come: ``Retry``. One that carries the mark of another FooBar is not ours: ``Permanent``.
One that somebody changes at the same time is a ``Conflict`` of the API server, after which it is looked at again.
"""

from typing import Any

from steersman import Context, Permanent, Retry
from steersman.kinds.core_v1 import ConfigMap

from foobar.api.foo_bar_task_v1 import FooBarTask
from foobar.operator import operator

#: Whose target it is: the uid of a FooBar.
MARK = "test.example.com/foobar"
TYPE = "test.example.com/type"

operator.permit(ConfigMap, "get", "patch")


async def apply(task: FooBarTask, ctx: Context[FooBarTask]) -> str:
    """Put the mark on the target, and say so."""
    target = await ctx.get(ConfigMap, task.spec.target)
    if target is None:
        raise Retry(f"there is no ConfigMap {task.spec.target!r}")
    if target.annotations.get(MARK, task.spec.foobar_uid) != task.spec.foobar_uid:
        raise Permanent("Taken", f"ConfigMap {task.spec.target!r} belongs to another FooBar")
    await _annotate(target, {MARK: task.spec.foobar_uid, TYPE: task.spec.type}, ctx)
    return f"applied to ConfigMap {task.spec.target!r}"


async def revoke(task: FooBarTask, ctx: Context[FooBarTask]) -> str:
    """Take the mark off the target; where there is none of ours there is nothing to do."""
    target = await ctx.get(ConfigMap, task.spec.target)
    if target is not None and target.annotations.get(MARK) == task.spec.foobar_uid:
        await _annotate(target, {MARK: None, TYPE: None}, ctx)
    return f"revoked from ConfigMap {task.spec.target!r}"


async def _annotate(target: ConfigMap, wanted: dict[str, str | None], ctx: Context[FooBarTask]) -> None:
    if all(target.annotations.get(name) == value for name, value in wanted.items()):
        return
    # With the version that was read: if somebody else was faster, this is a conflict and nothing is overwritten.
    change: dict[str, Any] = {"annotations": wanted, "resourceVersion": target.resource_version}
    await ctx.patch(target, {"metadata": change})
