"""When a backup is due, and which are kept."""

from datetime import UTC, datetime, timedelta

from redisfailover.backups import due_at, file_name, seconds_until, surplus

NIGHT = datetime(2026, 1, 2, 3, tzinfo=UTC)
DAILY = "0 3 * * *"


def test_a_backup_is_due_at_its_time_and_not_before() -> None:
    """The time of the last backup is in the status, which survives restarts."""
    last = NIGHT - timedelta(days=1)
    assert due_at(DAILY, last, NIGHT - timedelta(seconds=1)) is None
    assert due_at(DAILY, last, NIGHT) == NIGHT
    assert seconds_until(DAILY, NIGHT - timedelta(minutes=1)) == 60


def test_one_backup_makes_up_for_all_that_were_missed() -> None:
    """An operator that was down for a week makes one backup, not seven."""
    now = NIGHT + timedelta(days=7, hours=1)
    assert due_at(DAILY, NIGHT, now) is not None
    assert due_at(DAILY, now, now + timedelta(minutes=1)) is None


def test_the_newest_backups_are_kept_and_those_of_other_objects_ignored() -> None:
    """Also those of an object whose name has the same prefix."""
    own = [file_name("default", "a", NIGHT + timedelta(days=day)) for day in range(4)]
    others = [file_name("default", "a.b", NIGHT), file_name("other", "a", NIGHT), "default.a.notes.rdb"]
    assert surplus([*others, *reversed(own)], "default", "a", keep=3) == own[:1]
    assert surplus(own, "default", "a", keep=9) == []
