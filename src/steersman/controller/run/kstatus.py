"""The conditions of kstatus (``kstatus=True``): Ready, Reconciling and Stalled, as other tools read them.

Ready says whether the object is as its spec asks. Reconciling and Stalled are there only while they are true:
Reconciling while the operator goes on by itself, Stalled once it has given up until the object changes. At most one of
them is there. A run decides::

    succeeded, Ready not set, or set to True   Ready=True    neither
    succeeded, Ready set to False              (as set)      Reconciling
    waits, or asks for a retry                 Ready=False   Reconciling
    gave up                                    Ready=False   Stalled
    failed, and that is reported               Ready=False   Reconciling
    failed, not often enough to report         unchanged     unchanged
"""

from datetime import datetime
from typing import Final, assert_never

from steersman.controller.reports.outcome import (
    Done,
    Failed,
    GaveUp,
    Outcome,
    Outdated,
    Paused,
    RetryLater,
    Stopped,
    Waiting,
)
from steersman.controller.run.status_draft import READY
from steersman.objects.meta import Condition
from steersman.objects.resource import Status

RECONCILING: Final = "Reconciling"
STALLED: Final = "Stalled"
SUCCEEDED: Final = "Succeeded"
RETRYING: Final = "Retrying"


class KstatusConditions:
    """Sets the conditions of one object at the end of a run."""

    def __init__(self, status: Status, *, now: datetime, generation: int) -> None:
        self._status = status
        self._now = now
        self._generation = generation

    def settle(self, outcome: Outcome, *, set_ready: bool, message: str = "") -> None:
        """Set the conditions for an outcome whose report is in Ready already.

        ``set_ready`` is whether the author has set Ready in this run, ``message`` why a retry was asked for.
        """
        match outcome:
            case Done():
                self._succeeded(set_ready=set_ready)
            case RetryLater():
                self._retries(message, set_ready=set_ready)
            case Waiting():
                self._go_on()
            case GaveUp(reason, _):
                self._remove(RECONCILING)
                self._set(STALLED, True, reason, self._ready_message())  # noqa: FBT003 - reads as the condition it is
            case Failed() | Outdated():
                self._failed()
            case Paused() | Stopped():
                pass
            case _:
                assert_never(outcome)

    def _succeeded(self, *, set_ready: bool) -> None:
        if not set_ready:
            self._set(READY, True, SUCCEEDED, "")  # noqa: FBT003 - same
        ready = self._status.condition(READY)
        if ready is not None and ready.status != "True":
            self._go_on()
            return
        self._remove(RECONCILING)
        self._remove(STALLED)

    def _retries(self, message: str, *, set_ready: bool) -> None:
        if not set_ready:
            self._set(READY, False, RETRYING, message)  # noqa: FBT003 - same
        self._go_on()

    def _failed(self) -> None:
        ready = self._status.condition(READY)
        if ready is not None and ready.status == "False":
            self._go_on()

    def _go_on(self) -> None:
        ready: Condition | None = self._status.condition(READY)
        reason = ready.reason if ready is not None else RETRYING
        self._remove(STALLED)
        self._set(RECONCILING, True, reason, self._ready_message())  # noqa: FBT003 - same

    def _ready_message(self) -> str:
        ready = self._status.condition(READY)
        return ready.message if ready is not None else ""

    def _set(self, type_: str, status: bool, reason: str, message: str) -> None:
        self._status.set_condition(type_, status, reason, message, now=self._now, generation=self._generation)

    def _remove(self, type_: str) -> None:
        known = self._status.condition(type_)
        if known is not None:
            self._status.conditions.remove(known)
