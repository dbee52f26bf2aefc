"""What can go wrong with an expression: while it is compiled (issues) and while it runs (evaluation errors).

Issues carry a position and are rendered as Kubernetes prints them, with the source line and a caret below it.
"""

from bisect import bisect_right
from collections.abc import Iterable
from dataclasses import dataclass

from steersman.errors import SteersmanError


class EvaluationError(SteersmanError):
    """The expression has no value for this input; ``str()`` is the reason, as Kubernetes words it."""


class NoSuchOverload(EvaluationError):  # noqa: N818 - Kubernetes' own name of the condition
    """A function or operator met argument types it is not made for; only dynamic values get that far."""

    def __init__(self, detail: str = "") -> None:
        super().__init__(f"no such overload: {detail}" if detail else "no such overload")


class CostExceeded(SteersmanError):  # noqa: N818 - named as the event
    """One evaluation cost more than it may; nothing absorbs this."""

    def __init__(self) -> None:
        super().__init__("operation cancelled: actual cost limit exceeded")


class ExpressionError(SteersmanError):
    """An expression does not compile; ``str()`` shows every issue with its place."""


@dataclass(frozen=True, slots=True)
class Issue:
    """One problem found while compiling; ``offset`` counts characters, -1 when there is no place to point at."""

    offset: int
    message: str


class Source:
    """The text of one expression, and where its lines begin."""

    __slots__ = ("_starts", "text")

    def __init__(self, text: str) -> None:
        self.text = text
        self._starts = [0, *(place + 1 for place, char in enumerate(text) if char == "\n")]

    def render(self, issues: Iterable[Issue]) -> str:
        """Show the issues in the order of their places."""
        return "\n".join(self._render(issue) for issue in sorted(issues, key=lambda issue: issue.offset))

    def _render(self, issue: Issue) -> str:
        if issue.offset < 0:
            return f"ERROR: <input>:-1:0: {issue.message}"
        line = bisect_right(self._starts, issue.offset)
        column = issue.offset - self._starts[line - 1]
        text = self.text.split("\n")[line - 1].replace("\t", " ")
        dots = "".join("." if char.isascii() else "\N{FULLWIDTH FULL STOP}" for char in text[:column])
        wide = column < len(text) and not text[column].isascii()
        caret = "\N{FULLWIDTH CIRCUMFLEX ACCENT}" if wide else "^"
        return f"ERROR: <input>:{line}:{column + 1}: {issue.message}\n | {text}\n | {dots}{caret}"
