"""Lines for logs, pipes and CI: where to find the API on standard output, everything else on standard error."""

import click

from steersman.cli.dev.reports import Report
from steersman.cli.dev.view.texts import line_of

_COLOURS = {"error": "red", "critical": "red", "warning": "yellow"}


class PlainView:
    """Writes a line for each report that is news."""

    def __init__(self, greeting: str) -> None:
        self._greeting = greeting

    def open(self) -> None:
        """Print the address of the API and the command to use it."""
        click.echo(self._greeting)

    def take(self, report: Report) -> None:
        """Write one line."""
        shown = line_of(report)
        if shown is not None:
            text, level = shown
            click.echo(click.style(text, fg=_COLOURS[level]) if level in _COLOURS else text, err=True)

    def refresh(self) -> None:
        """Do nothing: printed lines stay."""

    def close(self) -> None:
        """Do nothing: there is nothing to restore."""
