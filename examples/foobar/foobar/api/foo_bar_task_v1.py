"""FooBarTask, as internal.test.example.com/v1: one task for a FooBar. Users read them, only the operator writes.

Tasks are the operator's durable state: a task that applies something stays until it is revoked, so the operator knows
what was applied even if users change their own objects or the operator restarts.
"""

from datetime import datetime
from typing import Annotated, Literal

from steersman import Model, Resource, Status, custom_resource, field
from steersman.schema import Column, MinLength, Rule, constrained

Operation = Literal["Apply", "Revoke"]
Progress = Literal["Pending", "Succeeded", "Failed"]


@constrained(Rule("self == oldSelf", "a task never changes"))
class FooBarTaskSpec(Model):
    """The operation, and the object that it is for."""

    operation: Operation
    target: Annotated[str, MinLength(1)]
    type: str = ""
    foobar_uid: str = field(name="foobarUID")
    foobar_generation: int


class FooBarTaskStatus(Status):
    """The progress of a task."""

    progress: Progress = "Pending"
    message: str = ""
    attempts: int = 0
    finished_at: datetime | None = None


@custom_resource(
    "internal.test.example.com/v1",
    columns=[
        Column("Operation", ".spec.operation"),
        Column("Target", ".spec.target"),
        Column("Progress", ".status.progress"),
        Column("Age", ".metadata.creationTimestamp"),
    ],
)
class FooBarTask(Resource[FooBarTaskSpec, FooBarTaskStatus]):
    """One task for a FooBar."""

    @property
    def is_finished(self) -> bool:
        """Whether it has ended, successfully or not."""
        return self.status.progress != "Pending"
