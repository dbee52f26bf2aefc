"""Apply a FooBar to its target, a ConfigMap of its namespace, by an annotation, and revoke it again.

A missing target may be created later: ``Retry``. One with the mark of another FooBar cannot be used: ``Permanent``.
A target that changes at the same time is a ``Conflict`` of the API server, after which the task runs again.
"""

from typing import Any

from steersman import Context, Permanent, Retry
from steersman.kinds.core_v1 import ConfigMap

from foobar.api.foo_bar_task_v1 import FooBarTask
from foobar.operator import operator

#: Annotation with the uid of the FooBar that a target belongs to.
MARK = "test.example.com/foobar"
TYPE = "test.example.com/type"

operator.permit(ConfigMap, "get", "patch")


async def apply(task: FooBarTask, ctx: Context[FooBarTask]) -> str:
    """Mark the target; return a message."""
    target = await ctx.get(ConfigMap, task.spec.target)
    if target is None:
        raise Retry(f"ConfigMap {task.spec.target!r} does not exist")
    if target.annotations.get(MARK, task.spec.foobar_uid) != task.spec.foobar_uid:
        raise Permanent("Taken", f"ConfigMap {task.spec.target!r} belongs to another FooBar")
    await _annotate(target, {MARK: task.spec.foobar_uid, TYPE: task.spec.type}, ctx)
    return f"applied to ConfigMap {task.spec.target!r}"


async def revoke(task: FooBarTask, ctx: Context[FooBarTask]) -> str:
    """Remove the mark of this FooBar from the target, if it is there; return a message."""
    target = await ctx.get(ConfigMap, task.spec.target)
    if target is not None and target.annotations.get(MARK) == task.spec.foobar_uid:
        await _annotate(target, {MARK: None, TYPE: None}, ctx)
    return f"revoked from ConfigMap {task.spec.target!r}"


async def _annotate(target: ConfigMap, wanted: dict[str, str | None], ctx: Context[FooBarTask]) -> None:
    if all(target.annotations.get(name) == value for name, value in wanted.items()):
        return
    # With the version that was read: a concurrent change leads to a conflict instead of being overwritten.
    change: dict[str, Any] = {"annotations": wanted, "resourceVersion": target.resource_version}
    await ctx.patch(target, {"metadata": change})
