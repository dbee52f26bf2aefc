"""What a run wrote to the cluster, for the rules that wait for it to appear in the caches."""

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
