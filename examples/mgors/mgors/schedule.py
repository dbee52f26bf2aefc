"""When a backup is due, and which ones are not kept any longer. Pure."""

from dataclasses import dataclass
from datetime import datetime, timedelta

from steersman.objects import CronSchedule

from mgors.api.mgors_backup_v1 import MgorsBackup


@dataclass(frozen=True, slots=True)
class Due:
    """What the schedule says now."""

    #: The time of the backup to be made now, if any.
    at: datetime | None
    #: Seconds until the next one; ``None`` if there is none.
    wait: float | None


def due(schedule: CronSchedule, *, last: datetime, now: datetime, deadline: float) -> Due:
    """Give the latest time that has come since the last one, unless it is too late for it.

    However many were missed, one is made: it is as good as all of them.
    """
    latest: datetime | None = None
    at = schedule.next_after(max(last, now - timedelta(seconds=deadline)))
    while at is not None and at <= now:
        latest, at = at, schedule.next_after(at)
    return Due(latest, (at - now).total_seconds() if at is not None else None)


def backup_name(cluster: str, at: datetime) -> str:
    """Give a name that follows from the time, so that no time has two."""
    return f"{cluster}-{at:%Y%m%d-%H%M%S}"


def outlived(backups: list[MgorsBackup], keep: int) -> list[MgorsBackup]:
    """Give the scheduled backups that are not kept: the oldest that succeeded, and failures older than a success."""
    done = sorted((one for one in backups if one.status.state == "ready"), key=lambda one: one.name, reverse=True)
    gone = done[keep:]
    if done:
        gone += [one for one in backups if one.status.state == "error" and one.name < done[0].name]
    return [one for one in gone if not one.is_deleting]
