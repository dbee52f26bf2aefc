"""Which exception means which outcome of a reconcile."""

import asyncio

import pytest

from steersman.controller.reports.outcome import (
    Done,
    Failed,
    GaveUp,
    Outcome,
    Outdated,
    RetryLater,
    Stopped,
    outcome_of,
)
from steersman.errors import Conflict, Forbidden, LeadershipLost, NotFound, Permanent, Retry
from steersman.objects.identity import ObjectKey
from steersman.objects.resource import resource_of
from tests.support.widgets import Widget

KEY = ObjectKey("ns", "a")


def outcome(error: BaseException) -> Outcome:
    """Return the outcome for the widget ns/a."""
    return outcome_of(error, resource_of(Widget), KEY)


def missing(name: str, kind: str = "widgets", group: str = "runtime.example.com") -> NotFound:
    """Return the server's answer for a missing object."""
    return NotFound("not found", code=404, reason="NotFound", name=name, kind=kind, group=group)


def test_retry_and_permanent_are_not_failures() -> None:
    """The author raises them on purpose."""
    assert outcome(Retry("later", after=3.0)) == RetryLater("later", 3.0)
    assert outcome(Permanent("Rejected", "no such disk")) == GaveUp("Rejected", "no such disk")


def test_deletion_of_the_object_itself_is_success() -> None:
    """Deleting an object during its reconcile causes no retries."""
    assert outcome(missing("a")) == Done()


@pytest.mark.parametrize("other", [missing("b"), missing("a", "pods", ""), missing("a", "gadgets")])
def test_a_missing_other_object_is_a_failure(other: NotFound) -> None:
    """A ConfigMap that does not exist yet must be retried."""
    assert outcome(other) == Failed(other)


def test_a_conflict_is_outdated_and_lost_leadership_stops() -> None:
    """The former is retried at once, the latter never."""
    conflict = Conflict("changed", code=409)
    assert outcome(conflict) == Outdated(conflict)
    assert outcome(LeadershipLost("gone")) == Stopped()


def test_everything_else_is_a_failure() -> None:
    """Also a task that cancels itself, and a BaseException."""
    forbidden = Forbidden("no", code=403)
    assert outcome(forbidden) == Failed(forbidden)
    assert isinstance(outcome(asyncio.CancelledError()), Failed)
    assert isinstance(outcome(SystemExit(1)), Failed)
