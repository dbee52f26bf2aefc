"""`RunTrace`: what one run reads, writes and reports, noted while it happens.

Notes are cheap: they refer to bytes that exist anyway. They are compared once, when the run has ended and its record
is made (``reconcile_record``): only then all Secrets are known that the run has read, so that nothing is cut or kept
before its secrets can be masked. The content of confidential kinds is not even referred to.
"""

from collections.abc import Awaitable, Callable
from typing import Any, NamedTuple, TypeVar

from msgspec import MsgspecError
from msgspec.structs import replace

from steersman.clock import Clock
from steersman.controller.recording.failure_text import cut, failure_text
from steersman.history.differences import Mask, field_changes, object_changes
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
    WriteResult,
)
from steersman.informer.informer import Informer
from steersman.json_types import JsonObject
from steersman.objects.codec import bytes_read
from steersman.objects.identity import GroupVersionKind, ObjectKey
from steersman.objects.resource import KubeObject, resource_of
from steersman.protocol.confidential import is_confidential_resource

T = TypeVar("T")

#: Reads, writes, events and conditions of one run that are kept; a run that does more is not explained by its details.
_KEPT = 32
_NO_REQUEST = (0.0, 0.0)
_NO_CHANGES: tuple[tuple[FieldChange, ...], int] = ((), 0)


class _WriteNote(NamedTuple):
    verb: Verb
    object: ObjectName
    version: str = ""
    #: The object before and after the write, if its content may be compared.
    before: bytes | None = None
    after: bytes | None = None
    error: BaseException | None = None
    request: tuple[float, float] = (0.0, 0.0)


class _StatusNote(NamedTuple):
    object: ObjectName
    version: str
    before: JsonObject
    after: JsonObject
    request: tuple[float, float]


class RunTrace:
    """The notes of one run."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._began = clock.monotonic()
        #: When the request that the next note is about was sent, in seconds after the run began, and how long it took.
        self._request = _NO_REQUEST
        self.reads: list[Read] = []
        self._external_writes: list[ExternalWriteRecord] = []
        self._writes: list[_WriteNote | _StatusNote] = []
        self._events: list[tuple[object, object, object]] = []

    async def request(self, request: Awaitable[T]) -> T:
        """Wait for a request to the server; the next note is about it."""
        sent = self._clock.monotonic()
        try:
            return await request
        finally:
            self._request = (sent - self._began, self._clock.monotonic() - sent)

    def _sent(self) -> tuple[float, float]:
        """Return when the last request was sent and how long it took, once."""
        request, self._request = self._request, _NO_REQUEST
        return request

    def read_object(
        self, kind: type[KubeObject], key: ObjectKey, found: KubeObject | None, cache: Informer[Any] | None
    ) -> None:
        """Note an object that was read by name; ``None`` if it was absent."""
        if len(self.reads) < _KEPT:
            name = named(resource_of(kind).gvk, key)
            version = "" if found is None else found.resource_version
            self.reads.append(Read(name.kind, int(found is not None), name, version, _age(cache), *self._sent()))

    def read_list(self, kind: type[KubeObject], count: int, cache: Informer[Any] | None) -> None:
        """Note a list."""
        if len(self.reads) < _KEPT:
            self.reads.append(Read(resource_of(kind).gvk.kind, count, None, "", _age(cache), *self._sent()))

    def wrote(self, verb: Verb, obj: KubeObject, *, before: bytes | None = None) -> None:
        """Note a successful write; ``before`` is the object as it was, if that is known."""
        if len(self._writes) >= _KEPT:
            return
        compares = verb is Verb.CHANGED and not is_confidential_resource(resource_of(type(obj)).plural)
        content = (before, bytes_read(obj)) if compares else (None, None)
        self._writes.append(_WriteNote(verb, name_of(obj), obj.resource_version, *content, request=self._sent()))

    def wrote_status(self, name: ObjectName, version: str, before: JsonObject, after: JsonObject) -> None:
        """Note a write of the status."""
        self._writes.append(_StatusNote(name, version, before, after, self._sent()))

    def failed(self, obj: KubeObject, error: BaseException) -> None:
        """Note a write that failed."""
        if len(self._writes) < _KEPT:
            self._writes.append(_WriteNote(Verb.FAILED, name_of(obj), error=error, request=self._sent()))

    def external_write(self, system: str, description: str, result: WriteResult, seconds: float) -> None:
        """Note a write to another system that has just ended. All are noted: they are counted by their records."""
        at = self._clock.monotonic() - self._began - seconds
        one = ExternalWriteRecord(plain_text(system), plain_text(description), result, seconds, at)
        self._external_writes.append(one)

    def event(self, type_: object, reason: object, message: object) -> None:
        """Note an event."""
        if len(self._events) < _KEPT:
            self._events.append((type_, reason, message))

    def writes(self, mask: Mask) -> tuple[tuple[WriteRecord, ...], tuple[ConditionRecord, ...]]:
        """Return the writes, and the conditions that they changed, with secrets masked."""
        writes: list[WriteRecord] = []
        conditions: list[ConditionRecord] = []
        for note in self._writes:
            if isinstance(note, _StatusNote):
                conditions += _changed_conditions(note, mask)
                changes, more = field_changes(_without_conditions(note.before), _without_conditions(note.after), mask)
                writes.append(WriteRecord(Verb.STATUS, note.object, note.version, changes, more, "", *note.request))
            else:
                writes.append(_write_of(note, mask))
        return tuple(writes), tuple(conditions[:_KEPT])

    def masked_external_writes(self, mask: Mask) -> tuple[ExternalWriteRecord, ...]:
        """Return the writes to other systems, with secrets masked."""
        return tuple(
            [
                replace(one, system=cut(mask(one.system)), description=cut(mask(one.description)))
                for one in self._external_writes
            ]
        )

    def events(self, mask: Mask) -> tuple[EventRecord, ...]:
        """Return the events, with secrets masked."""
        return tuple([EventRecord(*[cut(mask(plain_text(text))) for text in event]) for event in self._events])


def plain_text(value: object) -> str:
    """Return a text that can be encoded, whatever an author passes: ``os.fsdecode`` makes texts that cannot."""
    return "" if value == "" else str(value).encode("utf-8", "replace").decode()


def name_of(obj: KubeObject) -> ObjectName:
    """Return the name of an object."""
    return named(resource_of(type(obj)).gvk, obj.key)


def named(gvk: GroupVersionKind, key: ObjectKey) -> ObjectName:
    """Return the name of the object of that kind and key."""
    return ObjectName(gvk.kind, *key, gvk.group)


def _age(cache: Informer[Any] | None) -> float | None:
    return None if cache is None else cache.freshness().age


def _write_of(note: _WriteNote, mask: Callable[[str], str]) -> WriteRecord:
    if note.error is not None:
        return WriteRecord(note.verb, note.object, "", (), 0, failure_text(note.error, mask), *note.request)
    changes, more = _NO_CHANGES
    if note.before is not None and note.after is not None:
        changes, more = _differences(note.before, note.after, mask)
    return WriteRecord(note.verb, note.object, note.version, changes, more, "", *note.request)


def _differences(before: bytes, after: bytes, mask: Mask) -> tuple[tuple[FieldChange, ...], int]:
    try:
        return object_changes(before, after, mask)
    except (MsgspecError, RecursionError):
        return _NO_CHANGES


def _without_conditions(status: JsonObject) -> JsonObject:
    return {name: value for name, value in status.items() if name != "conditions"}


def _changed_conditions(note: _StatusNote, mask: Mask) -> list[ConditionRecord]:
    """Return the conditions that a write of the status set or removed."""
    before, after = note.before.get("conditions") or [], note.after.get("conditions") or []
    if before == after or before.__class__ is not list or after.__class__ is not list:
        return []
    # Times and generations change more often than what they are about.
    former = [_condition_texts(one) for one in before]
    present = [_condition_texts(one) for one in after]
    types = {one[0] for one in present}
    changed = [ConditionRecord(*[cut(mask(text)) for text in one]) for one in present if one not in former]
    return changed + [ConditionRecord(cut(mask(one[0])), REMOVED) for one in former if one[0] not in types]


def _condition_texts(condition: Any) -> tuple[str, str, str, str]:
    """Return type, status, reason and message of a condition."""
    if condition.__class__ is not dict:
        return "", "", "", ""
    text = condition.get
    return str(text("type", "")), str(text("status", "")), str(text("reason", "")), str(text("message", ""))
