"""Which tasks a FooBar needs: pure functions on objects."""

from collections.abc import Iterable

from steersman import meta

from foobar.api.foo_bar_task_v1 import FooBarTask, FooBarTaskSpec
from foobar.api.foo_bar_v1 import FooBar

#: Keeps a deleted task until its effect is revoked. Tasks have it from their creation.
FINALIZER = "internal.test.example.com/task"
#: Characters of the FooBar's name in that of a task: names have at most 253.
_NAME = 200


def apply_of(foobar: FooBar) -> FooBarTask:
    """Return the task that applies a FooBar; the same one for the same generation."""
    spec = FooBarTaskSpec(
        operation="Apply",
        target=foobar.spec.target,
        type=foobar.spec.type or "",
        foobar_uid=foobar.uid,
        foobar_generation=foobar.generation,
    )
    return _task(f"{foobar.name[:_NAME]}-{foobar.uid[:8]}-{foobar.generation}", spec)


def revoke_of(apply: FooBarTask) -> FooBarTask:
    """Return the task that revokes another one; always the same one."""
    spec = FooBarTaskSpec(
        operation="Revoke",
        target=apply.spec.target,
        type=apply.spec.type,
        foobar_uid=apply.spec.foobar_uid,
        foobar_generation=apply.spec.foobar_generation,
    )
    return _task(f"{apply.name}-revoke", spec)


def _task(name: str, spec: FooBarTaskSpec) -> FooBarTask:
    task = FooBarTask(meta(name), spec)
    task.metadata.finalizers = [FINALIZER]
    return task


class Tasks:
    """The existing tasks of one FooBar."""

    def __init__(self, tasks: Iterable[FooBarTask]) -> None:
        """Index the tasks by name."""
        self._by_name = {task.name: task for task in sorted(tasks, key=lambda task: task.name)}

    @property
    def applied(self) -> list[FooBarTask]:
        """Tasks that applied something, or may have, and are not completely revoked."""
        return [task for task in self._by_name.values() if task.spec.operation == "Apply"]

    def revoke(self, apply: FooBarTask) -> FooBarTask | None:
        """Return the task that revokes another one, if it exists."""
        return self._by_name.get(revoke_of(apply).name)

    def current(self, foobar: FooBar) -> FooBarTask | None:
        """Return the task that applies the current spec, unless it is being revoked."""
        wanted = (foobar.spec.target, foobar.spec.type or "")
        fits = (task for task in self.applied if (task.spec.target, task.spec.type) == wanted)
        return next((task for task in fits if self.revoke(task) is None and not task.is_deleting), None)

    def outdated(self, foobar: FooBar) -> list[FooBarTask]:
        """Return the applied tasks that are no longer wanted."""
        current = self.current(foobar)
        return [task for task in self.applied if task is not current]
