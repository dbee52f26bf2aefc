"""When a CronJob runs: five fields, or a name for them. Only whether a schedule can be read is decided here."""

import re
from typing import NamedTuple

from steersman.schema.go_text import quoted


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
_DESCRIPTORS = frozenset({"@yearly", "@annually", "@monthly", "@weekly", "@daily", "@midnight", "@hourly"})
_DURATION = re.compile(r"[-+]?(\d+(\.\d*)?|\.\d+)(ns|us|µs|μs|ms|s|m|h)((\d+(\.\d*)?|\.\d+)(ns|us|µs|μs|ms|s|m|h))*")
_EVERY = "@every "


def check_schedule(text: str) -> None:
    """Raise `ScheduleError` when a schedule cannot be read."""
    if not text:
        raise ScheduleError("empty spec string")
    rest = text
    if text.startswith(("TZ=", "CRON_TZ=")):
        _, _, rest = text.partition(" ")
        rest = rest.strip()
    if rest.startswith("@"):
        _check_descriptor(rest)
        return
    fields = rest.split()
    if len(fields) != len(_FIELDS):
        shown = " ".join(fields)
        raise ScheduleError(f"expected exactly {len(_FIELDS)} fields, found {len(fields)}: [{shown}]")
    for field, bounds in zip(fields, _FIELDS, strict=True):
        for part in field.split(","):
            if part:
                _check_range(part, bounds)


def _check_descriptor(text: str) -> None:
    if text in _DESCRIPTORS:
        return
    if not text.startswith(_EVERY):
        raise ScheduleError(f"unrecognized descriptor: {text}")
    duration = text.removeprefix(_EVERY)
    if not _DURATION.fullmatch(duration):
        why = f"time: invalid duration {quoted(duration)}"
        raise ScheduleError(f"failed to parse duration {text}: {why}")


def _check_range(text: str, bounds: _Bounds) -> None:
    span, slash, step_text = text.partition("/")
    low_text, dash, high_text = span.partition("-")
    if "/" in step_text:
        raise ScheduleError(f"too many slashes: {text}")
    if low_text in ("*", "?"):
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
        raise ScheduleError(f"failed to parse int from {text}: strconv.Atoi: parsing {quoted(text)}: invalid syntax")
    number = int(text)
    if number < 0:
        raise ScheduleError(f"negative number ({number}) not allowed: {text}")
    return number
