"""What a view shows of reports that arrived before it opened."""

from steersman.cli.dev.reports import Failed, Printed, Report
from steersman.cli.dev.view.view import DeferredView


class RecordingView:
    """A view that records its calls."""

    def __init__(self) -> None:
        self.seen: list[Report | str] = []

    def open(self) -> None:
        """Record the call."""
        self.seen.append("open")

    def take(self, report: Report) -> None:
        """Record the call."""
        self.seen.append(report)

    def refresh(self) -> None:
        """Record the call."""
        self.seen.append("refresh")

    def close(self) -> None:
        """Record the call."""
        self.seen.append("close")


def test_reports_from_before_the_view_opened_are_shown_first_and_once() -> None:
    """The operator loads while the server starts: the error of a broken file must not be lost."""
    late, view = DeferredView(), RecordingView()
    early, later = Failed(1.0, "SyntaxError: invalid syntax", "main.py:7"), Printed(2.0, "hello")
    late.take(early)
    late.refresh()
    late.open(view)
    late.take(later)
    late.refresh()
    late.close()
    assert view.seen == ["open", early, later, "refresh", "close"]


def test_a_view_that_never_opened_is_not_closed() -> None:
    """A busy port ends the command before there is anything to show."""
    late = DeferredView()
    late.take(Printed(1.0, "hello"))
    late.close()
