"""Decide when a backup is due, and which ones to delete: pure functions."""

from dataclasses import dataclass
from datetime import datetime, timedelta

from steersman.objects import CronSchedule

from mgors.api.mgors_backup_v1 import MgorsBackup


@dataclass(frozen=True, slots=True)
class Due:
    """Whether a backup is due now, and when the next one is."""

    #: Time of the backup to make now, if any.
    at: datetime | None
    #: Seconds until the next one; ``None`` if there is none.
    wait: float | None


def due(schedule: CronSchedule, *, last: datetime, now: datetime, deadline: float) -> Due:
    """Return the latest due time since the last backup, unless its deadline has passed.

    One backup makes up for all that were missed.
    """
    latest: datetime | None = None
    at = schedule.next_after(max(last, now - timedelta(seconds=deadline)))
    while at is not None and at <= now:
        latest, at = at, schedule.next_after(at)
    return Due(latest, (at - now).total_seconds() if at is not None else None)


def backup_name(cluster: str, at: datetime) -> str:
    """Return the name of a backup, derived from its time so that there is only one for each time."""
    return f"{cluster}-{at:%Y%m%d-%H%M%S}"


def expired(backups: list[MgorsBackup], keep: int) -> list[MgorsBackup]:
    """Return the backups to delete: the oldest successful ones, and failed ones older than a successful one."""
    done = sorted((one for one in backups if one.status.state == "ready"), key=lambda one: one.name, reverse=True)
    gone = done[keep:]
    if done:
        gone += [one for one in backups if one.status.state == "error" and one.name < done[0].name]
    return [one for one in gone if not one.is_deleting]
