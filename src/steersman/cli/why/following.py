"""`Following`: which lines `steer why --follow` prints, from one look at the operator to the next.

Runs are compared by the time of their start, not by their number, because a restarted operator counts from one again.
An operator that does not answer may still run. So it is printed that it stopped answering, and later that it answers
again, and the object is looked up again among all operators.
"""

from datetime import UTC, datetime

from msgspec.structs import replace

from steersman.history.explanation import explain, next_run, sentence, timeline_lines
from steersman.history.records import ObjectView

_LONG_AGO = datetime.min.replace(tzinfo=UTC)


class Following:
    """What was printed of an object so far."""

    def __init__(self) -> None:
        #: Times of the newest run, review and change of leadership that were printed: a run is known when it has ended,
        #: so it may have begun before a review that was printed.
        self._shown = (_LONG_AGO, _LONG_AGO, _LONG_AGO)
        #: Whether the object existed at the last look; ``None`` before the first.
        self._existed: bool | None = None
        self._is_lost = False

    def take(self, view: ObjectView, now: datetime) -> list[str]:
        """Return what is new in a view."""
        again = ["The operator answers again."] if self._is_lost else []
        news = self._news(view)
        appeared_or_vanished = view.exists is not self._existed
        self._is_lost, self._existed = False, view.exists
        if news.reconciles:
            return [*again, *explain(news, now)]
        timeline = timeline_lines(news, now)
        if not appeared_or_vanished:
            return [*again, *timeline]
        return [*again, sentence(view), *([next_run(view, now)] if view.exists else []), *timeline]

    def _news(self, view: ObjectView) -> ObjectView:
        """Return a view with only what was not printed yet."""
        seen_runs, seen_reviews, seen_changes = self._shown
        runs = tuple(one for one in view.reconciles if one.started > seen_runs)
        reviews = tuple(one for one in view.reviews if one.started > seen_reviews)
        changes = tuple(one for one in view.leadership if one.at > seen_changes)
        self._shown = (
            max([seen_runs, *(one.started for one in runs)]),
            max([seen_reviews, *(one.started for one in reviews)]),
            max([seen_changes, *(one.at for one in changes)]),
        )
        return replace(view, reconciles=runs, reviews=reviews, leadership=changes)

    def lost(self, reason: str) -> list[str]:
        """Return what is printed when no operator answers: the reason, once."""
        if self._is_lost:
            return []
        self._is_lost = True
        return [f"{reason}; waiting for it"]
