"""The values of a plan. All are frozen, hold no secret, and can be written as JSON."""

from collections.abc import Iterable
from enum import StrEnum

from msgspec import Struct

from steersman.history.records import FieldChange, ObjectName, Result


class Action(StrEnum):
    """What happens to an object."""

    CREATE = "create"
    CHANGE = "change"
    DELETE = "delete"
    #: Deleted and created again under the same name: another object, with another uid.
    REPLACE = "replace"


class Change(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What the plan does to one object: all of its writes together."""

    action: Action
    object: ObjectName
    api_version: str
    #: The fields that differ; of a new object all of them, of a deleted one none.
    fields: tuple[FieldChange, ...] = ()
    #: Whether it is deleted because its owner is.
    is_cascade: bool = False
    #: Why a write was judged by the rules of the embedded server; empty if the live server judged all of them.
    judged_locally: str = ""
    #: The object as JSON before and after; empty if it did not exist. The values of Secrets are hashes.
    before: bytes = b""
    after: bytes = b""

    def __repr__(self) -> str:
        return f"<Change {self.action} {self.object}>"


class SkippedCall(Struct, frozen=True, order=True):
    """A call to another system that was not made."""

    #: The server of an HTTP request, or the system of an external write.
    system: str
    #: The method of an HTTP request, or the description of an external write.
    description: str
    count: int = 1


class NoOpWrites(Struct, frozen=True, order=True):
    """Writes to an object that is the same before and after them."""

    object: ObjectName
    #: Number of different requests: a plan repeats runs, and a request that is repeated counts once.
    count: int
    #: Whether something was changed and changed back; otherwise each write left the object as it was.
    is_reverted: bool = False


class PlannedObject(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What the reconciles of one object do."""

    controller: str
    object: ObjectName
    changes: tuple[Change, ...] = ()
    calls: tuple[SkippedCall, ...] = ()
    #: Writes that change nothing.
    no_ops: tuple[NoOpWrites, ...] = ()
    #: How the last run ended, and why if it did not succeed.
    result: Result = Result.DONE
    message: str = ""
    #: The object that the last run waits for.
    waits_for: ObjectName | None = None
    runs: int = 0
    #: Whether the last run changed nothing: more runs would repeat it.
    is_at_rest: bool = True

    @property
    def is_unchanged(self) -> bool:
        """Whether nothing is written, to the cluster or to another system."""
        return not self.changes and not self.calls

    @property
    def is_failure(self) -> bool:
        """Whether its plan is incomplete: its run fails, or it does not come to rest."""
        return self.result is Result.FAILED or not self.is_at_rest


def of_definitions(changes: Iterable[Change]) -> tuple[PlannedObject, ...]:
    """Return changes that no reconcile makes, those of CRDs, as planned objects of their own."""
    return tuple(PlannedObject(controller="", object=change.object, changes=(change,)) for change in changes)


class Plan(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What operators would do to a cluster. ``is_empty`` means: nothing."""

    operators: tuple[str, ...]
    objects: tuple[PlannedObject, ...] = ()
    #: Changes that belong to no object: the definitions of the operators' kinds.
    changes: tuple[Change, ...] = ()
    #: Changes that a person proposes: the plan is what operators do if they are made.
    proposed: tuple[Change, ...] = ()
    #: Calls to other systems that were not made, of all objects.
    calls: tuple[SkippedCall, ...] = ()
    #: What the plan could not take into account.
    notes: tuple[str, ...] = ()
    #: Whether an operator did something by itself that may have written, see the notes.
    has_side_effects: bool = False
    #: Number of objects that were left out because of a limit.
    left_out: int = 0
    seconds: float = 0.0

    @property
    def all_changes(self) -> tuple[Change, ...]:
        """Every change: those of definitions, then those of each object."""
        return (*self.changes, *(change for one in self.objects for change in one.changes))

    @property
    def failures(self) -> tuple[PlannedObject, ...]:
        """The objects whose plan is incomplete, because a run fails or does not come to rest."""
        return tuple(one for one in self.objects if one.is_failure)

    @property
    def is_empty(self) -> bool:
        """Whether nothing would be written, and that is certain: no object fails."""
        return not self.all_changes and not self.calls and not self.failures

    @property
    def no_ops(self) -> tuple[NoOpWrites, ...]:
        """Writes that change nothing, of all objects."""
        return tuple(one for planned in self.objects for one in planned.no_ops)

    def count(self, action: Action) -> int:
        """Return how many objects are created, changed, deleted or replaced."""
        return sum(change.action is action for change in self.all_changes)

    @property
    def exit_code(self) -> int:
        """Exit code of `steer plan`: 0 nothing to do, 2 changes, 1 if it is incomplete."""
        if self.failures:
            return 1
        return 0 if self.is_empty else 2

    def __repr__(self) -> str:
        # For the message of an assertion that failed.
        return f"<Plan of {', '.join(self.operators)}\n{self}\n>"

    def __str__(self) -> str:
        from steersman.planning.text import plan_text  # noqa: PLC0415 - circular import: the text is made from a plan

        return plan_text(self)
