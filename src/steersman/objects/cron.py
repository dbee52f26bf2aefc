"""Cron schedules: when something is due, as CronJobs write it (``*/5 * * * *``, ``@daily``, ``@every 90s``).

The language and the texts of its errors are those of the library that Kubernetes uses. A schedule is due at every
minute whose reading on the wall clock of its time zone matches all fields. So a time that is skipped when clocks go
forward does not occur that day, and one that is repeated when they go back occurs twice.
"""

import json
import re
import zoneinfo
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta, tzinfo
from typing import NamedTuple, Self

from steersman.objects.times import Duration

#: Years after which a schedule that has not come due is believed to be never due, such as one of a 30th of February.
_HORIZON_YEARS = 5
_MINUTES, _HOURS = 60, 24
_DECEMBER = 12


class ScheduleError(ValueError):
    """A schedule that cannot be read, in the words of the library that Kubernetes uses."""


class _Bounds(NamedTuple):
    low: int
    high: int
    names: dict[str, int]


_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_DAYS = ("sun", "mon", "tue", "wed", "thu", "fri", "sat")
_FIELDS = (
    _Bounds(0, 59, {}),
    _Bounds(0, 23, {}),
    _Bounds(1, 31, {}),
    _Bounds(1, 12, {name: number for number, name in enumerate(_MONTHS, 1)}),
    _Bounds(0, 6, {name: number for number, name in enumerate(_DAYS)}),
)
_DESCRIPTORS = {
    "@yearly": "0 0 1 1 *",
    "@annually": "0 0 1 1 *",
    "@monthly": "0 0 1 * *",
    "@weekly": "0 0 * * 0",
    "@daily": "0 0 * * *",
    "@midnight": "0 0 * * *",
    "@hourly": "0 * * * *",
}
_EVERY = "@every "
_ZONES = ("TZ=", "CRON_TZ=")


class _Field(NamedTuple):
    """The numbers that one field allows."""

    numbers: frozenset[int]
    #: Whether it is ``*`` or ``?``: a day is then decided by the other of its two fields.
    is_star: bool


@dataclass(frozen=True, slots=True)
class CronSchedule:
    """When something is due: ``CronSchedule.parse("0 3 * * *", zone=zone_named("Europe/Berlin"))``."""

    zone: tzinfo
    #: Minute, hour, day of the month, month, day of the week; none of them when only ``every`` counts.
    fields: tuple[_Field, ...] = ()
    every: timedelta = timedelta(0)

    @classmethod
    def parse(cls, text: str, *, zone: tzinfo = UTC) -> Self:
        """Parse a schedule; one that names a zone itself (``CRON_TZ=Asia/Tokyo 0 5 * * *``) keeps that one."""
        if not text:
            raise ScheduleError("empty spec string")
        rest = text
        if text.startswith(_ZONES):
            named, _, rest = text.partition(" ")
            zone = zone_named(named.partition("=")[2])
            rest = rest.strip()
        if rest.startswith(_EVERY):
            return cls(zone, every=_interval(rest))
        if rest.startswith("@"):
            try:
                rest = _DESCRIPTORS[rest]
            except KeyError:
                raise ScheduleError(f"unrecognized descriptor: {rest}") from None
        fields = rest.split()
        if len(fields) != len(_FIELDS):
            shown = " ".join(fields)
            raise ScheduleError(f"expected exactly {len(_FIELDS)} fields, found {len(fields)}: [{shown}]")
        return cls(zone, tuple(_field(field, bounds) for field, bounds in zip(fields, _FIELDS, strict=True)))

    def next_after(self, moment: datetime) -> datetime | None:
        """Return the first time after a moment at which it is due, in UTC; ``None`` if it never is."""
        if not self.fields:
            return (moment.astimezone(UTC) + self.every).replace(microsecond=0)
        start = moment.astimezone(UTC).replace(second=0, microsecond=0) + timedelta(minutes=1)
        latest = start.year + _HORIZON_YEARS
        at: datetime | None = start
        while at is not None and at.year <= latest:
            step = self._step(at.astimezone(self.zone))
            if step is None:
                return at
            at = step.astimezone(UTC)
        return None

    def between(self, after: datetime, until: datetime) -> Iterator[datetime]:
        """Yield the times at which it is due, later than ``after`` and no later than ``until``."""
        due = self.next_after(after)
        while due is not None and due <= until:
            yield due
            due = self.next_after(due)

    def _step(self, local: datetime) -> datetime | None:
        """Return the next candidate after a time that does not match; ``None`` if the time matches."""
        minute, hour, _, month, _ = self.fields
        if local.month not in month.numbers:
            year, following = (local.year + 1, 1) if local.month == _DECEMBER else (local.year, local.month + 1)
            return local.replace(year=year, month=following, day=1, hour=0, minute=0, fold=0)
        if not self._is_day(local):
            return (local + timedelta(days=1)).replace(hour=0, minute=0, fold=0)
        # Hours and minutes are counted in real time: on the wall clock some are skipped and others repeated.
        if local.hour not in hour.numbers:
            return local.astimezone(UTC) + timedelta(minutes=_MINUTES - local.minute)
        if local.minute not in minute.numbers:
            following = min((number for number in minute.numbers if number > local.minute), default=_MINUTES)
            return local.astimezone(UTC) + timedelta(minutes=following - local.minute)
        return None

    def _is_day(self, local: datetime) -> bool:
        """Return whether a day matches: either of its two fields will do, unless one allows every day."""
        _, _, day, _, weekday = self.fields
        of_month = local.day in day.numbers
        of_week = local.isoweekday() % 7 in weekday.numbers
        return (of_month and of_week) if day.is_star or weekday.is_star else (of_month or of_week)


def zone_named(name: str) -> tzinfo:
    """Return a time zone by its name in the IANA list; ``ScheduleError`` when there is none of that name."""
    if name in ("", "UTC"):
        return UTC
    try:
        return zoneinfo.ZoneInfo(name)
    except (zoneinfo.ZoneInfoNotFoundError, ValueError, OSError):
        raise ScheduleError(f"provided bad location {name}: unknown time zone {name}") from None


def _interval(text: str) -> timedelta:
    duration = text.removeprefix(_EVERY)
    try:
        span = Duration.parse(duration)
    except ValueError:
        why = f"time: invalid duration {json.dumps(duration, ensure_ascii=False)}"
        raise ScheduleError(f"failed to parse duration {text}: {why}") from None
    return timedelta(seconds=max(int(span.total_seconds()), 1))


def _field(text: str, bounds: _Bounds) -> _Field:
    numbers: set[int] = set()
    is_star = False
    for part in text.split(","):
        if part:
            found, star = _range(part, bounds)
            numbers.update(found)
            is_star = is_star or star
    return _Field(frozenset(numbers), is_star)


def _range(text: str, bounds: _Bounds) -> tuple[range, bool]:
    """Return the numbers of ``*``, ``5``, ``1-5``, ``*/2``, ``10/15`` or ``1-20/3``, and whether it is a wildcard."""
    span, slash, step_text = text.partition("/")
    low_text, dash, high_text = span.partition("-")
    if "/" in step_text:
        raise ScheduleError(f"too many slashes: {text}")
    is_star = low_text in ("*", "?")
    if is_star:
        low, high = bounds.low, bounds.high
    else:
        low = _number(low_text, bounds.names)
        if dash and "-" in high_text:
            raise ScheduleError(f"too many hyphens: {text}")
        high = _number(high_text, bounds.names) if dash else bounds.high if slash else low
    step = _number(step_text, {}) if slash else 1
    _check_bounds(text, low, high, bounds)
    if step == 0:
        raise ScheduleError(f"step of range should be a positive number: {text}")
    return range(low, high + 1, step), is_star and step == 1


def _check_bounds(text: str, low: int, high: int, bounds: _Bounds) -> None:
    if low < bounds.low:
        raise ScheduleError(f"beginning of range ({low}) below minimum ({bounds.low}): {text}")
    if high > bounds.high:
        raise ScheduleError(f"end of range ({high}) above maximum ({bounds.high}): {text}")
    if low > high:
        raise ScheduleError(f"beginning of range ({low}) beyond end of range ({high}): {text}")


def _number(text: str, names: dict[str, int]) -> int:
    known = names.get(text.lower())
    if known is not None:
        return known
    if not re.fullmatch(r"[+-]?[0-9]{1,18}", text):
        shown = json.dumps(text, ensure_ascii=False)
        raise ScheduleError(f"failed to parse int from {text}: strconv.Atoi: parsing {shown}: invalid syntax")
    number = int(text)
    if number < 0:
        raise ScheduleError(f"negative number ({number}) not allowed: {text}")
    return number
