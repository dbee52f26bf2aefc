"""Timestamps and durations: reading, writing and their parts."""

import re
from datetime import UTC, date, datetime, timedelta, timezone, tzinfo
from fractions import Fraction
from zoneinfo import ZoneInfo

from steersman.cel.errors import EvaluationError
from steersman.cel.values.values import INT_MAX, INT_MIN, Duration, Timestamp

SECOND = 1_000_000_000
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
#: The beginning of the year 1, which is the zero of timestamps.
FIRST_MOMENT = -62_135_596_800 * SECOND
_LAST = 253_402_300_800 * SECOND - 1

_UNITS = {
    "ns": 1,
    "us": 1_000,
    "µs": 1_000,
    "μs": 1_000,
    "ms": 1_000_000,
    "s": SECOND,
    "m": 60 * SECOND,
    "h": 3600 * SECOND,
}
_DURATION = re.compile(r"([0-9]*)(?:(\.)([0-9]*))?(ns|us|µs|μs|ms|s|m|h)")
_LOOSE_DURATION = re.compile(r"([0-9]+)\s*([A-Za-zµ]+)")
#: Spelled-out units: the last of each may be the beginning of a longer word.
_LOOSE_UNITS: tuple[tuple[tuple[str, ...], int], ...] = (
    (("ns", "nano"), 1),
    (("us", "µs", "micro"), 1_000),
    (("ms", "milli"), 1_000_000),
    (("s", "sec"), SECOND),
    (("m", "min"), 60 * SECOND),
    (("h", "hr", "hour"), 3600 * SECOND),
    (("d", "day"), 86_400 * SECOND),
    (("w", "wk", "week"), 604_800 * SECOND),
)
_TIMESTAMP = re.compile(r"(\d{4})-(\d\d)-(\d\d)[Tt](\d\d):(\d\d):(\d\d)(?:[.,](\d+))?([Zz]|[+-]\d\d:\d\d)", re.ASCII)
_NANO_DIGITS = 9


def parse_duration(text: str) -> Duration | None:
    """Parse ``1h30m`` as Go does; ``None`` if it is not a duration or too long."""
    rest, sign = text, 1
    if rest[:1] in ("+", "-"):
        sign, rest = (-1 if rest[0] == "-" else 1), rest[1:]
    if rest == "0":
        return Duration(0)
    total = Fraction(0)
    place = 0
    while place < len(rest):
        match = _DURATION.match(rest, place)
        if match is None or not (match[1] or match[3]):
            return None
        total += Fraction(f"{match[1] or 0}.{match[3] or 0}") * _UNITS[match[4]]
        place = match.end()
    nanos = sign * int(total)
    return Duration(nanos) if rest and INT_MIN <= nanos <= INT_MAX else None


def parse_loose_duration(text: str) -> Duration | None:
    """Read a duration as the OpenAPI format ``duration`` does: also ``2d`` and ``1 day``."""
    strict = parse_duration(text)
    if strict is not None:
        return strict
    total, found = 0, False
    for amount, unit in _LOOSE_DURATION.findall(text):
        for names, nanos in _LOOSE_UNITS:
            if unit.lower() in names or unit.lower().startswith(names[-1]):
                total += int(amount) * nanos
                found = True
    return Duration(total) if found else None


def duration_text(duration: Duration) -> str:
    """Write a duration in seconds: ``5400s``, ``0.5s``."""
    sign = "-" if duration.nanos < 0 else ""
    seconds, nanos = divmod(abs(duration.nanos), SECOND)
    fraction = f".{nanos:09d}".rstrip("0") if nanos else ""
    return f"{sign}{seconds}{fraction}s"


def parse_timestamp(text: str) -> Timestamp | None:
    """Read RFC 3339; ``None`` when it is not, or outside of the years 1 to 9999."""
    match = _TIMESTAMP.fullmatch(text)
    if match is None:
        return None
    year, month, day, hour, minute, second = (int(match[part]) for part in range(1, 7))
    try:
        moment = datetime(year, month, day, hour, minute, second, tzinfo=UTC)
    except ValueError:
        return None
    nanos = int((moment - _EPOCH) / timedelta(seconds=1)) * SECOND
    nanos += int((match[7] or "0")[:_NANO_DIGITS].ljust(_NANO_DIGITS, "0"))
    offset = _offset_seconds(match[8])
    if offset is None:
        return None
    nanos -= offset * SECOND
    return Timestamp(nanos, offset) if FIRST_MOMENT <= nanos <= _LAST else None


_HOURS = 24
_MINUTES = 60


def _offset_seconds(text: str) -> int | None:
    if text in "Zz":
        return 0
    hours, minutes = int(text[1:3]), int(text[4:])
    if hours > _HOURS or minutes > _MINUTES:
        return None
    seconds = hours * 3600 + minutes * 60
    return -seconds if text[0] == "-" else seconds


def parse_date(text: str) -> Timestamp | None:
    """Read ``2006-01-02`` as midnight in UTC."""
    match = re.fullmatch(r"(\d{4})-(\d\d)-(\d\d)", text, re.ASCII)
    if match is None:
        return None
    try:
        days = date(int(match[1]), int(match[2]), int(match[3])).toordinal() - _EPOCH.toordinal()
    except ValueError:
        return None
    return Timestamp(days * 86_400 * SECOND)


def timestamp_text(timestamp: Timestamp) -> str:
    """Write RFC 3339 with as many decimals as needed."""
    seconds, nanos = divmod(timestamp.nanos, SECOND)
    moment = _EPOCH + timedelta(seconds=seconds + timestamp.offset)
    fraction = f".{nanos:09d}".rstrip("0") if nanos else ""
    return f"{moment.year:04d}-{moment.strftime('%m-%dT%H:%M:%S')}{fraction}{_offset_text(timestamp.offset)}"


def _offset_text(offset: int) -> str:
    if not offset:
        return "Z"
    minutes = abs(offset) // 60
    return f"{'-' if offset < 0 else '+'}{minutes // 60:02d}:{minutes % 60:02d}"


def check_timestamp(nanos: int, offset: int = 0) -> Timestamp:
    """Return a timestamp; raises unless it is in the years 1 to 9999."""
    if FIRST_MOMENT <= nanos <= _LAST:
        return Timestamp(nanos, offset)
    raise EvaluationError("timestamp overflow")


def check_duration(nanos: int) -> Duration:
    """Return a duration; raises unless it fits into 64 bits of nanoseconds."""
    if INT_MIN <= nanos <= INT_MAX:
        return Duration(nanos)
    raise EvaluationError("integer overflow")


def local_time(timestamp: Timestamp, zone: str = "UTC") -> datetime:
    """Return the local time in a zone: a name such as ``Europe/Paris`` or an offset such as ``+02:00``."""
    try:
        return (_EPOCH + timedelta(seconds=timestamp.nanos // SECOND)).astimezone(_zone(zone))
    except OverflowError:
        raise EvaluationError("timestamp overflow") from None


def _zone(name: str) -> tzinfo:
    if name in ("", "UTC"):
        return UTC
    match = re.fullmatch(r"([+-]?)(\d?\d):(\d\d)", name, re.ASCII)
    if match is not None:
        minutes = int(match[2]) * 60 + int(match[3])
        return timezone(timedelta(minutes=-minutes if match[1] == "-" else minutes))
    if ":" in name:
        raise EvaluationError(f'strconv.Atoi: parsing "{name.partition(":")[0]}": invalid syntax')
    try:
        return ZoneInfo(name)
    except (ValueError, OSError, KeyError):
        raise EvaluationError(f"unknown time zone {name}") from None
