"""What shows a `steer dev` to its user: a screen that changes, or lines that follow each other."""

from typing import Protocol

from steersman.cli.dev.reports import Report


class Face(Protocol):
    """Shows what happens."""

    def open(self) -> None:
        """Begin: the server answers, and the kubeconfig is written."""

    def take(self, report: Report) -> None:
        """Show one report, or note that there is something to show."""

    def refresh(self) -> None:
        """Show the state as it is now, if it is shown at all."""

    def close(self) -> None:
        """Leave the terminal as it was; harmless when it was left already."""
