"""The format of log lines: text for people, JSON for machines. A line is a constant message plus fields.

Formatting never raises, whatever an author logs: an exception whose ``__str__`` fails is logged with its type.
Warnings of Python are log lines too. Repeated tracebacks are folded, see `traceback_folding`.
"""

import json as standard_json
import logging
import sys
import traceback
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import Any, TextIO

from steersman.json_types import JsonObject
from steersman.manager.process.traceback_folding import TracebackFolder, fingerprint
from steersman.objects.codec import encode_json

#: Attributes of every record; all others are fields of the line.
_STANDARD = frozenset(logging.LogRecord("", 0, "", 0, "", (), None).__dict__) | {"message", "asctime", "taskName"}
_warnings_log = logging.getLogger("py.warnings")


def fields_of(record: logging.LogRecord) -> JsonObject:
    """Return the fields that were passed with a line as ``extra``."""
    return {name: value for name, value in record.__dict__.items() if name not in _STANDARD}


def time_text(seconds: float) -> str:
    """Return a time as RFC 3339 in the local time zone with its offset, such as ``2026-03-01T12:00:00.250+01:00``."""
    return datetime.fromtimestamp(seconds, UTC).astimezone().isoformat(timespec="milliseconds")


class _Formatter(logging.Formatter):
    """Write records; tracebacks that were written before are folded."""

    def __init__(self) -> None:
        super().__init__()
        self._folder = TracebackFolder()

    def _exception(self, record: logging.LogRecord) -> tuple[str, JsonObject]:
        """Return the exception of a record as text, and fields that say where its folded traceback was logged."""
        error = record.exc_info[1] if record.exc_info else None
        if error is None:
            return "", {}
        repeat = self._folder.fold(fingerprint(error), record.created)
        if repeat is None:
            return "".join(traceback.format_exception(error)).rstrip("\n"), {}
        text = "".join(traceback.format_exception_only(error)).rstrip("\n")
        return text, {"same_traceback_at": time_text(repeat.full_at), "repeats": repeat.count}


class TextFormatter(_Formatter):
    """``2026-03-01T12:00:00.250+01:00 WARNING message key=ns/a kind=Pod``, then the traceback if there is one."""

    def format(self, record: logging.LogRecord) -> str:
        """Return the line of a record, for people."""
        fields = "".join(f" {name}={_shown(value)}" for name, value in fields_of(record).items())
        text = f"{time_text(record.created)} {record.levelname:<7} {message_of(record)}{fields}"
        exception, folded = self._exception(record)
        if folded:
            exception += f" (same traceback as at {folded['same_traceback_at']}, {_times(folded['repeats'])} since)"
        return "\n".join(filter(None, (text, exception, record.stack_info)))


class JsonFormatter(_Formatter):
    """One JSON document a line: ``time``, ``level``, ``logger``, ``message``, the fields, and ``exception``."""

    def format(self, record: logging.LogRecord) -> str:
        """Return the line of a record, for machines."""
        line: JsonObject = {
            "time": time_text(record.created),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": message_of(record),
        }
        line.update((name, plain_value(value)) for name, value in fields_of(record).items())
        exception, folded = self._exception(record)
        if exception:
            line["exception"] = exception
        if record.stack_info:
            line["stack"] = record.stack_info
        return _encoded(line | folded)


def configure_logging(*, json: bool, level: int = logging.INFO, stream: TextIO | None = None) -> None:
    """Send the log lines and the warnings of the whole process to a stream, by default standard error.

    Whatever was configured before is replaced.
    """
    handler = logging.StreamHandler(stream if stream is not None else sys.stderr)
    handler.setFormatter(JsonFormatter() if json else TextFormatter())
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(level)
    warnings.showwarning = _log_warning


@contextmanager
def quiet_logs(*names: str) -> Iterator[None]:
    """Silence loggers for the block, by default those of operators and framework."""
    before = {name: logging.getLogger(name).level for name in names or ("steersman",)}
    for name in before:
        logging.getLogger(name).setLevel(logging.CRITICAL + 1)
    try:
        yield
    finally:
        for name, level in before.items():
            logging.getLogger(name).setLevel(level)


def _log_warning(
    message: Warning | str,
    category: type[Warning],
    filename: str,
    lineno: int,
    file: TextIO | None = None,
    line: str | None = None,
) -> None:
    """Log a warning of Python; the signature is that of `warnings.showwarning`."""
    del file, line
    _warnings_log.warning("%s", _text(message), extra={"category": category.__name__, "place": f"{filename}:{lineno}"})


def plain_value(value: Any) -> Any:
    """Return the value of a field as JSON has it: plain values and lists of them unchanged, others as their text."""
    if value is None or isinstance(value, (str, int, float, bool)):
        return value
    if isinstance(value, (list, tuple)):
        return [plain_value(one) for one in value]
    return _text(value)


def message_of(record: logging.LogRecord) -> str:
    """Return the message; arguments that do not fit it, or have no text, do not stop the line."""
    try:
        return record.getMessage()
    except Exception as error:  # noqa: BLE001 - whatever the text of an author's object raises
        return f"{_text(record.msg)} (its arguments cannot be formatted: {type(error).__name__})"


def _text(value: Any) -> str:
    """Return a value as text; an author's ``__str__`` may raise anything."""
    try:
        return str(value)
    except Exception:  # noqa: BLE001 - same
        return f"<{type(value).__name__} without text: str() failed>"


def _shown(value: Any) -> str:
    text = f"[{', '.join(map(_text, value))}]" if isinstance(value, (list, tuple)) else _text(value)
    return repr(text) if " " in text or not text else text


def _times(count: int) -> str:
    return "once" if count == 1 else f"{count} times"


def _encoded(line: JsonObject) -> str:
    try:
        return encode_json(line).decode()
    except (ValueError, TypeError, NotImplementedError):
        # Half a surrogate pair is not UTF-8, and subclasses of plain types may be anything; the standard library copes.
        return standard_json.dumps(line, default=_text)
