"""Pending notifications of a handler, without a cluster."""

from datetime import UTC, datetime, timedelta

import pytest
from steersman import ObjectKey

from kubewatch.api.watcher_v1 import Event
from kubewatch.notification import Notification
from kubewatch.outbox import Outbox

NOW = datetime(2030, 1, 1, tzinfo=UTC)


def change(event: Event, version: int = 1, name: str = "a") -> Notification:
    """Return a notification."""
    before = {"version": version - 1} if event == "update" else None
    return Notification(
        event=event,
        kind="Pod",
        api_version="v1",
        key=ObjectKey("ns", name),
        uid=f"uid-{name}",
        version=str(version),
        time=NOW,
        obj={"version": version},
        old=before,
    )


@pytest.mark.parametrize(
    ("first", "second", "expected"),
    [
        ("create", "update", ("create", 2, None)),
        ("create", "delete", ("delete", 2, None)),
        ("update", "update", ("update", 2, 0)),
        ("update", "delete", ("delete", 2, None)),
        ("delete", "create", ("update", 2, 1)),
    ],
)
def test_pending_changes_of_an_object_are_merged(
    first: Event, second: Event, expected: tuple[str, int, int | None]
) -> None:
    """A handler that was down is notified of the current state, not of every change."""
    outbox = Outbox()
    outbox.put(change(first, 1))
    outbox.put(change(second, 2))
    pending = outbox.take(NOW)
    assert pending is not None
    notification = pending.notification
    old = notification.old["version"] if notification.old else None
    assert (notification.event, notification.obj["version"], old) == expected
    assert outbox.take(NOW) is None


def test_the_oldest_is_delivered_first() -> None:
    """Objects that change often must not delay others forever."""
    outbox = Outbox()
    for name in ("a", "b"):
        outbox.put(change("create", 1, name))
    outbox.put(change("update", 2, "a"))
    letters = [outbox.take(NOW), outbox.take(NOW)]
    assert [pending.notification.key.name for pending in letters if pending] == ["a", "b"]


def test_the_delay_of_a_failing_handler_grows() -> None:
    """It is retried with back-off, and with one notification only."""
    outbox = Outbox()
    outbox.put(change("create", 1, "a"))
    outbox.put(change("create", 1, "b"))
    now, pauses = NOW, []
    for _ in range(4):
        pending = outbox.take(now)
        assert pending is not None
        assert pending.notification.key.name == "a"
        assert outbox.failed(pending, now, max_retries=5) is None
        pauses.append(outbox.pause(now))
        assert outbox.take(now) is None
        now += timedelta(seconds=outbox.pause(now))
    assert pauses == [1, 2, 4, 8]


def test_a_notification_is_given_up_after_its_retries() -> None:
    """One that cannot be delivered must not block all others forever."""
    outbox = Outbox()
    outbox.put(change("create", 1, "a"))
    outbox.put(change("create", 1, "b"))
    now, dead = NOW, None
    for _ in range(3):
        pending = outbox.take(now)
        assert pending is not None
        dead = outbox.failed(pending, now, max_retries=2)
        now += timedelta(hours=1)
    assert dead is not None
    assert (dead.notification.key.name, dead.failures) == ("a", 3)
    following = outbox.take(now)
    assert following is not None
    assert following.notification.key.name == "b"


def test_a_change_during_an_attempt_is_not_lost() -> None:
    """The failed notification and the new change are merged."""
    outbox = Outbox()
    outbox.put(change("create", 1))
    pending = outbox.take(NOW)
    assert pending is not None
    outbox.put(change("update", 2))
    outbox.failed(pending, NOW, max_retries=5)
    again = outbox.take(NOW + timedelta(seconds=1))
    assert again is not None
    assert (again.notification.event, again.notification.obj["version"], again.failures) == ("create", 2, 1)


def test_the_oldest_is_given_up_if_too_many_are_pending() -> None:
    """Memory is limited; the caller gets the one that was given up."""
    outbox = Outbox(limit=2)
    given_up = [outbox.put(change("create", 1, name)) for name in "abc"]
    assert [pending.notification.key.name if pending else None for pending in given_up] == [None, None, "a"]
    assert len(outbox) == 2
