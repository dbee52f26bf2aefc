"""`Following`: which lines `steer why --follow` prints, from one look at the operator to the next.

Runs are compared by the time of their start, not by their number, because a restarted operator counts from one again.
An operator that does not answer may still run. So it is printed that it stopped answering, and later that it answers
again, and the object is looked up again among all operators.
"""

from datetime import datetime

from msgspec.structs import replace

from steersman.history.explanation import explain, next_run, sentence
from steersman.history.records import ObjectView


class Following:
    """What was printed of an object so far."""

    def __init__(self) -> None:
        #: Start of the newest run that was printed.
        self._shown: datetime | None = None
        #: Whether the object existed at the last look; ``None`` before the first.
        self._existed: bool | None = None
        self._is_lost = False

    def take(self, view: ObjectView, now: datetime) -> list[str]:
        """Return what is new in a view."""
        again = ["The operator answers again."] if self._is_lost else []
        newer = tuple(one for one in view.reconciles if self._shown is None or one.started > self._shown)
        appeared_or_vanished = view.exists is not self._existed
        self._is_lost, self._existed = False, view.exists
        if newer:
            self._shown = newer[-1].started
            return [*again, *explain(replace(view, reconciles=newer), now)]
        if not appeared_or_vanished:
            return again
        return [*again, sentence(view), *([next_run(view, now)] if view.exists else [])]

    def lost(self, reason: str) -> list[str]:
        """Return what is printed when no operator answers: the reason, once."""
        if self._is_lost:
            return []
        self._is_lost = True
        return [f"{reason}; waiting for it"]
