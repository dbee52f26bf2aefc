"""From a run that has ended to its record in the history.

The record of a run that simply succeeded is made when it is needed, from a `Draft`; any other at once.
"""

import logging
from datetime import datetime, timedelta
from typing import Any, NamedTuple, TypeVar

from msgspec import Struct
from msgspec.structs import replace

from steersman.controller.keys.key_state import KeyState, ReconcileRequest
from steersman.controller.options import ControllerOptions
from steersman.controller.recording.failure_text import cut, failure_text
from steersman.controller.recording.run_notes import Masking, recording_of
from steersman.controller.recording.run_trace import (
    EventNote,
    ReadNote,
    TraceNotes,
    WriteNote,
    name_of,
    named,
    plain_text,
)
from steersman.controller.reports.causes import Cause
from steersman.controller.reports.outcome import Done, Failed, GaveUp, Outcome, Outdated, Paused, RetryLater, Waiting
from steersman.controller.run.run_record import RunRecord
from steersman.errors import text_of
from steersman.history.differences import Mask
from steersman.history.history import ReconcileDraft
from steersman.history.records import (
    MALFORMED,
    CauseRecord,
    Next,
    ObjectName,
    Read,
    Reconcile,
    Result,
    WriteRecord,
)
from steersman.history.redaction import Redactor, SecretMemory
from steersman.informer.record import Record
from steersman.objects.resource import KubeObject, resource_of

P = TypeVar("P", CauseRecord, Read, WriteRecord)

_log = logging.getLogger("steersman.controller")

_NOTHING_NEXT = Next()
#: Bytes of a draft itself, with the values of its notes.
_DRAFT = 1024


class RunTiming(Struct, frozen=True, gc=False):
    """When a run began, how long it took, how long its key was queued, and when the key runs next."""

    started: datetime
    #: The same moment by the monotonic clock.
    began: float
    seconds: float
    queued: float = 0.0
    #: When the key is due next, by the monotonic clock.
    due: float | None = None

    @property
    def next_run(self) -> datetime | None:
        """When the key runs next."""
        if self.due is None:
            return None
        try:
            return self.started + timedelta(seconds=max(self.due - self.began, self.seconds))
        except OverflowError:  # further away than the calendar
            return None


class _End(NamedTuple):
    result: Result
    reason: str = ""
    message: str = ""
    waits_for: ObjectName | None = None
    again_after: float | None = None
    error: BaseException | None = None


class RunEnd(Struct, frozen=True):
    """A run whose record is to be made."""

    controller: str
    state: KeyState
    request: ReconcileRequest
    run: RunRecord[Any]
    #: How many runs before it failed in a row.
    failures: int = 0
    #: Whether the caches did not show in time what the run before it had written.
    is_stale: bool = False
    #: What the tracer began with the run; ``None`` without one.
    span: Any = None

    def draft(self, outcome: Outcome, timing: RunTiming) -> "Draft | None":
        """Return what the record is made from later; ``None`` if it must be made now.

        A draft outlives its run. So it must not refer to an exception, which keeps the variables of its frames, nor to
        the contents of Secrets.
        """
        run = self.run
        trace = run.trace
        if outcome.__class__ is not Done or run.has_read_secrets or not trace.is_plain:
            return None
        request, metadata, state = self.request, run.obj.metadata, self.state
        if state.name is None:
            state.name = run.name
        size = _DRAFT + trace.size
        for cause in request.causes:
            if cause.change is not None:
                size += cause.change.size
        return Draft(
            self.controller,
            timing.seconds,
            outcome.again_after,
            self.is_stale,
            state.name,
            size,
            metadata.uid or "",
            metadata.generation or 0,
            state.runs,
            self.failures,
            metadata.deletion_timestamp is not None,
            timing,
            request.causes,
            request.dropped_causes,
            trace.reads,
            trace.writes,
            trace.events,
            run.memory,
        )

    def record(self, outcome: Outcome, timing: RunTiming) -> Reconcile:
        """Return the record of the run."""
        run, obj, redactor = self.run, self.run.obj, self.run.redactor()
        mask: Mask = str if redactor is None else redactor.text
        end = _end_of(outcome, mask)
        head = Reconcile(
            controller=self.controller,
            object=run.name,
            uid=obj.uid,
            generation=obj.generation or 0,
            number=self.state.runs,
            failures_before=self.failures,
            is_cleanup=obj.is_deleting,
            started=timing.started,
            seconds=timing.seconds,
            queued=timing.queued,
            more_causes=self.request.dropped_causes,
            result=end.result,
            reason=cut(mask(plain_text(end.reason))),
            message=cut(plain_text(end.message)),
            next=_next(timing, end.waits_for),
            again_after=end.again_after,
            is_stale=self.is_stale,
            is_timeout=isinstance(end.error, TimeoutError),
            is_panic=end.error is not None and not isinstance(end.error, Exception),
        )
        return _with_details(head, self.request.causes, run.trace.notes(head.object), redactor)


class RunRecorder:
    """Adds the runs of one controller to the history, to the recordings and to a trace."""

    def __init__(self, options: ControllerOptions) -> None:
        self._options = options

    def span(self, obj: KubeObject, started: datetime) -> Any:
        """Begin the span of a run, if there is a tracer."""
        tracer = self._options.tracer
        return None if tracer is None else tracer.begin(name_of(obj), started)

    def record(self, ended: RunEnd, outcome: Outcome, timing: RunTiming) -> Reconcile | None:
        """Add a run to the history; return its record unless that is made later.

        The run is over: nothing that goes wrong here may fail or repeat it.
        """
        record: Reconcile | None = None
        try:
            draft = None if self._needs_records() else ended.draft(outcome, timing)
            if draft is not None:
                self._options.history.add_draft(draft)
                return None
            record = ended.record(outcome, timing)
            self._options.history.add(record)
            self._keep_recording(ended.run, record)
        except Exception as error:  # noqa: BLE001 - see above
            extra = {"controller": ended.controller, "key": str(ended.state.key), "error": text_of(error)}
            _log.warning("a run is missing in the history", extra=extra)
        if self._options.tracer is not None:
            self._options.tracer.end(ended.span, record)
        return record

    def _needs_records(self) -> bool:
        """Return whether the record of every run is used at once: by a recording, a span or the log."""
        options = self._options
        return options.recordings is not None or options.tracer is not None or _log.isEnabledFor(logging.DEBUG)

    def _keep_recording(self, run: RunRecord[Any], reconcile: Reconcile) -> None:
        """Keep what a run read and sent, if that was asked for."""
        if self._options.recordings is None or run.notes is None or run.notes.is_too_much:
            return
        masking = Masking(run.redactor(), run.secret_values())
        manager = self._options.client.field_manager
        recording = recording_of(run.notes, reconcile, masking, operator=self._options.target, manager=manager)
        self._options.recordings.add(recording)


class Draft(ReconcileDraft, frozen=True, gc=False):
    """What is known of a run that simply succeeded, from which its record is made.

    It refers neither to the run nor to its object.
    """

    uid: str
    generation: int
    number: int
    failures_before: int
    is_cleanup: bool
    timing: RunTiming
    causes: tuple[Cause, ...]
    more_causes: int
    read_notes: tuple[ReadNote, ...]
    write_notes: tuple[WriteNote, ...]
    event_notes: tuple[EventNote, ...]
    memory: SecretMemory

    def record(self, *, with_details: bool = True) -> Reconcile:
        """Return the record, masked by what is known of Secrets now: that is at least what was known then."""
        timing = self.timing
        head = Reconcile(
            controller=self.controller,
            object=self.object,
            uid=self.uid,
            generation=self.generation,
            number=self.number,
            failures_before=self.failures_before,
            is_cleanup=self.is_cleanup,
            started=timing.started,
            seconds=timing.seconds,
            queued=timing.queued,
            more_causes=self.more_causes,
            next=_next(timing, None),
            again_after=self.again_after,
            is_stale=self.is_stale,
            is_cut=not with_details,
        )
        if not with_details:
            return head
        redactor = Redactor(self.memory, about=self.object) if self.memory.has_values else None
        notes = TraceNotes(self.object, self.read_notes, self.write_notes, self.event_notes)
        return _with_details(head, self.causes, notes, redactor)

    def __repr__(self) -> str:
        # Without the notes: they are not masked.
        return f"<Draft of {self.object}, {self.size} bytes>"


def _next(timing: RunTiming, waits_for: ObjectName | None) -> Next:
    next_run = timing.next_run
    return Next(next_run, waits_for) if next_run or waits_for else _NOTHING_NEXT


def _with_details(
    head: Reconcile, causes: tuple[Cause, ...], notes: TraceNotes, redactor: Redactor | None
) -> Reconcile:
    """Return the whole record."""
    mask: Mask = str if redactor is None else redactor.text
    writes, conditions = notes.writes(mask)
    record = replace(
        head,
        causes=tuple([cause.record(mask) for cause in causes]),
        reads=notes.reads(),
        writes=writes,
        external_writes=notes.masked_external_writes(mask),
        events=notes.events(mask),
        conditions=conditions,
    )
    return record if redactor is None else _with_masked_names(record, redactor)


def _with_masked_names(record: Reconcile, redactor: Redactor) -> Reconcile:
    """Return a record without secrets in the names of objects; all other texts were masked before they were cut."""
    waits_for = record.next.waits_for
    return replace(
        record,
        causes=tuple([_masked(one, redactor) for one in record.causes]),
        reads=tuple([_masked(one, redactor) for one in record.reads]),
        writes=tuple([_masked(one, redactor) for one in record.writes]),
        next=record.next if waits_for is None else replace(record.next, waits_for=redactor.object(waits_for)),
    )


def _masked(part: P, redactor: Redactor) -> P:
    if part.object is None:
        return part
    name = redactor.object(part.object)
    return part if name is part.object else replace(part, object=name)


def malformed_record(
    controller: str, name: ObjectName, record: Record, error: str, *, number: int, at: datetime
) -> Reconcile:
    """Return the record of an object that does not decode, so that it was not reconciled."""
    return Reconcile(
        controller=controller,
        object=name,
        uid=record.uid,
        generation=record.generation,
        number=number,
        started=at,
        seconds=0.0,
        result=Result.GAVE_UP,
        reason=MALFORMED,
        message=cut(plain_text(error)),
    )


def _end_of(outcome: Outcome, mask: Mask) -> _End:
    match outcome:
        case Done():
            return _End(Result.DONE, again_after=outcome.again_after)
        case RetryLater(reason, after):
            return _End(Result.RETRY, message=mask(reason), again_after=after)
        case Outdated(error):
            return _End(Result.CONFLICT, message=failure_text(error, mask))
        case GaveUp(reason, message):
            return _End(Result.GAVE_UP, reason, mask(message))
        case Waiting(reason, message, kind, key):
            return _End(Result.WAITING, reason, mask(message), named(resource_of(kind).gvk, key))
        case Paused(message, again_after):
            return _End(Result.PAUSED, message=mask(message), again_after=again_after)
        case Failed(error):
            return _End(Result.FAILED, type(error).__name__, failure_text(error, mask), error=error)
        case _:
            return _End(Result.STOPPED)
