"""`RunTrace`: what one run reads, writes and reports, noted while it happens; `reconcile_of` makes the record of it.

Notes are cheap tuples; the record is made once, when the run has ended. What must never be kept is left out here: the
content of confidential kinds at once, and the contents of Secrets that the run has read wherever else they occur, when
the record is made.
"""

from collections.abc import Iterable, Sequence
from typing import Any

from msgspec.structs import replace

from steersman.controller.reports.writes import ExternalWrite
from steersman.controller.run.failure_text import failure_text, mask, mask_cut
from steersman.errors import DecodeError
from steersman.history.differences import field_changes, without_bookkeeping
from steersman.history.records import (
    REMOVED,
    ConditionRecord,
    EventRecord,
    ExternalWriteRecord,
    FieldChange,
    ObjectName,
    Read,
    Verb,
    WriteRecord,
)
from steersman.informer.informer import Informer
from steersman.objects.codec import bytes_read, decode_json
from steersman.objects.identity import ObjectKey
from steersman.objects.resource import KubeObject, resource_of
from steersman.protocol.confidential import is_confidential_resource

#: Reads, writes and events of one run that are kept; a run that does more is not explained by its details.
_KEPT = 32
_NO_CHANGES: tuple[tuple[FieldChange, ...], int] = ((), 0)


class RunTrace:
    """The notes of one run."""

    def __init__(self) -> None:
        self.reads: list[Read] = []
        self.writes: list[WriteRecord] = []
        self.external_writes: list[ExternalWriteRecord] = []
        self.events: list[EventRecord] = []
        self.conditions: list[ConditionRecord] = []

    def read_object(
        self, kind: type[KubeObject], key: ObjectKey, found: KubeObject | None, cache: Informer[Any] | None
    ) -> None:
        """Note an object that was read by name; ``None`` if it was absent."""
        if len(self.reads) < _KEPT:
            name = ObjectName(resource_of(kind).gvk.kind, *key)
            version = "" if found is None else found.resource_version
            self.reads.append(Read(name.kind, int(found is not None), name, version, _age(cache)))

    def read_list(self, kind: type[KubeObject], count: int, cache: Informer[Any] | None) -> None:
        """Note a list."""
        if len(self.reads) < _KEPT:
            self.reads.append(Read(resource_of(kind).gvk.kind, count, age=_age(cache)))

    def wrote(self, verb: Verb, obj: KubeObject, *, before: bytes | None = None) -> None:
        """Note a successful write; ``before`` is the object as it was, if that is known."""
        if len(self.writes) >= _KEPT:
            return
        changes, more = _NO_CHANGES
        if verb is Verb.CHANGED and before is not None:
            changes, more = _differences(obj, before)
        self.writes.append(WriteRecord(verb, name_of(obj), obj.resource_version, changes, more))

    def wrote_status(self, obj: KubeObject, version: str, before: Any, after: Any) -> None:
        """Note a write of the status, with the conditions that it changed."""
        before, after = before or {}, after or {}
        known, conditions = before.pop("conditions", None) or [], after.pop("conditions", None) or []
        changes, more = field_changes(before, after)
        self.writes.append(WriteRecord(Verb.STATUS, name_of(obj), version, changes, more))
        if known != conditions and isinstance(known, list) and isinstance(conditions, list):
            former = {_condition(one) for one in known}
            present = list(map(_condition, conditions))
            self.conditions += [one for one in present if one not in former]
            types = {one.type for one in present}
            self.conditions += [ConditionRecord(one.type, REMOVED) for one in former if one.type not in types]

    def failed(self, obj: KubeObject, error: BaseException, secrets: Iterable[bytes]) -> None:
        """Note a write that failed; the text of its error is masked before it is cut."""
        if len(self.writes) < _KEPT:
            self.writes.append(WriteRecord(Verb.FAILED, name_of(obj), error=failure_text(error, secrets)))

    def external_write(self, write: ExternalWrite) -> None:
        """Note a write to another system."""
        if len(self.external_writes) < _KEPT:
            one = ExternalWriteRecord(write.system, write.description, str(write.result), write.seconds)
            self.external_writes.append(one)

    def event(self, type_: str, reason: str, message: str) -> None:
        """Note an event."""
        if len(self.events) < _KEPT:
            self.events.append(EventRecord(type_, plain_text(reason), plain_text(message)))

    def mask(self, forms: Sequence[str]) -> None:
        """Replace these forms of secrets wherever they occur in the texts of the notes."""
        if not forms:
            return
        self.writes = [replace(one, changes=masked_changes(one.changes, forms)) for one in self.writes]
        self.events = [
            replace(one, reason=mask(one.reason, forms), message=mask(one.message, forms)) for one in self.events
        ]
        self.conditions = [
            replace(one, reason=mask(one.reason, forms), message=mask(one.message, forms)) for one in self.conditions
        ]
        self.external_writes = [
            replace(one, system=mask(one.system, forms), description=mask(one.description, forms))
            for one in self.external_writes
        ]


def masked_changes(changes: tuple[FieldChange, ...], forms: Sequence[str]) -> tuple[FieldChange, ...]:
    """Return changes with these forms of secrets masked; their values may have been cut."""
    return tuple(
        FieldChange(mask(path, forms), mask_cut(before, forms), mask_cut(after, forms))
        for path, before, after in changes
    )


def plain_text(value: object) -> str:
    """Return a text that can be encoded, whatever an author passes: ``os.fsdecode`` makes texts that cannot."""
    return str(value).encode("utf-8", "replace").decode()


def name_of(obj: KubeObject) -> ObjectName:
    """Return the name of an object."""
    return ObjectName(resource_of(type(obj)).gvk.kind, obj.namespace, obj.name)


def _age(cache: Informer[Any] | None) -> float | None:
    return None if cache is None else cache.freshness().age


def _differences(obj: KubeObject, before: bytes) -> tuple[tuple[FieldChange, ...], int]:
    after = bytes_read(obj)
    if after is None or is_confidential_resource(resource_of(type(obj)).plural):
        return _NO_CHANGES
    try:
        return field_changes(without_bookkeeping(decode_json(before)), without_bookkeeping(decode_json(after)))
    except DecodeError:
        return _NO_CHANGES


def _condition(condition: Any) -> ConditionRecord:
    fields = condition if isinstance(condition, dict) else {}
    return ConditionRecord(*(str(fields.get(name) or "") for name in ("type", "status", "reason", "message")))
