"""Reports as text: times, durations, results and log lines."""

from datetime import UTC, datetime
from typing import assert_never

from steersman.cli.dev.reports import (
    Changed,
    Failed,
    Loaded,
    LogLine,
    Printed,
    Queues,
    Reconciled,
    Report,
    Running,
)
from steersman.history.explanation import cause_text
from steersman.history.records import Result

_RESULTS = {Result.DONE: "ok", Result.CONFLICT: "retry"}
#: Results that say less than the time of the next run.
_REPEATED = (Result.DONE, Result.RETRY, Result.WAITING)
#: Fields of a log line that identify its run: the object is enough.
_OF_THE_RUN = frozenset({"controller", "reconcile", "kind", "key"})
#: Number of causes of a run that are shown.
_CAUSES = 3
_SECOND, _MINUTE, _HOUR = 1.0, 60.0, 3600.0


def time_of(at: float) -> str:
    """Return the time of day here, to the second."""
    return datetime.fromtimestamp(at, UTC).astimezone().strftime("%H:%M:%S")


def duration(seconds: float) -> str:
    """Write a duration in five letters or so."""
    if seconds < _SECOND:
        return f"{seconds * 1000:.1f} ms"
    return f"{seconds:.1f} s" if seconds < _MINUTE else f"{seconds / _MINUTE:.1f} min"


def elapsed(seconds: float) -> str:
    """Write how long something has been running: ``0:04``, ``1:02:03``."""
    hours, rest = divmod(int(seconds), int(_HOUR))
    minutes, left = divmod(rest, int(_MINUTE))
    return f"{hours}:{minutes:02}:{left:02}" if hours else f"{minutes}:{left:02}"


def result(report: Reconciled, now: datetime) -> str:
    """Return the result of a run in a word or two; of a run that is repeated, when that will be."""
    run = report.run
    if run.result in _REPEATED and run.next.at is not None and run.next.at > now:
        return f"next run in {briefly((run.next.at - now).total_seconds())}"
    return _RESULTS.get(run.result, str(run.result))


def briefly(seconds: float) -> str:
    """Return a duration in one unit: ``4 min``."""
    for size, unit in ((86_400, "d"), (_HOUR, "h"), (_MINUTE, "min")):
        if round(seconds) >= size:
            return f"{seconds / size:.0f} {unit}"
    return f"{max(seconds, 1):.0f} s"


def why(report: Reconciled) -> str:
    """Return the causes of a run, in the words of ``steer why``; long lists are cut."""
    run = report.run
    causes = list(dict.fromkeys(cause_text(cause, run) for cause in run.causes))
    told = causes[:_CAUSES]
    more = len(causes) - len(told) + run.more_causes
    return ", ".join([*told, f"{more} more"] if more else told)


def why_briefly(report: Reconciled) -> str:
    """Return the causes of a run in short: what happened to which kinds, without names."""
    run = report.run
    brief = []
    for cause in run.causes:
        kind = f"{cause.object.kind} " if cause.object is not None and cause.object != run.object else ""
        brief.append(f"{kind}{cause.type}{f' ({cause.detail})' if cause.detail else ''}")
    return ", ".join(dict.fromkeys(brief))


def subject(line: LogLine) -> str:
    """Return the object that a log line is about; empty if there is none."""
    return f"{line.fields.get('kind', '')} {line.fields.get('key', '')}".strip()


def said(line: LogLine) -> str:
    """Write a log line without its time and level: the object, the message, the fields."""
    about = subject(line)
    fields = "".join(f" {name}={_shown(value)}" for name, value in line.fields.items() if name not in _OF_THE_RUN)
    place = f" ({line.place})" if line.place else ""
    return f"{f'{about}: ' if about else ''}{line.message}{fields}{place}"


def _shown(value: object) -> str:
    text = f"[{', '.join(map(str, value))}]" if isinstance(value, list) else str(value)
    return repr(text) if " " in text or not text else text


def failure(report: Failed) -> str:
    """Return why the operator does not run, beginning with the location."""
    return f"{report.place}: {report.error}" if report.place else report.error


def line_of(report: Report) -> tuple[str, str] | None:
    """Return a report as one line of text and its level; ``None`` if it is not worth a line."""
    match report:
        case Reconciled():
            run, at = report.run, report.at
            level = "error" if run.is_failure else "info"
            ended = result(report, datetime.fromtimestamp(at, UTC))
            text = f"{run.object} {_RESULTS.get(run.result, str(run.result))} in {duration(run.seconds)}: {why(report)}"
            later = f"; {ended}" if ended.startswith("next") else ""
            return f"{time_of(at)} {level.upper():<7} {text}{later}", level
        case LogLine():
            trace = f"\n{report.traceback}" if report.traceback else ""
            return f"{time_of(report.at)} {report.level.upper():<7} {said(report)}{trace}", report.level
        case Printed(_, text):
            return text, "printed"
        case Failed():
            return f"{time_of(report.at)} ERROR   {failure(report)}; waiting for a file to change", "error"
        case Changed(at, files):
            return f"{time_of(at)} INFO    {names(files)} changed: restarting the operator", "info"
        case Running(at, operator):
            return f"{time_of(at)} INFO    {operator} is running", "info"
        case Loaded() | Queues():
            return None
        case _:
            assert_never(report)


def names(files: list[str] | tuple[str, ...]) -> str:
    """Return the name of a file, or of one of several."""
    return files[0] if len(files) == 1 else f"{files[0]} and {len(files) - 1} more"
