"""From a run that has ended to its record in the history."""

from datetime import datetime
from typing import Any, NamedTuple

from steersman.controller.keys.key_state import KeyState, ReconcileRequest
from steersman.controller.reports.outcome import Done, Failed, GaveUp, Outcome, Outdated, Paused, RetryLater, Waiting
from steersman.controller.run.failure_text import cut, failure_text
from steersman.controller.run.run_record import RunRecord
from steersman.controller.run.run_trace import name_of, named, plain_text
from steersman.history.differences import Mask
from steersman.history.records import Next, ObjectName, Reconcile, Result
from steersman.objects.resource import resource_of


class RunTiming(NamedTuple):
    """When a run began, how long it took, how long its key was queued, and when the key runs next."""

    started: datetime
    seconds: float
    queued: float
    next_run: datetime | None


class _End(NamedTuple):
    result: Result
    reason: str = ""
    message: str = ""
    waits_for: ObjectName | None = None


def reconcile_of(  # noqa: PLR0913 - all that is known of a run
    controller: str,
    state: KeyState,
    request: ReconcileRequest,
    run: RunRecord[Any],
    outcome: Outcome,
    timing: RunTiming,
    *,
    failures: int,
) -> Reconcile:
    """Return the record of a run; ``failures`` is how many runs before it failed in a row."""
    redactor = run.redactor()
    mask: Mask = str if redactor is None else redactor.text
    trace, obj, end = run.trace, run.obj, _end_of(outcome, mask)
    writes, conditions = trace.writes(mask)
    name = name_of(obj)
    record = Reconcile(
        controller=controller,
        object=name,
        uid=obj.uid,
        generation=obj.generation or 0,
        number=state.runs,
        failures_before=failures,
        is_cleanup=obj.is_deleting,
        started=timing.started,
        seconds=timing.seconds,
        queued=timing.queued,
        causes=tuple([cause.record(mask) for cause in request.causes]),
        more_causes=request.dropped_causes,
        reads=tuple(trace.reads),
        writes=writes,
        external_writes=tuple(trace.external_writes),
        events=trace.events(mask),
        conditions=conditions,
        result=end.result,
        reason=cut(mask(plain_text(end.reason))),
        message=cut(plain_text(end.message)),
        next=Next(timing.next_run, end.waits_for),
    )
    # Texts were masked before they were cut; this also masks names, and whatever a record will hold one day.
    if redactor is None:
        return record
    masked: Reconcile = redactor.record(record)
    return masked


def _end_of(outcome: Outcome, mask: Mask) -> _End:
    match outcome:
        case Done():
            return _End(Result.DONE)
        case RetryLater(reason):
            return _End(Result.RETRY, message=mask(reason))
        case Outdated(error):
            return _End(Result.CONFLICT, message=failure_text(error, mask))
        case GaveUp(reason, message):
            return _End(Result.GAVE_UP, reason, mask(message))
        case Waiting(reason, message, kind, key):
            return _End(Result.WAITING, reason, mask(message), named(resource_of(kind).gvk, key))
        case Paused(message):
            return _End(Result.PAUSED, message=mask(message))
        case Failed(error):
            return _End(Result.FAILED, type(error).__name__, failure_text(error, mask))
        case _:
            return _End(Result.STOPPED)
