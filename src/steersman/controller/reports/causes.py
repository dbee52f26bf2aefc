"""Why a key is reconciled: each change, timer or retry leaves its cause beside the key, for logs and ``ctx.why``."""

from enum import StrEnum

from msgspec import Struct

from steersman.informer.changes import Added, Change, Updated, record_of
from steersman.informer.record import Record
from steersman.objects.identity import ObjectKey


class What(StrEnum):
    """What happened."""

    EXISTS = "exists"
    CREATED = "created"
    CHANGED = "changed"
    DELETED = "deleted"
    RESYNC = "resync"
    TIMER = "timer"
    RETRY = "retry"
    ASKED = "asked"


_NO_KEY = ObjectKey("", "")


class Cause(Struct, frozen=True):
    """One reason for a reconcile."""

    what: What
    #: The kind and key of the object that it happened to; empty for timers, retries and who asked.
    kind: str = ""
    key: ObjectKey = _NO_KEY
    #: The parts that changed, or why there is a retry.
    detail: str = ""
    #: The version at which it happened.
    version: str = ""

    def __str__(self) -> str:
        subject = f"{self.kind} {self.key} " if self.kind else ""
        return f"{subject}{self.what}{f' ({self.detail})' if self.detail else ''}"


def changed_parts(old: Record, new: Record) -> tuple[str, ...]:
    """Name the parts of an object that differ, as far as they can be told without decoding it."""
    parts = [
        part
        for part, differs in (
            ("spec", old.generation != new.generation),
            ("labels", old.labels != new.labels),
            ("annotations", old.annotations_digest != new.annotations_digest),
            ("finalizers", old.finalizers != new.finalizers),
            ("deletion", old.deletion_timestamp != new.deletion_timestamp),
            ("owners", old.owners != new.owners),
        )
        if differs
    ]
    if not parts and old.resource_version != new.resource_version:
        # A kind that counts generations changed in its status; others may have changed anywhere.
        parts.append("status" if new.generation else "content")
    return tuple(parts)


def cause_of(kind: str, change: Change) -> Cause:
    """Give the cause that a change is."""
    record = record_of(change)
    what, detail = What.DELETED, ""
    if isinstance(change, Added):
        what = What.EXISTS if change.is_initial else What.CREATED
    elif isinstance(change, Updated):
        what = What.RESYNC if change.is_resync else What.CHANGED
        detail = ", ".join(changed_parts(change.old, change.new))
    return Cause(what, kind, record.key, detail, record.resource_version)
