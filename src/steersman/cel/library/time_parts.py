"""Parts of timestamps and durations: ``getFullYear()``, ``getHours('Europe/Paris')``."""

from collections.abc import Callable
from datetime import datetime
from typing import Any

from steersman.cel.checking.overloads import Overload, member
from steersman.cel.types import DURATION, INT, STRING, TIMESTAMP
from steersman.cel.values.times import SECOND, local_time
from steersman.cel.values.values import Timestamp

_MILLISECOND = 1_000_000
_DAYS = 7

#: What each function takes from the wall clock; milliseconds come from the timestamp itself.
_PARTS: dict[str, Callable[[datetime], int]] = {
    "getFullYear": lambda moment: moment.year,
    "getMonth": lambda moment: moment.month - 1,
    "getDayOfYear": lambda moment: moment.timetuple().tm_yday - 1,
    "getDayOfMonth": lambda moment: moment.day - 1,
    "getDate": lambda moment: moment.day,
    "getDayOfWeek": lambda moment: (moment.weekday() + 1) % _DAYS,
    "getHours": lambda moment: moment.hour,
    "getMinutes": lambda moment: moment.minute,
    "getSeconds": lambda moment: moment.second,
}
#: What each function takes from a duration, rounded towards zero.
_SPANS = {
    "getHours": 3600 * SECOND,
    "getMinutes": 60 * SECOND,
    "getSeconds": SECOND,
    "getMilliseconds": _MILLISECOND,
}


def _milliseconds(timestamp: Timestamp, _zone: str = "UTC") -> int:
    return timestamp.nanos % SECOND // _MILLISECOND


def _part(take: Callable[[datetime], int]) -> Callable[..., int]:
    return lambda timestamp, zone="UTC": take(local_time(timestamp, zone))


def _whole(unit: int) -> Callable[[Any], int]:
    return lambda span: abs(span.nanos) // unit * (-1 if span.nanos < 0 else 1)


def _overloads() -> list[Overload]:
    found: list[Overload] = []
    for name, run in [*((name, _part(take)) for name, take in _PARTS.items()), ("getMilliseconds", _milliseconds)]:
        found.append(member(name, f"timestamp_{name}", (TIMESTAMP,), INT, run))
        found.append(member(name, f"timestamp_{name}_with_tz", (TIMESTAMP, STRING), INT, run))
    for name, unit in _SPANS.items():
        found.append(member(name, f"duration_{name}", (DURATION,), INT, _whole(unit)))
    return found


OVERLOADS = _overloads()
