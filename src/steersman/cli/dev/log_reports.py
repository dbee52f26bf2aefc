"""Log records as reports: what an operator and its surroundings log reaches the screen."""

import logging
from collections.abc import Callable
from pathlib import Path
from typing import Final

from steersman.cli.dev.error_location import place_of
from steersman.cli.dev.reports import LogLine, Reconciled, Report
from steersman.manager.process.logs import fields_of, message_of, plain_value

#: The logger of controllers, and the message with which one reports a run (at the debug level).
CONTROLLER_LOG: Final = "steersman.controller"
_RECONCILED: Final = "reconciled"


class ReportHandler(logging.Handler):
    """Turns log records into reports: a controller's line about a run into `Reconciled`, any other into `Said`."""

    def __init__(self, tell: Callable[[Report], None], root: Path, level: int) -> None:
        super().__init__()
        self._tell = tell
        self._root = root
        #: The lowest level that is shown; runs are shown at any.
        self._shown = level

    def emit(self, record: logging.LogRecord) -> None:
        """Report one record."""
        if (record.name, record.msg) == (CONTROLLER_LOG, _RECONCILED):
            self._tell(_run_of(record))
        elif record.levelno >= self._shown:
            self._tell(said_of(record, self._root))


def _run_of(record: logging.LogRecord) -> Reconciled:
    fields = fields_of(record)
    return Reconciled(
        record.created,
        fields["controller"],
        fields["kind"],
        fields["key"],
        fields["result"],
        fields["seconds"],
        fields["why"],
    )


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
