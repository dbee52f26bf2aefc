"""How log lines look: text for people, JSON for machines. A line is a constant message plus fields."""

import logging
import sys
from typing import Any, TextIO

from steersman.objects.codec import encode_json

#: What every record has; whatever else is there is a field of the line.
_STANDARD = frozenset(logging.LogRecord("", 0, "", 0, "", (), None).__dict__) | {"message", "asctime", "taskName"}


def fields_of(record: logging.LogRecord) -> dict[str, Any]:
    """Give the fields that were handed over with a line."""
    return {name: value for name, value in record.__dict__.items() if name not in _STANDARD}


class TextFormatter(logging.Formatter):
    """``12:00:00 WARNING message key=ns/a kind=Pod``, then the traceback if there is one."""

    default_time_format = "%H:%M:%S"
    default_msec_format = "%s.%03d"

    def format(self, record: logging.LogRecord) -> str:
        """Write a line for people."""
        fields = "".join(f" {name}={_shown(value)}" for name, value in fields_of(record).items())
        text = f"{self.formatTime(record)} {record.levelname:<7} {record.getMessage()}{fields}"
        return f"{text}\n{self.formatException(record.exc_info)}" if record.exc_info else text


class JsonFormatter(logging.Formatter):
    """One JSON document a line: ``time``, ``level``, ``logger``, ``message``, the fields, and ``exception``."""

    def format(self, record: logging.LogRecord) -> str:
        """Write a line for machines."""
        line: dict[str, Any] = {
            "time": self.formatTime(record, "%Y-%m-%dT%H:%M:%S") + f".{int(record.msecs):03d}",
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
        }
        line.update((name, plain_value(value)) for name, value in fields_of(record).items())
        if record.exc_info:
            line["exception"] = self.formatException(record.exc_info)
        return encode_json(line).decode()


def configure_logging(*, json: bool, level: int = logging.INFO, stream: TextIO | None = None) -> None:
    """Send the lines of the whole process to a stream (standard error), replacing whatever was configured."""
    handler = logging.StreamHandler(stream if stream is not None else sys.stderr)
    handler.setFormatter(JsonFormatter() if json else TextFormatter())
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(level)


def plain_value(value: Any) -> Any:
    """Give the value of a field as JSON has it: plain values and lists of them as they are, others as their text."""
    if value is None or isinstance(value, (str, int, float, bool)):
        return value
    if isinstance(value, (list, tuple)):
        return [plain_value(one) for one in value]
    return str(value)


def _shown(value: Any) -> str:
    text = str(value) if not isinstance(value, (list, tuple)) else f"[{', '.join(map(str, value))}]"
    return repr(text) if " " in text or not text else text
