"""What a run wrote, as values: to the cluster (`Target`, `Write`) and to other systems (`ExternalWrite`)."""

from datetime import datetime
from enum import StrEnum
from typing import NamedTuple

from msgspec import Struct

from steersman.objects.identity import GroupVersionKind, ObjectKey
from steersman.objects.resource import KubeObject, gvk_of


class Target(NamedTuple):
    """Identity of an object that is written or waited for: its kind and key."""

    gvk: GroupVersionKind
    key: ObjectKey

    def __str__(self) -> str:
        return f"{self.gvk.kind} {self.key}"


class Write(Struct, frozen=True):
    """The state that a write left on the server."""

    uid: str
    #: Resource version after the write; empty for a deletion.
    version: str
    #: Whether the write removed the object for good, so that a cache shows it only by the object's absence.
    is_end: bool = False


def target_of(obj: KubeObject) -> Target:
    """Return the identity of an object."""
    return Target(gvk_of(obj), obj.key)


class WriteResult(StrEnum):
    """Result of a write to another system."""

    SUCCEEDED = "succeeded"
    #: It raised: it may or may not have been carried out.
    FAILED = "failed"
    #: It was cancelled while under way: it may or may not have been carried out.
    INTERRUPTED = "interrupted"
    #: This process does not lead any more: it was not sent.
    REFUSED = "refused"


class ExternalWrite(Struct, frozen=True, kw_only=True):
    """One write to another system, without its content."""

    system: str
    description: str
    #: The object whose reconcile made the write.
    key: ObjectKey
    uid: str
    started: datetime
    seconds: float
    result: WriteResult
