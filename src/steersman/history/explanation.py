"""From what is known of an object to what a person reads: one sentence, what happens next, and a timeline.

Plain text without colours; ``steer why`` and the web view add those. Times are shown in the zone of ``now``.
"""

from collections.abc import Iterator
from datetime import datetime, timedelta
from itertools import groupby

from steersman.history.records import (
    CauseRecord,
    CauseType,
    KeyPhase,
    KeyState,
    LeadershipChange,
    ObjectName,
    ObjectView,
    Read,
    Reconcile,
    ReplicaRecord,
    Result,
    Verb,
    WebhookCall,
    WriteRecord,
)

#: How far the lines of a reconcile stand to the right, and the width of their first word.
_INDENT, _WORD = 16, 8
#: Missing objects that are named; one more is named instead of counted.
_NAMED = 2


def explain(view: ObjectView, now: datetime) -> list[str]:
    """Return the lines that tell what is going on with an object, most important first."""
    lines = [sentence(view)]
    if view.exists:
        lines.append(next_run(view, now))
    if view.exists and (replica := view.replica) is not None and replica.is_working and replica.shard is not None:
        lines.append(f"Replica: {replica.identity}, which works on shard {replica.shard} of {replica.shards}.")
    timeline = timeline_lines(view, now)
    return [*lines, "", *timeline] if timeline else lines


def timeline_lines(view: ObjectView, now: datetime) -> list[str]:
    """Return the lines about runs, reviews and changes of leadership, in the order in which they began."""
    entries = [(run.started, reconcile_lines(run, now)) for run in view.reconciles]
    entries += [(review.started, [review_line(review, now)]) for review in view.reviews]
    entries += [(change.at, [leadership_line(change, now)]) for change in view.leadership]
    entries.sort(key=lambda one: one[0])
    return [line for _, lines in entries for line in lines]


def review_line(review: WebhookCall, now: datetime) -> str:
    """Return the line of a timeline about a review by a webhook."""
    operation = f" of {review.operation}" if review.operation else ""
    if review.is_allowed is None:
        result = f"no answer (HTTP {review.status})"
    else:
        result = "allowed" if review.is_allowed else "denied"
    took, why = duration(review.seconds), _colon(review.message)
    return f"{_time(review.started, now)}  review{operation} by {review.webhook}, {took}: {result}{why}"


def leadership_line(change: LeadershipChange, now: datetime) -> str:
    """Return the line of a timeline about a change of leadership."""
    what = "began to lead" if change.is_leader else "ceased to lead"
    return f"{_time(change.at, now)}  the operator {what} ({change.lease}){_colon(change.reason)}"


def _time(moment: datetime, now: datetime) -> str:
    return f"{_clock(moment, now)}.{moment.microsecond // 1000:03}"


def _clock(moment: datetime, now: datetime) -> str:
    """Return the time of day, with the date unless it is today."""
    local = moment.astimezone(now.tzinfo)
    return f"{local:%H:%M:%S}" if local.date() == now.date() else f"{local.day} {local:%b %H:%M:%S}"


def sentence(view: ObjectView) -> str:
    """Return in one sentence whether an object is ready, and why not."""
    last = view.reconciles[-1] if view.reconciles else None
    if not view.exists:
        gone = " any more" if last is not None else ""
        return f"{view.object} does not exist{gone}, or the operator does not watch it."
    if view.is_deleting:
        return f"{view.object} is being deleted{_colon(_failure_text(last) or _waiting_text(view))}."
    if view.state.phase is KeyPhase.PAUSED:
        return f"{view.object} is paused{_colon(view.state.detail)}."
    ready = view.ready
    if ready is not None and not _is_outdated(view):
        word = {"True": "is ready", "False": "is not ready"}.get(ready.status, "may or may not be ready")
        return f"{view.object} {word}{_colon(ready.message or ready.reason)}."
    if last is None:
        return f"{view.object} has not been reconciled yet."
    if failed := _failure_text(last):
        return f"{view.object} fails: {failed}."
    if _is_outdated(view):
        return f"{view.object} has a newer spec than its status is about{_colon(_waiting_text(view))}."
    return f"{view.object} was reconciled{_colon(_waiting_text(view) or 'nothing is left to do')}."


def next_run(view: ObjectView, now: datetime) -> str:
    """Return when the object is reconciled next."""
    state = view.state
    if view.replica is not None and not view.replica.is_working:
        return f"Next run: not known, because {_no_worker(view.replica)}."
    match state.phase:
        case KeyPhase.RUNNING:
            return "Next run: it is being reconciled right now."
        case KeyPhase.QUEUED:
            return "Next run: as soon as a worker is free."
        case KeyPhase.HELD:
            return f"Next run: once the cache shows what the last run wrote{_or_at(state, now)}."
        case KeyPhase.PAUSED:
            return f"Next run: after `steer resume`{_or_at(state, now)}; a deletion is still cleaned up."
        case KeyPhase.GAVE_UP:
            return "Next run: when its spec changes. The last run said that trying again is of no use until then."
        case _:
            return f"Next run: {', or '.join(_moments(view, now))}."


def _moments(view: ObjectView, now: datetime) -> list[str]:
    """Return when an object that waits is reconciled next."""
    state, absent, moments = view.state, absent_objects(view), []
    if absent:
        moments.append(f"when {_one_of([one.within(view.object.namespace) for one in absent])} appears")
    if state.waits_for is not None and state.waits_for not in absent:
        moments.append(f"when {state.waits_for.within(view.object.namespace)} changes")
    if state.until is not None:
        moments.append(f"at {_clock(state.until, now)} ({duration_until(state.until, now)})")
    elif state.waits_for is None:
        moments.append("when it or an object that it owns changes")
    return moments


def absent_objects(view: ObjectView) -> list[ObjectName]:
    """Return the objects that do not exist and whose creation leads to the next run."""
    state, last = view.state, view.reconciles[-1] if view.reconciles else None
    awaited = state.waits_for
    if awaited is None or awaited in state.missing or last is None:
        return list(state.missing)
    is_absent = any(read.object == awaited and not read.count for read in last.reads)
    return [awaited, *state.missing] if is_absent else list(state.missing)


def _one_of(names: list[str]) -> str:
    """Return names as a list in a sentence, at most a few."""
    if len(names) > _NAMED + 1:
        names = [*names[:_NAMED], f"one of {len(names) - _NAMED} more"]
    return " or ".join(filter(None, [", ".join(names[:-1]), names[-1]]))


def _no_worker(replica: ReplicaRecord) -> str:
    if replica.shard is None:
        return "no replica that answered leads"
    return f"no replica that answered works on shard {replica.shard} of {replica.shards}"


def reconcile_lines(reconcile: Reconcile, now: datetime) -> list[str]:
    """Return the lines of a timeline about one reconcile."""
    what = "cleanup" if reconcile.is_cleanup else "reconcile"
    time = _time(reconcile.started, now)
    because = f", because {causes}" if (causes := _causes(reconcile)) else ""
    lines = [f"{time}  {what} {reconcile.number}, {duration(reconcile.seconds)}{because}"]
    lines += [f"{'':{_INDENT}}{word:<{_WORD - 1}} {text}" for word, text in _details(reconcile)]
    if not (reconcile.writes or reconcile.external_writes or reconcile.is_failure):
        lines.append(f"{'':{_INDENT}}wrote nothing")
    return lines


def duration(seconds: float) -> str:
    """Return a length of time with two or three digits and a unit: ``0.9 ms``, ``41 ms``, ``3.2 s``, ``4 min 12 s``."""
    if seconds < 1:
        milliseconds = seconds * 1000
        return f"{milliseconds:.1f} ms" if milliseconds < 10 else f"{milliseconds:.0f} ms"  # noqa: PLR2004 - two digits
    whole = round(seconds)
    if whole < 60:  # noqa: PLR2004 - a minute
        return f"{seconds:.1f} s" if seconds < 10 else f"{whole} s"  # noqa: PLR2004 - two digits
    minutes, rest = divmod(whole, 60)
    hours, minutes = divmod(minutes, 60)
    days, hours = divmod(hours, 24)
    parts = [(days, "d"), (hours, "h"), (minutes, "min"), (rest, "s")]
    first = next(index for index, (amount, _) in enumerate(parts) if amount)
    return " ".join(f"{amount} {unit}" for amount, unit in parts[first : first + 2] if amount)


def duration_until(moment: datetime, now: datetime) -> str:
    """Return how far away a moment is."""
    return "now" if moment <= now + timedelta(milliseconds=1) else f"in {duration((moment - now).total_seconds())}"


def cause_text(cause: CauseRecord, about: Reconcile) -> str:
    """Return one cause in words, as part of a sentence about a reconcile."""
    itself = cause.object == about.object
    name = "it" if itself else cause.object.within(about.object.namespace) if cause.object else ""
    detail = f" ({cause.detail})" if cause.detail else ""
    if cause.type is CauseType.CHANGED and cause.changes:
        changes = ", ".join(_changed(*change) for change in cause.changes)
        return changes if itself else f"{name} changed: {changes}"
    return _CAUSES[cause.type].format(name=name, detail=detail)


#: Causes in words, without the fields that changed.
_CAUSES = {
    CauseType.EXISTS: "the operator has just started",
    CauseType.CREATED: "{name} was created",
    CauseType.CHANGED: "{name} changed{detail}",
    CauseType.DELETED: "{name} was deleted",
    CauseType.RESYNC: "of a resync",
    CauseType.TIMER: "its timer ended",
    CauseType.RETRY: "of a retry{detail}",
    CauseType.REQUESTED: "it was requested",
}


def _causes(reconcile: Reconcile) -> str:
    texts = list(dict.fromkeys(cause_text(cause, reconcile) for cause in reconcile.causes))
    shown = texts[:2]
    more = len(texts) - len(shown) + reconcile.more_causes
    return " and ".join(shown) + (f" and {more} more" if more else "")


def _changed(path: str, before: str, after: str) -> str:
    if not before:
        return f"{path} was set to {after}"
    return f"{path} changed {before} → {after}" if after else f"{path} was removed"


def _details(reconcile: Reconcile) -> Iterator[tuple[str, str]]:
    if reconcile.reads:
        yield "read", ", ".join(_read_text(read, reconcile) for read in reconcile.reads)
    for verb, writes in groupby((one for one in reconcile.writes if one.verb is not Verb.STATUS), lambda one: one.verb):
        for write in writes:
            yield "sent" if verb is Verb.UNCHANGED else str(verb), _write_text(write, reconcile)
    for external in reconcile.external_writes:
        how = "" if external.result == "succeeded" else f" ({external.result})"
        yield "outside", f"{external.system}: {external.description}{how}, {duration(external.seconds)}"
    if status := _status_text(reconcile):
        yield "status", status
    for event in reconcile.events:
        yield "event", f"{event.type} {event.reason}{_colon(event.message)}"
    if reconcile.result is not Result.DONE:
        yield str(reconcile.result), reconcile.message or reconcile.reason


def _read_text(read: Read, about: Reconcile) -> str:
    age = "from the server" if read.age is None else f"{duration(read.age)} old"
    if read.object is not None:
        name = read.object.within(about.object.namespace)
        return f"{name} ({age})" if read.count else f"{name} (absent)"
    return f"{read.count} {read.kind}{'' if read.count == 1 else 's'} ({age})"


def _write_text(write: WriteRecord, about: Reconcile) -> str:
    name = write.object.within(about.object.namespace)
    if write.error:
        return f"{name}: {write.error}"
    if write.verb is Verb.UNCHANGED:
        return f"{name}, which was like that already"
    changes = "; ".join(map(str, write.changes)) if write.verb is Verb.CHANGED else ""
    more = f" and {write.more_changes} more" if changes and write.more_changes else ""
    return f"{name}{f'  {changes}{more}' if changes else ''}"


#: Fields of a status that are shown in another way, or are not informative.
_SAID_OTHERWISE = ("conditions", "observedGeneration")


def _status_text(reconcile: Reconcile) -> str:
    """Return what the status says that it did not say before; conditions by their names."""
    fields = [
        f"{change.path} {change.after or 'removed'}"
        for write in reconcile.writes
        if write.verb is Verb.STATUS
        for change in write.changes
        if not change.path.startswith(_SAID_OTHERWISE)
    ]
    return ", ".join([*fields, *map(str, reconcile.conditions)])


def _failure_text(last: Reconcile | None) -> str:
    if last is None or not last.is_failure:
        return ""
    times = last.failures_before + 1
    return f"{last.message or last.reason}{f' ({times} times in a row)' if times > 1 else ''}"


def _waiting_text(view: ObjectView) -> str:
    if view.state.waits_for is not None:
        return f"waiting for {view.state.waits_for.within(view.object.namespace)}"
    return view.state.detail


def _is_outdated(view: ObjectView) -> bool:
    """Return whether the conditions are about an earlier spec."""
    return view.observed_generation is not None and view.observed_generation < view.generation


def _or_at(state: KeyState, now: datetime) -> str:
    return "" if state.until is None else f", or {duration_until(state.until, now)}"


def _colon(text: str) -> str:
    return f": {text.rstrip('.')}" if text else ""
