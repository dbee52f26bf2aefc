"""Interfaces that a controller notifies: observers, which count, and listeners for failures."""

import traceback
from collections.abc import Callable
from typing import Protocol, TypeAlias

from msgspec import Struct

from steersman.controller.reports.outcome import Outcome
from steersman.controller.reports.writes import ExternalWrite
from steersman.objects.identity import ObjectKey


class ReconcileFailure(Struct, frozen=True):
    """An unexpected exception of an author's function; the key is retried with back-off."""

    #: Name of the controller, as in logs and metrics.
    controller: str
    kind: str
    #: The object that was reconciled, or the changed object that could not be mapped to keys.
    key: ObjectKey
    error: BaseException

    def __str__(self) -> str:
        # Works for exceptions whose own __str__ raises, too.
        text = "".join(traceback.format_exception_only(self.error)).strip()
        return f"{self.kind} {self.key} ({self.controller}): {text}"


#: Called with each failure, on the event loop; must neither block nor raise.
FailureListener: TypeAlias = Callable[[ReconcileFailure], None]


def ignore_failure(failure: ReconcileFailure) -> None:
    """Ignore a failure: it is logged and counted anyway."""


class ControllerObserver(Protocol):
    """Notified of each step of a controller; must neither block nor raise."""

    def began(self) -> None:
        """Record the begin of a reconcile."""

    def ended(self, outcome: Outcome, seconds: float) -> None:
        """Record the outcome and duration of a reconcile."""

    def hold_expired(self) -> None:
        """Record that a key was released although the cache did not show its writes in time."""

    def malformed(self) -> None:
        """Record an object that does not decode."""

    def hot_loops(self, count: int) -> None:
        """Record the number of keys that trigger themselves."""

    def external_write_ended(self, write: ExternalWrite) -> None:
        """Record a write to another system, whatever its result."""


class NoObserver:
    """Ignore everything."""

    def began(self) -> None:
        """Ignore it."""

    def ended(self, outcome: Outcome, seconds: float) -> None:
        """Ignore it."""

    def hold_expired(self) -> None:
        """Ignore it."""

    def malformed(self) -> None:
        """Ignore it."""

    def hot_loops(self, count: int) -> None:
        """Ignore it."""

    def external_write_ended(self, write: ExternalWrite) -> None:
        """Ignore it."""
