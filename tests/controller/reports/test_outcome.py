"""Which failure means which end of a reconcile."""

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
    """Return the server's answer for an object that is not there."""
    return NotFound("not found", code=404, reason="NotFound", name=name, kind=kind, group=group)


def test_the_authors_wishes_are_taken_as_they_are() -> None:
    """Retry and Permanent steer; they are no accidents."""
    assert outcome(Retry("later", after=3.0)) == RetryLater("later", 3.0)
    assert outcome(Permanent("Rejected", "no such disk")) == GaveUp("Rejected", "no such disk")


def test_the_object_itself_gone_is_success() -> None:
    """Deleting an object during its reconcile causes no retries."""
    assert outcome(missing("a")) == Done()


@pytest.mark.parametrize("other", [missing("b"), missing("a", "pods", ""), missing("a", "gadgets")])
def test_another_object_missing_is_a_failure(other: NotFound) -> None:
    """A ConfigMap that is not there yet must be tried again."""
    assert outcome(other) == Failed(other)


def test_a_conflict_is_outdated_and_lost_leadership_stops() -> None:
    """One is tried again at once, the other never."""
    conflict = Conflict("changed", code=409)
    assert outcome(conflict) == Outdated(conflict)
    assert outcome(LeadershipLost("gone")) == Stopped()


def test_everything_else_is_a_failure() -> None:
    """Also what cancels itself, and what is not an Exception."""
    forbidden = Forbidden("no", code=403)
    assert outcome(forbidden) == Failed(forbidden)
    assert isinstance(outcome(asyncio.CancelledError()), Failed)
    assert isinstance(outcome(SystemExit(1)), Failed)
