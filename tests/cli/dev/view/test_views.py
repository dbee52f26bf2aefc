"""What is shown of that which happens before there is a terminal to show it on."""

from steersman.cli.dev.reports import Failed, Printed, Report
from steersman.cli.dev.view.view import DeferredView


class Shown:
    """A face that remembers."""

    def __init__(self) -> None:
        self.seen: list[Report | str] = []

    def open(self) -> None:
        """Note it."""
        self.seen.append("open")

    def take(self, report: Report) -> None:
        """Note it."""
        self.seen.append(report)

    def refresh(self) -> None:
        """Note it."""
        self.seen.append("refresh")

    def close(self) -> None:
        """Note it."""
        self.seen.append("close")


def test_what_came_before_the_face_is_shown_first_and_once() -> None:
    """The operator loads while the server starts: a broken file must not be told to nobody."""
    late, view = DeferredView(), Shown()
    early, later = Failed(1.0, "SyntaxError: invalid syntax", "main.py:7"), Printed(2.0, "hello")
    late.take(early)
    late.refresh()
    late.open(view)
    late.take(later)
    late.refresh()
    late.close()
    assert view.seen == ["open", early, later, "refresh", "close"]


def test_a_face_that_never_came_needs_no_closing() -> None:
    """A busy port ends it before there is anything to show."""
    late = DeferredView()
    late.take(Printed(1.0, "hello"))
    late.close()
