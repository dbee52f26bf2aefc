"""When backups are due, and which are kept."""

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
    """The wait ends when it is due."""
    found = due(HOURLY, last=NOON, now=NOON + MINUTE, deadline=120)
    assert (found.at, found.wait) == (None, 59 * 60)


def test_one_backup_makes_up_for_all_that_were_missed() -> None:
    """An operator that was down for a day makes one backup, not twenty-four."""
    found = due(HOURLY, last=NOON - timedelta(days=1), now=NOON + MINUTE, deadline=86400)
    assert found.at == NOON


def test_a_backup_past_its_deadline_is_skipped() -> None:
    """A backup for noon that starts in the evening is not a backup of noon."""
    assert due(HOURLY, last=NOON - 5 * MINUTE, now=NOON + 10 * MINUTE, deadline=120).at is None


@given(st.integers(0, 10_000), st.integers(0, 10_000), st.integers(0, 10_000))
def test_no_time_is_due_twice(last: int, later: int, deadline: int) -> None:
    """For all times: a completed backup is not due again, and no backup is due early."""
    before = NOON + timedelta(seconds=last)
    now = before + timedelta(seconds=later)
    found = due(HOURLY, last=before, now=now, deadline=deadline)
    if found.at is not None:
        assert before < found.at <= now
        assert (now - found.at).total_seconds() <= deadline
        assert due(HOURLY, last=found.at, now=now, deadline=deadline).at is None


def backup(hour: int, state: State) -> MgorsBackup:
    """Return a backup of an hour."""
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
def test_the_newest_successful_backups_are_kept(states: list[State], gone: list[int]) -> None:
    """A failed backup does not count, and is kept until a later one succeeds."""
    backups = [backup(hour, state) for hour, state in enumerate(states)]
    assert [int(one.name[-6:-4]) for one in expired(backups, keep=2)] == gone
