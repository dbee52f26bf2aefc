"""`RunTrace`: what one run reads, writes and reports, noted while it happens.

Notes are cheap: they refer to bytes that exist anyway. They are compared once, when the record of the run is made
(``reconcile_record``): after the run has ended, so that all Secrets are known that it has read and nothing is cut or
kept before its secrets can be masked; most often much later, or never. The content of confidential kinds is not even
referred to.
"""

from collections.abc import Awaitable
from datetime import datetime
from typing import Any, TypeAlias, TypeVar

from msgspec import MsgspecError, Struct
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
from steersman.objects.codec import bytes_read, decode_json
from steersman.objects.identity import ApiResource, GroupVersionKind, ObjectKey
from steersman.objects.resource import KubeObject, resource_of
from steersman.protocol.confidential import is_confidential_resource

T = TypeVar("T")

#: Reads, writes, events and conditions of one run that are kept; a run that does more is not explained by its details.
_KEPT = 32
_CONDITIONS, _STATUS = "conditions", "status"
_NO_REQUEST = (0.0, 0.0)
_NO_CHANGES: tuple[tuple[FieldChange, ...], int] = ((), 0)


# Values without cycles, of which thousands are kept: the garbage collector need not look at them.


class _Note(Struct, frozen=True, gc=False):
    """A note; not shown, for its content is not masked."""

    def __repr__(self) -> str:
        return f"<{type(self).__name__}>"


class ReadNote(_Note, frozen=True, gc=False):
    """An object or a list that was read."""

    resource: ApiResource
    count: int
    #: Namespace and name of a single object; ``None`` for a list.
    key: ObjectKey | None
    version: str
    age: float | None
    request: tuple[float, float]


class _WriteNote(_Note, frozen=True, gc=False):
    verb: Verb
    resource: ApiResource
    key: ObjectKey
    version: str
    #: The object before and after the write, if its content may be compared.
    before: bytes | None
    after: bytes | None
    request: tuple[float, float]


class _FailureNote(_Note, frozen=True, gc=False):
    object: ObjectName
    error: BaseException
    request: tuple[float, float]


class _StatusNote(_Note, frozen=True, gc=False):
    version: str
    #: The status as JSON.
    before: bytes
    after: bytes
    request: tuple[float, float]


WriteNote: TypeAlias = _WriteNote | _StatusNote | _FailureNote
#: Type, reason and message of an event.
EventNote: TypeAlias = tuple[str, str, str]


class TraceNotes(_Note, frozen=True, gc=False):
    """The notes of a run that has ended."""

    #: The reconciled object.
    object: ObjectName
    read_notes: tuple[ReadNote, ...]
    write_notes: tuple[WriteNote, ...]
    event_notes: tuple[EventNote, ...]
    external_notes: tuple[ExternalWriteRecord, ...] = ()

    def reads(self) -> tuple[Read, ...]:
        """Return the reads. Names of objects in them are not masked."""
        return tuple([_read_of(note) for note in self.read_notes])

    def writes(self, mask: Mask) -> tuple[tuple[WriteRecord, ...], tuple[ConditionRecord, ...]]:
        """Return the writes, and the conditions that they changed, with secrets masked."""
        writes: list[WriteRecord] = []
        conditions: list[ConditionRecord] = []
        for note in self.write_notes:
            if isinstance(note, _WriteNote):
                writes.append(_write_of(note, mask))
            elif isinstance(note, _FailureNote):
                error = failure_text(note.error, mask)
                writes.append(WriteRecord(Verb.FAILED, note.object, "", (), 0, error, *note.request))
            else:
                before, after = _status(note.before), _status(note.after)
                conditions += _changed_conditions(before.pop(_CONDITIONS, None), after.pop(_CONDITIONS, None), mask)
                changes, more = field_changes(before, after, mask)
                writes.append(WriteRecord(Verb.STATUS, self.object, note.version, changes, more, "", *note.request))
        return tuple(writes), tuple(conditions[:_KEPT])

    def masked_external_writes(self, mask: Mask) -> tuple[ExternalWriteRecord, ...]:
        """Return the writes to other systems, with secrets masked."""
        return tuple(
            [
                replace(one, system=cut(mask(one.system)), description=cut(mask(one.description)))
                for one in self.external_notes
            ]
        )

    def events(self, mask: Mask) -> tuple[EventRecord, ...]:
        """Return the events, with secrets masked."""
        return tuple([EventRecord(*[cut(mask(text)) for text in event]) for event in self.event_notes])


class RunTrace(Struct, eq=False):
    """Takes the notes of one run.

    Notes are tuples: what was taken of them does not change any more, and most runs have none or one of each.
    """

    clock: Clock
    #: When the run began, by the monotonic clock and by the calendar.
    began: float
    started: datetime
    reads: tuple[ReadNote, ...] = ()
    writes: tuple[WriteNote, ...] = ()
    events: tuple[EventNote, ...] = ()
    external_writes: tuple[ExternalWriteRecord, ...] = ()
    #: Bytes that the notes refer to.
    size: int = 0
    #: Whether the notes refer to bytes and texts only: an exception keeps the variables of its frames.
    is_plain: bool = True
    #: When the request that the next note is about was sent, in seconds after the run began, and how long it took.
    _request: tuple[float, float] = _NO_REQUEST

    @classmethod
    def begin(cls, clock: Clock) -> "RunTrace":
        """Begin to take notes of a run that begins now."""
        return cls(clock, clock.monotonic(), clock.now())

    async def request(self, request: Awaitable[T]) -> T:
        """Wait for a request to the server; the next note is about it."""
        sent = self.clock.monotonic()
        try:
            return await request
        finally:
            self.answered(sent)

    def answered(self, sent: float) -> None:
        """Register that the request that was sent at a time of the clock has ended; the next note is about it."""
        self._request = (sent - self.began, self.clock.monotonic() - sent)

    def _sent(self) -> tuple[float, float]:
        """Return when the last request was sent and how long it took, once."""
        request, self._request = self._request, _NO_REQUEST
        return request

    def read_object(
        self, kind: type[KubeObject], key: ObjectKey, found: KubeObject | None, cache: Informer[Any] | None
    ) -> None:
        """Note an object that was read by name; ``None`` if it was absent."""
        if len(self.reads) < _KEPT:
            version = "" if found is None else found.resource_version
            note = ReadNote(resource_of(kind), int(found is not None), key, version, _age(cache), self._sent())
            self.reads = (*self.reads, note)

    def read_list(self, kind: type[KubeObject], count: int, cache: Informer[Any] | None) -> None:
        """Note a list."""
        if len(self.reads) < _KEPT:
            self.reads = (*self.reads, ReadNote(resource_of(kind), count, None, "", _age(cache), self._sent()))

    def wrote(self, verb: Verb, obj: KubeObject, key: ObjectKey, *, before: bytes | None = None) -> None:
        """Note a successful write of an object with that key; ``before`` is the object as it was, if that is known."""
        if len(self.writes) >= _KEPT:
            return
        resource, after = resource_of(type(obj)), None
        if verb is Verb.CHANGED and before is not None and not is_confidential_resource(resource.plural):
            after = bytes_read(obj)
        if after is None:
            before = None
        else:
            self.size += len(before or b"") + len(after)
        version = obj.metadata.resource_version or ""
        note = _WriteNote(verb, resource, key, version, before, after, self._sent())
        self.writes = (*self.writes, note)

    def wrote_status(self, version: str, before: bytes, after: bytes) -> None:
        """Note a write of the status of the reconciled object."""
        self.size += len(before) + len(after)
        self.writes = (*self.writes, _StatusNote(version, before, after, self._sent()))

    def failed(self, obj: KubeObject, error: BaseException) -> None:
        """Note a write that failed."""
        if len(self.writes) < _KEPT:
            self.writes = (*self.writes, _FailureNote(name_of(obj), error, self._sent()))
            self.is_plain = False

    def external_write(self, system: str, description: str, result: WriteResult, seconds: float) -> None:
        """Note a write to another system that has just ended. All are noted: they are counted by their records."""
        at = self.clock.monotonic() - self.began - seconds
        one = ExternalWriteRecord(plain_text(system), plain_text(description), result, seconds, at)
        self.external_writes = (*self.external_writes, one)
        self.is_plain = False

    def event(self, type_: object, reason: object, message: object) -> None:
        """Note an event."""
        if len(self.events) < _KEPT:
            self.events = (*self.events, (plain_text(type_), plain_text(reason), plain_text(message)))

    def notes(self, about: ObjectName) -> "TraceNotes":
        """Return the notes so far."""
        return TraceNotes(about, self.reads, self.writes, self.events, self.external_writes)


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
    return None if cache is None else cache.age()


def _read_of(note: ReadNote) -> Read:
    gvk = note.resource.gvk
    name = None if note.key is None else named(gvk, note.key)
    return Read(gvk.kind, note.count, name, note.version, note.age, *note.request)


def _write_of(note: _WriteNote, mask: Mask) -> WriteRecord:
    changes, more = _NO_CHANGES
    if note.before is not None and note.after is not None:
        # A write cannot have changed a status that is a subresource: its controller did, since the cache was read.
        others = _STATUS if _STATUS in note.resource.subresources else ""
        changes, more = _differences(note.before, note.after, mask, others)
    return WriteRecord(note.verb, named(note.resource.gvk, note.key), note.version, changes, more, "", *note.request)


def _differences(before: bytes, after: bytes, mask: Mask, others: str) -> tuple[tuple[FieldChange, ...], int]:
    try:
        return object_changes(before, after, mask, without=others)
    except (MsgspecError, RecursionError):
        return _NO_CHANGES


def _status(data: bytes) -> JsonObject:
    status = decode_json(data)
    return status if isinstance(status, dict) else {}


def _changed_conditions(before: Any, after: Any, mask: Mask) -> list[ConditionRecord]:
    """Return the conditions that a write of the status set or removed."""
    before, after = before or [], after or []
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
