"""Log lines as reports: what an operator and its server log reaches the screen."""

import logging
from collections.abc import Callable
from pathlib import Path

from steersman.cli.dev.error_location import place_of
from steersman.cli.dev.reports import LogLine, Report
from steersman.manager.process.logs import fields_of, message_of, plain_value


class ReportHandler(logging.Handler):
    """Turns log records into reports."""

    def __init__(self, tell: Callable[[Report], None], root: Path, level: int) -> None:
        super().__init__()
        self._tell = tell
        self._root = root
        self.setLevel(level)

    def emit(self, record: logging.LogRecord) -> None:
        """Report one record."""
        self._tell(said_of(record, self._root))


def said_of(record: logging.LogRecord, root: Path) -> LogLine:
    """Return a log record as a report."""
    error = record.exc_info[1] if record.exc_info else None
    return LogLine(
        record.created,
        record.levelname.lower(),
        message_of(record),
        {name: plain_value(value) for name, value in fields_of(record).items()},
        place_of(error, root) if error is not None else "",
        logging.Formatter().formatException(record.exc_info) if record.exc_info else "",
    )
