from datetime import UTC, datetime, timedelta

import pytest

from steersman.objects.codec import encode_json
from steersman.objects.resource import Status

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)
LATER = NOON + timedelta(hours=1)


def test_transition_time_moves_only_with_the_status() -> None:
    """Watchers measure how long a condition has been true."""
    status = Status()
    assert status.set_condition("Ready", status=False, reason="Starting", now=NOON)
    assert status.set_condition("Ready", status=False, reason="Waiting", message="for wind", now=LATER)
    ready = status.condition("Ready")
    assert ready is not None
    assert (ready.reason, ready.message, ready.last_transition_time) == ("Waiting", "for wind", NOON)
    assert status.set_condition("Ready", status=True, reason="Sailing", now=LATER)
    ready = status.condition("Ready")
    assert ready is not None
    assert (ready.status, ready.last_transition_time) == ("True", LATER)


def test_same_condition_again_changes_nothing() -> None:
    """A reconcile that finds nothing new must not write."""
    status = Status()
    status.set_condition("Ready", None, "Unclear", now=NOON, generation=2)
    assert not status.set_condition("Ready", None, "Unclear", now=LATER, generation=2)
    assert status.set_condition("Ready", None, "Unclear", now=LATER, generation=3)
    assert [one.status for one in status.conditions] == ["Unknown"]


def test_conditions_of_other_types_keep_their_position() -> None:
    """Conditions are a map by type, but users see their order."""
    status = Status()
    for type_ in ("A", "B", "C"):
        status.set_condition(type_, status=True, reason="Made", now=NOON)
    status.set_condition("B", status=False, reason="Broken", now=LATER)
    assert [(one.type, one.status) for one in status.conditions] == [("A", "True"), ("B", "False"), ("C", "True")]
    assert status.condition("D") is None


def test_transition_time_has_whole_seconds() -> None:
    """As ``metav1.Time`` is written; a custom resource would store the fraction."""
    status = Status()
    status.set_condition("Ready", status=True, reason="Made", now=NOON.replace(microsecond=123456))
    assert b'"lastTransitionTime":"2026-01-01T12:00:00Z"' in encode_json(status)


@pytest.mark.parametrize("status", ["True", "yes", 1])
def test_a_status_that_is_not_a_boolean_is_rejected_by_name(status: object) -> None:
    """Conditions are read as texts and written as booleans, so a text is an easy mistake."""
    with pytest.raises(TypeError, match="the status of the condition Ready must be True, False or None"):
        Status().set_condition("Ready", status, "Fine", now=NOON)  # type: ignore[arg-type] # the mistake
