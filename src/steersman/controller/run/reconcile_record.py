"""From a run that has ended to its record in the history."""

from datetime import datetime
from typing import Any, NamedTuple

from msgspec.structs import replace

from steersman.controller.keys.key_state import KeyState, ReconcileRequest
from steersman.controller.reports.outcome import Done, Failed, GaveUp, Outcome, Outdated, Paused, RetryLater, Waiting
from steersman.controller.run.failure_text import failure_text, mask, secret_forms, without_secrets
from steersman.controller.run.run_record import RunRecord
from steersman.controller.run.run_trace import masked_changes, name_of, plain_text
from steersman.history.records import CauseRecord, Next, ObjectName, Reconcile, Result


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
    secrets = tuple(run.secrets())
    forms = secret_forms(secrets)
    trace, obj, end = run.trace, run.obj, _end_of(outcome, secrets)
    trace.mask(forms)
    return Reconcile(
        controller=controller,
        object=name_of(obj),
        uid=obj.uid,
        generation=obj.generation or 0,
        number=state.runs,
        failures_before=failures,
        is_cleanup=obj.is_deleting,
        started=timing.started,
        seconds=timing.seconds,
        queued=timing.queued,
        causes=tuple([_masked(cause.record(), forms) for cause in request.causes]),
        more_causes=request.dropped_causes,
        reads=tuple(trace.reads),
        writes=tuple(trace.writes),
        external_writes=tuple(trace.external_writes),
        events=tuple(trace.events),
        conditions=tuple(trace.conditions),
        result=end.result,
        reason=mask(plain_text(end.reason), forms),
        message=plain_text(end.message),
        next=Next(timing.next_run, end.waits_for),
    )


def _masked(cause: CauseRecord, forms: tuple[str, ...]) -> CauseRecord:
    if not forms:
        return cause
    return replace(cause, detail=mask(cause.detail, forms), changes=masked_changes(cause.changes, forms))


def _end_of(outcome: Outcome, secrets: tuple[bytes, ...]) -> _End:
    match outcome:
        case Done():
            return _End(Result.DONE)
        case RetryLater(reason):
            return _End(Result.RETRY, message=without_secrets(reason, secrets))
        case Outdated(error):
            return _End(Result.CONFLICT, message=failure_text(error, secrets))
        case GaveUp(reason, message):
            return _End(Result.GAVE_UP, reason, without_secrets(message, secrets))
        case Waiting(reason, message, kind, key):
            return _End(Result.WAITING, reason, without_secrets(message, secrets), ObjectName(kind.__name__, *key))
        case Paused(message):
            return _End(Result.PAUSED, message=message)
        case Failed(error):
            return _End(Result.FAILED, type(error).__name__, failure_text(error, secrets))
        case _:
            return _End(Result.STOPPED)
