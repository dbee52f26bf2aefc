"""`Failures`: the failed reconciles of a test, and the failure of a test that did not expect them.

A controller survives whatever a reconciler raises and retries, so a test whose last attempt succeeds would not notice.
Faults that a test injected itself (``cluster.faults``) are expected.
"""

import traceback
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TypeAlias

from steersman.controller.reports.failures import ReconcileFailure

#: Exceptions that a test expects its reconcilers to raise, as for ``isinstance``.
Expected: TypeAlias = type[BaseException] | tuple[type[BaseException], ...]

#: Parts of paths whose code is not the author's.
_FOREIGN = (str(Path(__file__).parents[1]), "site-packages", "/lib/python")


class Failures:
    """Every failed reconcile of a cluster, in order."""

    def __init__(self, is_injected: Callable[[BaseException], bool]) -> None:
        self._is_injected = is_injected
        self.all: list[ReconcileFailure] = []

    def __repr__(self) -> str:
        return f"<Failures {len(self.all)}>"

    def record(self, failure: ReconcileFailure) -> None:
        """Record a failure; a `FailureListener`."""
        self.all.append(failure)

    def last_text(self) -> str:
        """Return a description of the last failed reconcile; empty if none failed."""
        if not self.all:
            return ""
        return f"last failed reconcile (of {len(self.all)}): {_described(self.all[-1])}"

    @contextmanager
    def checking(self, expected: Expected) -> Iterator[None]:
        """Raise at the end of the block if a reconcile failed in it unexpectedly; add it to the block's own error."""
        begin = len(self.all)

        def unexpected() -> list[ReconcileFailure]:
            return [
                failure
                for failure in self.all[begin:]
                if not isinstance(failure.error, expected) and not self._is_injected(failure.error)
            ]

        try:
            yield
        except BaseException as error:
            if failures := unexpected():
                error.add_note(_text(failures) + "\n" + "".join(traceback.format_exception(failures[0].error)))
            raise
        if failures := unexpected():
            raise AssertionError(f"{_text(failures)}\n{_advice(failures)}") from failures[0].error


def _text(failures: list[ReconcileFailure]) -> str:
    counts = Counter(_described(failure) for failure in failures)
    lines = [f"{text}{f' ({count} times)' if count > 1 else ''}" for text, count in counts.items()]
    count = len(failures)
    return "\n  ".join([f"{count} reconcile{'s' if count > 1 else ''} failed unexpectedly:", *lines])


def _advice(failures: list[ReconcileFailure]) -> str:
    names = ", ".join(dict.fromkeys(type(failure.error).__name__ for failure in failures))
    return f"If the test means them to fail, pass expect_failures=({names},)."


def _described(failure: ReconcileFailure) -> str:
    place = _place(failure.error)
    return f"{failure}{f', at {place}' if place else ''}"


def _place(error: BaseException) -> str:
    """Return the innermost line of the author's own code."""
    frames = reversed(traceback.extract_tb(error.__traceback__))
    own = next((one for one in frames if not any(part in one.filename for part in _FOREIGN)), None)
    if own is not None:
        return f"{own.filename}:{own.lineno} in {own.name}"
    # A timeout raises its own error; the position in the author's code is known to the cancellation behind it.
    return _place(error.__cause__) if error.__cause__ is not None else ""
