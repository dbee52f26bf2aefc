"""FooBarTask, as internal.test.example.com/v1: one thing to do for a FooBar. Users read them, only the operator writes.

Tasks are the operator's memory: a task that applies something stays until it is revoked, so what was applied is known
whatever users do to their own objects, and whenever the operator was restarted.
"""

from datetime import datetime
from typing import Annotated, Literal

from steersman import Model, Resource, Status, custom_resource, field
from steersman.schema import Column, MinLength, Rule, constrained

Operation = Literal["Apply", "Revoke"]
Progress = Literal["Pending", "Succeeded", "Failed"]


@constrained(Rule("self == oldSelf", "a task never changes"))
class FooBarTaskSpec(Model):
    """What is to be done, for which object."""

    operation: Operation
    target: Annotated[str, MinLength(1)]
    type: str = ""
    foobar_uid: str = field(name="foobarUID")
    foobar_generation: int


class FooBarTaskStatus(Status):
    """How far it is."""

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
    """One thing to do for a FooBar."""

    @property
    def is_finished(self) -> bool:
        """Whether nothing more will be done for it."""
        return self.status.progress != "Pending"
