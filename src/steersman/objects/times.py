"""Times and durations as Kubernetes writes them.

``metav1.Time`` is a plain ``datetime`` (seconds); ``MicroTime`` always has six decimals; ``Duration`` reads and prints
Go's notation (``1h30m``), which is what ``metav1.Duration`` and ``format: duration`` mean.
"""

import re
from datetime import UTC, datetime, timedelta
from typing import Self

_UNITS = {
    "ns": 1e-3,
    "us": 1.0,
    "µs": 1.0,
    "μs": 1.0,
    "ms": 1e3,
    "s": 1e6,
    "m": 60e6,
    "h": 3600e6,
}
#: In microseconds.
_MILLI, _SECOND = 1_000, 1_000_000
_PART = re.compile(r"(\d+(?:\.\d*)?|\.\d+)(ns|us|µs|μs|ms|s|m|h)")


def parse_time(text: str) -> datetime:
    """Read an RFC 3339 time with any number of decimals; the result is in UTC."""
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        raise ValueError(f"not an RFC 3339 time: {text!r}") from None
    if moment.tzinfo is None or "T" not in text.upper():
        raise ValueError(f"not an RFC 3339 time: {text!r} (write 2006-01-02T15:04:05Z)")
    return moment.astimezone(UTC)


def format_time(moment: datetime) -> str:
    """Print a time as ``metav1.Time`` does: UTC, whole seconds."""
    return moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


class MicroTime(datetime):
    """A time that is sent with exactly six decimals, as Leases and Events demand."""

    @classmethod
    def of(cls, moment: datetime) -> Self:
        """Take over a time, in UTC."""
        utc = moment.astimezone(UTC)
        return cls(
            utc.year, utc.month, utc.day, utc.hour, utc.minute, utc.second, utc.microsecond, tzinfo=UTC, fold=utc.fold
        )

    @classmethod
    def parse(cls, text: str) -> Self:
        """Read an RFC 3339 time."""
        return cls.of(parse_time(text))

    def __str__(self) -> str:
        return self.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")


class Duration(timedelta):
    """A ``timedelta`` that is written as Go writes durations."""

    @classmethod
    def of(cls, span: timedelta) -> Self:
        """Take over a ``timedelta``."""
        return cls(days=span.days, seconds=span.seconds, microseconds=span.microseconds)

    @classmethod
    def parse(cls, text: str) -> Self:
        """Read ``1h30m``, ``-1.5s``, ``0``."""
        sign = -1 if text.startswith("-") else 1
        rest = text[1:] if text[:1] in {"-", "+"} else text
        if rest == "0":
            return cls()
        position, micros = 0, 0.0
        for part in _PART.finditer(rest):
            if part.start() != position:
                break
            micros += float(part[1]) * _UNITS[part[2]]
            position = part.end()
        if not rest or position != len(rest):
            raise ValueError(f"not a duration: {text!r} (write for example '1h30m' or '90s')")
        return cls(microseconds=sign * round(micros))

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
