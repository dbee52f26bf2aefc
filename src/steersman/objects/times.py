"""Times and durations as Kubernetes writes them.

``metav1.Time`` is a plain ``datetime`` (seconds); ``MicroTime`` always has six decimals; ``Duration`` reads and prints
Go's notation (``1h30m``), which is what ``metav1.Duration`` and ``format: duration`` mean.
"""

import re
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Self

#: In nanoseconds.
_UNITS = {
    "ns": 1,
    "us": 1_000,
    "µs": 1_000,
    "μs": 1_000,
    "ms": 1_000_000,
    "s": 1_000_000_000,
    "m": 60_000_000_000,
    "h": 3_600_000_000_000,
}
#: In microseconds.
_MILLI, _SECOND = 1_000, 1_000_000
_PART = re.compile(r"([0-9]{1,30}(?:\.[0-9]{0,30})?|\.[0-9]{1,30})(ns|us|µs|μs|ms|s|m|h)")
_RFC_3339 = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9:]{8}(?:\.[0-9]+)?(?:Z|[+-][0-9]{2}:[0-9]{2})")


def parse_time(text: str) -> datetime:
    """Read an RFC 3339 time with any number of decimals; the result is in UTC."""
    try:
        # Python reads far more forms than RFC 3339 has.
        if _RFC_3339.fullmatch(text):
            return datetime.fromisoformat(text).astimezone(UTC)
    except (ValueError, OverflowError):
        pass
    raise ValueError(f"not an RFC 3339 time: {text!r} (write 2006-01-02T15:04:05Z)")


def format_time(moment: datetime) -> str:
    """Print a time as ``metav1.Time`` does: UTC, whole seconds."""
    return f"{_utc(moment).isoformat(timespec='seconds')}Z"


def _utc(moment: datetime) -> datetime:
    """Return the time in UTC, without its zone; reject a time without a zone, which is ambiguous."""
    if moment.tzinfo is None:
        raise ValueError(f"a time without a zone: {moment.isoformat()} (pass tzinfo=UTC)")
    return moment.astimezone(UTC).replace(tzinfo=None)


class MicroTime(datetime):
    """A time that is sent with exactly six decimals, as Leases and Events demand."""

    @classmethod
    def of(cls, moment: datetime) -> Self:
        """Return a time in UTC."""
        utc = _utc(moment)
        return cls(utc.year, utc.month, utc.day, utc.hour, utc.minute, utc.second, utc.microsecond, tzinfo=UTC)

    @classmethod
    def parse(cls, text: str) -> Self:
        """Read an RFC 3339 time."""
        return cls.of(parse_time(text))

    def __str__(self) -> str:
        return f"{_utc(self).isoformat(timespec='microseconds')}Z"


class Duration(timedelta):
    """A ``timedelta`` that is written as Go writes durations."""

    @classmethod
    def of(cls, span: timedelta) -> Self:
        """Return a ``timedelta`` as a duration."""
        return cls(days=span.days, seconds=span.seconds, microseconds=span.microseconds)

    @classmethod
    def parse(cls, text: str) -> Self:
        """Read ``1h30m``, ``-1.5s``, ``0``."""
        sign = -1 if text.startswith("-") else 1
        rest = text[1:] if text[:1] in {"-", "+"} else text
        if rest == "0":
            return cls()
        position, nanos = 0, Decimal(0)
        for part in _PART.finditer(rest):
            if part.start() != position:
                break
            nanos += Decimal(part[1]) * _UNITS[part[2]]
            position = part.end()
        if not rest or position != len(rest):
            raise ValueError(f"not a duration: {text!r} (write for example '1h30m' or '90s')")
        try:
            return cls(microseconds=sign * round(nanos / 1000))
        except (OverflowError, ArithmeticError):
            raise ValueError(f"not a duration: {text!r} is too long") from None

    def __str__(self) -> str:
        micros = (self.days * 86_400 + self.seconds) * 1_000_000 + self.microseconds
        sign, micros = ("-", -micros) if micros < 0 else ("", micros)
        if micros == 0:
            return "0s"
        if micros < _MILLI:
            return f"{sign}{micros}µs"
        if micros < _SECOND:
            return f"{sign}{_decimal(micros, _MILLI)}ms"
        minutes, micros = divmod(micros, 60 * _SECOND)
        hours, minutes = divmod(minutes, 60)
        text = f"{hours}h{minutes}m" if hours else f"{minutes}m" if minutes else ""
        return f"{sign}{text}{_decimal(micros, _SECOND)}s"


def _decimal(value: int, unit: int) -> str:
    """Print value/unit exactly, without trailing zeros."""
    whole, rest = divmod(value, unit)
    if not rest:
        return str(whole)
    digits = len(str(unit)) - 1
    return f"{whole}.{rest:0{digits}d}".rstrip("0")
