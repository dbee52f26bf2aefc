"""Which tasks a FooBar needs: rules on plain objects, without a cluster."""

from collections.abc import Iterable

from steersman import meta

from foobar.api.foo_bar_task_v1 import FooBarTask, FooBarTaskSpec
from foobar.api.foo_bar_v1 import FooBar

#: Keeps a task until what it applied is undone, whoever deletes it. It is there from the beginning.
FINALIZER = "internal.test.example.com/task"
#: Names are at most 253 characters, of which the rest of a task's name needs its share.
_NAME = 200


def apply_of(foobar: FooBar) -> FooBarTask:
    """Give the task that applies what a FooBar asks for; the same one whenever it is asked."""
    spec = FooBarTaskSpec(
        operation="Apply",
        target=foobar.spec.target,
        type=foobar.spec.type or "",
        foobar_uid=foobar.uid,
        foobar_generation=foobar.generation,
    )
    return _task(f"{foobar.name[:_NAME]}-{foobar.uid[:8]}-{foobar.generation}", spec)


def revoke_of(apply: FooBarTask) -> FooBarTask:
    """Give the task that undoes another one; the same one whenever it is asked."""
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
    """The tasks that there are for one FooBar."""

    def __init__(self, tasks: Iterable[FooBarTask]) -> None:
        """Take the tasks as they are now."""
        self._by_name = {task.name: task for task in sorted(tasks, key=lambda task: task.name)}

    @property
    def applied(self) -> list[FooBarTask]:
        """What was applied, or may have been, and not been undone to the end."""
        return [task for task in self._by_name.values() if task.spec.operation == "Apply"]

    def revoke(self, apply: FooBarTask) -> FooBarTask | None:
        """Give the task that undoes another one, if there is one."""
        return self._by_name.get(revoke_of(apply).name)

    def current(self, foobar: FooBar) -> FooBarTask | None:
        """Give the task that applies what the FooBar asks for now, unless it is being undone."""
        wanted = (foobar.spec.target, foobar.spec.type or "")
        fits = (task for task in self.applied if (task.spec.target, task.spec.type) == wanted)
        return next((task for task in fits if self.revoke(task) is None and not task.is_deleting), None)

    def outdated(self, foobar: FooBar) -> list[FooBarTask]:
        """Give what was applied and is not asked for any more."""
        current = self.current(foobar)
        return [task for task in self.applied if task is not current]
