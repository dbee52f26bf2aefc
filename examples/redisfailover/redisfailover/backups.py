"""When a backup is due, how its file is called, and which files are too many. Rules on times and names."""

import re
from collections.abc import Iterable
from datetime import UTC, datetime

from steersman.objects import CronSchedule

_FORMAT = "%Y%m%dT%H%M%SZ"


def due_at(schedule: str, last: datetime, now: datetime) -> datetime | None:
    """Give the time for which a backup is due; however many were missed, one makes up for them."""
    due = CronSchedule.parse(schedule).next_after(last)
    return due if due is not None and due <= now else None


def seconds_until(schedule: str, now: datetime) -> float | None:
    """Give the seconds until the next one is due; ``None``: never."""
    following = CronSchedule.parse(schedule).next_after(now)
    return None if following is None else max((following - now).total_seconds(), 1.0)


def file_name(namespace: str, name: str, due: datetime) -> str:
    """Name a backup by what it is for: one that is made twice, because of a crash, is there once."""
    return f"{namespace}.{name}.{due.astimezone(UTC).strftime(_FORMAT)}.rdb"


def surplus(names: Iterable[str], namespace: str, name: str, keep: int) -> list[str]:
    """Give the files that are not kept any more: all of one RedisFailover but the newest."""
    pattern = re.compile(rf"{re.escape(f'{namespace}.{name}')}\.\d{{8}}T\d{{6}}Z\.rdb")
    return sorted(one for one in names if pattern.fullmatch(one))[:-keep]
