"""Why a key is reconciled: each change, timer or retry is a typed `Cause`, for logs, ``ctx.why`` and the echo check."""

from enum import StrEnum
from typing import Any

from msgspec import Struct

from steersman.controller.reports.writes import Target
from steersman.errors import DecodeError
from steersman.history.differences import Mask, field_changes
from steersman.history.records import CauseRecord, CauseType, FieldChange, ObjectName
from steersman.informer.changes import Added, Change, Updated, record_of
from steersman.informer.record import Record
from steersman.objects.codec import decode_as
from steersman.objects.identity import GroupVersionKind, ObjectKey


class Part(StrEnum):
    """A part of an object that changed."""

    SPEC = "spec"
    LABELS = "labels"
    ANNOTATIONS = "annotations"
    FINALIZERS = "finalizers"
    DELETION = "deletion"
    OWNERS = "owners"
    STATUS = "status"
    #: Any part, in a kind that has no generation.
    CONTENT = "content"


_NO_KEY = ObjectKey("", "")


class _Specified(Struct):
    """An object of which only the spec is read."""

    spec: Any = None


class SpecChange(Struct, frozen=True, eq=False):
    """Two states of an object. They are compared when the record of the run is made: Secrets are known then."""

    old: Record
    new: Record

    @property
    def size(self) -> int:
        """Number of bytes of both states."""
        return len(self.old.content) + len(self.new.content)

    def fields(self, mask: Mask = str) -> tuple[FieldChange, ...]:
        """Return the fields in which the specs differ, at most a few."""
        try:
            before, after = decode_as(_Specified, self.old.data).spec, decode_as(_Specified, self.new.data).spec
        except (DecodeError, RecursionError):
            return ()
        return field_changes({"spec": before}, {"spec": after}, mask)[0]


class Cause(Struct, frozen=True):
    """One reason for a reconcile."""

    type: CauseType
    #: The object that it happened to; ``None`` for timers, retries and ``ctx.waker``.
    target: Target | None = None
    #: Resource version of that object.
    version: str = ""
    #: The parts of the object that changed.
    parts: tuple[Part, ...] = ()
    #: The reason of a retry.
    reason: str = ""
    #: The change of its spec, if it is the reconciled object.
    change: "SpecChange | None" = None

    @property
    def kind(self) -> str:
        """Kind of the object that it happened to; empty without one."""
        return "" if self.target is None else self.target.gvk.kind

    @property
    def key(self) -> ObjectKey:
        """Key of the object that it happened to; empty without one."""
        return _NO_KEY if self.target is None else self.target.key

    def record(self, mask: Mask = str) -> CauseRecord:
        """Return the cause as the history keeps it, with secrets masked."""
        target = self.target
        name = None if target is None else ObjectName(target.gvk.kind, *target.key, target.gvk.group)
        changes = () if self.change is None else self.change.fields(mask)
        return CauseRecord(self.type, name, ", ".join(self.parts) or mask(self.reason), changes, self.version)

    def __str__(self) -> str:
        subject = "" if self.target is None else f"{self.target} "
        detail = ", ".join(self.parts) or self.reason
        return f"{subject}{self.type}{f' ({detail})' if detail else ''}"


def changed_parts(old: Record, new: Record) -> tuple[Part, ...]:
    """Return the parts of an object that differ, as far as that is known without decoding it."""
    parts = [
        part
        for part, differs in (
            (Part.SPEC, old.generation != new.generation),
            (Part.LABELS, old.labels != new.labels),
            (Part.ANNOTATIONS, old.annotations_digest != new.annotations_digest),
            (Part.FINALIZERS, old.finalizers != new.finalizers),
            (Part.DELETION, old.deletion_timestamp != new.deletion_timestamp),
            (Part.OWNERS, old.owners != new.owners),
        )
        if differs
    ]
    if not parts and old.resource_version != new.resource_version:
        # Without a new generation only the status can have changed; kinds without generations may differ anywhere.
        parts.append(Part.STATUS if new.generation else Part.CONTENT)
    return tuple(parts)


def cause_of(gvk: GroupVersionKind, change: Change) -> Cause:
    """Return a change of an object as a cause."""
    record = record_of(change)
    target, version = Target(gvk, record.key), record.resource_version
    if isinstance(change, Added):
        return Cause(CauseType.EXISTS if change.is_initial else CauseType.CREATED, target, version)
    if isinstance(change, Updated):
        cause_type = CauseType.RESYNC if change.is_resync else CauseType.CHANGED
        return Cause(cause_type, target, version, changed_parts(change.old, change.new))
    return Cause(CauseType.DELETED, target, version)
