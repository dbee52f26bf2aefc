"""What shows a `steer dev` to its user: a screen that changes, or lines that follow each other."""

from typing import Protocol

from steersman.cli.dev.reports import Report


class View(Protocol):
    """Shows what happens."""

    def open(self) -> None:
        """Open the view: the server is ready, and the kubeconfig is written."""

    def take(self, report: Report) -> None:
        """Show one report, or note that there is something to show."""

    def refresh(self) -> None:
        """Show the current state."""

    def close(self) -> None:
        """Restore the terminal; harmless if that was done already."""


class DeferredView:
    """Keeps reports until there is a view to show them, so that none is lost."""

    def __init__(self) -> None:
        self._view: View | None = None
        self._early: list[Report] = []

    def open(self, view: View) -> None:
        """Open the view, and show the reports so far."""
        self._view = view
        view.open()
        for report in self._early:
            view.take(report)
        self._early.clear()

    def take(self, report: Report) -> None:
        """Show one report, now or when there is a view."""
        if self._view is None:
            self._early.append(report)
        else:
            self._view.take(report)

    def refresh(self) -> None:
        """Show the current state, if there is a view."""
        if self._view is not None:
            self._view.refresh()

    def close(self) -> None:
        """Restore the terminal, if there is a view."""
        if self._view is not None:
            self._view.close()
