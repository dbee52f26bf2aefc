"""Who counts what a controller does."""

from typing import Protocol

from steersman.controller.reports.outcome import Outcome
from steersman.controller.run.external_writes import ExternalWrite


class ControllerObserver(Protocol):
    """Told of each step of a controller; must neither wait nor raise."""

    def began(self) -> None:
        """Tell that a reconcile begins."""

    def ended(self, outcome: Outcome, seconds: float) -> None:
        """Tell how a reconcile ended, and how long it took."""

    def hold_expired(self) -> None:
        """Tell that a key was let go although the cache had not seen what it wrote."""

    def malformed(self) -> None:
        """Tell that an object did not decode."""

    def hot_loops(self, count: int) -> None:
        """Tell how many keys trigger themselves."""

    def external_write_ended(self, write: ExternalWrite) -> None:
        """Record a write to another system, however it ended."""


class NoObserver:
    """Counts nothing."""

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
