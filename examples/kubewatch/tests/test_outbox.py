"""What waits for a handler: the rules, without a cluster."""

from datetime import UTC, datetime, timedelta

import pytest
from steersman import ObjectKey

from kubewatch.api.watcher_v1 import Event
from kubewatch.notification import Notification
from kubewatch.outbox import Outbox

NOW = datetime(2030, 1, 1, tzinfo=UTC)


def change(event: Event, version: int = 1, name: str = "a") -> Notification:
    """Give a change of an object."""
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
    ("first", "second", "told"),
    [
        ("create", "update", ("create", 2, None)),
        ("create", "delete", ("delete", 2, None)),
        ("update", "update", ("update", 2, 0)),
        ("update", "delete", ("delete", 2, None)),
        ("delete", "create", ("update", 2, 1)),
    ],
)
def test_changes_that_nobody_was_told_of_become_one(
    first: Event, second: Event, told: tuple[str, int, int | None]
) -> None:
    """A handler that was away hears where things stand, not how often they changed."""
    outbox = Outbox()
    outbox.put(change(first, 1))
    outbox.put(change(second, 2))
    letter = outbox.take(NOW)
    assert letter is not None
    notification = letter.notification
    old = notification.old["version"] if notification.old else None
    assert (notification.event, notification.obj["version"], old) == told
    assert outbox.take(NOW) is None


def test_the_oldest_goes_first() -> None:
    """Nobody waits for ever because others change more often."""
    outbox = Outbox()
    for name in ("a", "b"):
        outbox.put(change("create", 1, name))
    outbox.put(change("update", 2, "a"))
    letters = [outbox.take(NOW), outbox.take(NOW)]
    assert [letter.notification.key.name for letter in letters if letter] == ["a", "b"]


def test_a_handler_that_failed_rests_longer_each_time() -> None:
    """It is tried with growing pauses, and for one letter only."""
    outbox = Outbox()
    outbox.put(change("create", 1, "a"))
    outbox.put(change("create", 1, "b"))
    now, pauses = NOW, []
    for _ in range(4):
        letter = outbox.take(now)
        assert letter is not None
        assert letter.notification.key.name == "a"
        assert outbox.failed(letter, now, max_retries=5) is None
        pauses.append(outbox.pause(now))
        assert outbox.take(now) is None
        now += timedelta(seconds=outbox.pause(now))
    assert pauses == [1, 2, 4, 8]


def test_a_letter_dies_after_its_retries_and_the_next_is_tried() -> None:
    """One that cannot be delivered must not stand before all others for ever."""
    outbox = Outbox()
    outbox.put(change("create", 1, "a"))
    outbox.put(change("create", 1, "b"))
    now, dead = NOW, None
    for _ in range(3):
        letter = outbox.take(now)
        assert letter is not None
        dead = outbox.failed(letter, now, max_retries=2)
        now += timedelta(hours=1)
    assert dead is not None
    assert (dead.notification.key.name, dead.failures) == ("a", 3)
    following = outbox.take(now)
    assert following is not None
    assert following.notification.key.name == "b"


def test_a_change_during_an_attempt_is_not_lost() -> None:
    """The letter that comes back and the change that came meanwhile are one again."""
    outbox = Outbox()
    outbox.put(change("create", 1))
    letter = outbox.take(NOW)
    assert letter is not None
    outbox.put(change("update", 2))
    outbox.failed(letter, NOW, max_retries=5)
    again = outbox.take(NOW + timedelta(seconds=1))
    assert again is not None
    assert (again.notification.event, again.notification.obj["version"], again.failures) == ("create", 2, 1)


def test_a_handler_that_falls_far_behind_loses_the_oldest() -> None:
    """Memory has an end; what had to make room is named."""
    outbox = Outbox(limit=2)
    given_up = [outbox.put(change("create", 1, name)) for name in "abc"]
    assert [letter.notification.key.name if letter else None for letter in given_up] == [None, None, "a"]
    assert len(outbox) == 2
