"""What can go wrong with an expression: while it is compiled (issues) and while it runs (evaluation errors).

Issues carry a position and are rendered as Kubernetes prints them, with the source line and a caret below it.
"""

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass

from steersman.errors import SteersmanError


class EvaluationError(SteersmanError):
    """The expression has no value for this input; ``str()`` is the reason, as Kubernetes words it."""


class NoSuchOverload(EvaluationError):  # noqa: N818 - Kubernetes' own name of the condition
    """A function or operator met argument types it is not made for; only dynamic values get that far."""

    def __init__(self, detail: str = "") -> None:
        super().__init__(f"no such overload: {detail}" if detail else "no such overload")


class CostExceeded(SteersmanError):  # noqa: N818 - named as the event
    """One evaluation exceeded its cost limit; operators such as ``||`` do not absorb this error."""

    def __init__(self) -> None:
        super().__init__("operation cancelled: actual cost limit exceeded")


class ExpressionError(SteersmanError):
    """An expression does not compile; ``str()`` shows every issue with its place."""


#: Number of issues that are shown; the others are counted.
_MOST_ISSUES = 100
#: Beyond this length no more source lines are shown: a single line may be a hundred thousand characters long.
_LONGEST_TEXT = 100_000


@dataclass(frozen=True, slots=True)
class Issue:
    """One problem found while compiling; ``offset`` counts characters, -1 if it has no position."""

    offset: int
    message: str


class Source:
    """The text of one expression, and where its lines begin."""

    __slots__ = ("_starts", "text")

    def __init__(self, text: str) -> None:
        self.text = text
        self._starts = [0, *(place + 1 for place, char in enumerate(text) if char == "\n")]

    def render(self, issues: Sequence[Issue]) -> str:
        """Return the issues as text in the order of their positions: the first hundred, with their lines if short."""
        shown: list[str] = []
        length = 0
        for issue in sorted(issues[:_MOST_ISSUES], key=lambda issue: issue.offset):
            shown.append(self._render(issue, with_line=length < _LONGEST_TEXT))
            length += len(shown[-1])
        if len(issues) > _MOST_ISSUES:
            shown.append(f"{len(issues) - _MOST_ISSUES} more errors were truncated")
        return "\n".join(shown)

    def _line(self, number: int) -> str:
        end = self._starts[number] - 1 if number < len(self._starts) else len(self.text)
        return self.text[self._starts[number - 1] : end].replace("\t", " ")

    def _render(self, issue: Issue, *, with_line: bool) -> str:
        if issue.offset < 0:
            return f"ERROR: <input>:-1:0: {issue.message}"
        line = bisect_right(self._starts, issue.offset)
        column = issue.offset - self._starts[line - 1]
        if not with_line:
            return f"ERROR: <input>:{line}:{column + 1}: {issue.message}"
        text = self._line(line)
        dots = "".join("." if char.isascii() else "\N{FULLWIDTH FULL STOP}" for char in text[:column])
        wide = column < len(text) and not text[column].isascii()
        caret = "\N{FULLWIDTH CIRCUMFLEX ACCENT}" if wide else "^"
        return f"ERROR: <input>:{line}:{column + 1}: {issue.message}\n | {text}\n | {dots}{caret}"
