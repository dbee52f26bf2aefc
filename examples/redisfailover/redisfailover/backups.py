"""When a backup is due, the name of its file, and which files to delete: pure functions of times and names."""

import re
from collections.abc import Iterable
from datetime import UTC, datetime

from steersman.objects import CronSchedule

_FORMAT = "%Y%m%dT%H%M%SZ"


def due_at(schedule: str, last: datetime, now: datetime) -> datetime | None:
    """Return the time for which a backup is due, or ``None``; one backup makes up for all that were missed."""
    due = CronSchedule.parse(schedule).next_after(last)
    return due if due is not None and due <= now else None


def seconds_until(schedule: str, now: datetime) -> float | None:
    """Return the seconds until the next backup is due; ``None`` if the schedule has no further time."""
    following = CronSchedule.parse(schedule).next_after(now)
    return None if following is None else max((following - now).total_seconds(), 1.0)


def file_name(namespace: str, name: str, due: datetime) -> str:
    """Return the file name of a backup, by the time it is for: a repetition after a crash overwrites the first file."""
    return f"{namespace}.{name}.{due.astimezone(UTC).strftime(_FORMAT)}.rdb"


def surplus(names: Iterable[str], namespace: str, name: str, keep: int) -> list[str]:
    """Return the backups of one RedisFailover to delete: all but the newest ``keep``."""
    pattern = re.compile(rf"{re.escape(f'{namespace}.{name}')}\.\d{{8}}T\d{{6}}Z\.rdb")
    return sorted(one for one in names if pattern.fullmatch(one))[:-keep]
