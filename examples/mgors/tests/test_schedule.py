"""When backups are made, and which are kept."""

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st
from steersman import meta
from steersman.objects import CronSchedule

from mgors.api.mgors_backup_v1 import MgorsBackup, MgorsBackupSpec, MgorsBackupStatus, State
from mgors.schedule import backup_name, due, expired

HOURLY = CronSchedule.parse("0 * * * *")
NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)
MINUTE = timedelta(minutes=1)


def test_nothing_is_due_before_its_time() -> None:
    """And the wait ends when it is."""
    found = due(HOURLY, last=NOON, now=NOON + MINUTE, deadline=120)
    assert (found.at, found.wait) == (None, 59 * 60)


def test_what_was_missed_is_made_once() -> None:
    """An operator that was away for a day makes one backup, not twenty-four."""
    found = due(HOURLY, last=NOON - timedelta(days=1), now=NOON + MINUTE, deadline=86400)
    assert found.at == NOON


def test_what_is_too_late_is_left_out() -> None:
    """A backup of noon that begins in the evening is none of noon."""
    assert due(HOURLY, last=NOON - 5 * MINUTE, now=NOON + 10 * MINUTE, deadline=120).at is None


@given(st.integers(0, 10_000), st.integers(0, 10_000), st.integers(0, 10_000))
def test_no_time_is_due_twice(last: int, later: int, deadline: int) -> None:
    """Whatever the times: what was made is not due again, and what is due has come."""
    before = NOON + timedelta(seconds=last)
    now = before + timedelta(seconds=later)
    found = due(HOURLY, last=before, now=now, deadline=deadline)
    if found.at is not None:
        assert before < found.at <= now
        assert (now - found.at).total_seconds() <= deadline
        assert due(HOURLY, last=found.at, now=now, deadline=deadline).at is None


def backup(hour: int, state: State) -> MgorsBackup:
    """Give a backup of that hour."""
    name = backup_name("shop", NOON.replace(hour=hour))
    return MgorsBackup(meta(name), MgorsBackupSpec(cluster_name="shop"), MgorsBackupStatus(state=state))


@pytest.mark.parametrize(
    ("states", "gone"),
    [
        (["ready", "ready", "ready"], [0]),
        (["ready", "error", "ready"], [1]),
        (["error", "error"], []),
        (["ready", "ready", "running"], []),
        (["ready", "ready", "error"], []),
    ],
)
def test_the_newest_that_succeeded_are_kept(states: list[State], gone: list[int]) -> None:
    """A failure takes nobody's place, and is kept until a success makes it old."""
    backups = [backup(hour, state) for hour, state in enumerate(states)]
    assert [int(one.name[-6:-4]) for one in expired(backups, keep=2)] == gone
