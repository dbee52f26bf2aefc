"""What the log says about a run: a view of its record.

An exception of the author's code is logged where it is caught, because only there it has its traceback.
"""

import logging

from steersman.history.records import Reconcile, Result

#: Level and message of a run that did not simply succeed.
_LINES = {
    Result.RETRY: (logging.INFO, "reconcile asks for a retry"),
    Result.WAITING: (logging.INFO, "reconcile waits for another object"),
    Result.GAVE_UP: (logging.WARNING, "reconcile gave up until the object changes"),
}


def log_run(log: logging.LoggerAdapter[logging.Logger], run: Reconcile) -> None:
    """Write the lines about a run."""
    line = _LINES.get(run.result)
    if line is not None:
        level, message = line
        log.log(level, message, extra=_fields_of(run))
    if log.isEnabledFor(logging.DEBUG):
        log.debug("reconciled", extra={"result": str(run.result), "seconds": round(run.seconds, 6), **_causes_of(run)})


def _fields_of(run: Reconcile) -> dict[str, object]:
    fields = {"reason": run.reason, "error": run.message, "after": run.again_after, "waits_for": run.next.waits_for}
    return {name: value if name == "after" else str(value) for name, value in fields.items() if value}


def _causes_of(run: Reconcile) -> dict[str, object]:
    return {"why": [str(cause) for cause in run.causes], "more_causes": run.more_causes}
