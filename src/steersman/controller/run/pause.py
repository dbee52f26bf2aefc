"""Pausing: an object with the annotation `PAUSED` is not reconciled; its cleanup still runs.

The value is empty or ``true`` for a pause without an end, or the time of its end (RFC 3339). A value that is neither
pauses without an end: its author wanted a pause, and the condition says what is wrong with the value.
"""

from collections.abc import Mapping
from datetime import datetime
from typing import Final

from msgspec import Struct

from steersman.objects.times import format_time, parse_time

#: The annotation that pauses an object.
PAUSED: Final = "steersman.dev/paused"
#: The condition that shows a pause, and its reason.
CONDITION, REASON = "Paused", "PausedByAnnotation"
#: Values without a time.
_WITHOUT_END = ("", "true")
#: Characters of an unreadable value that the condition quotes: an annotation may have 256 KiB, a message 32 KiB.
_SHOWN: Final = 60


class Pause(Struct, frozen=True):
    """A pause that has not ended."""

    #: When it ends; ``None`` if a user has to end it.
    until: datetime | None
    message: str


def pause_of(annotations: Mapping[str, str], now: datetime) -> Pause | None:
    """Return the pause that annotations ask for; ``None`` without one, or if it has ended."""
    value = annotations.get(PAUSED)
    if value is None:
        return None
    if value in _WITHOUT_END:
        return Pause(None, f"the annotation {PAUSED} pauses it")
    try:
        until = parse_time(value)
    except ValueError:
        shown = value if len(value) <= _SHOWN else f"{value[:_SHOWN]}…"
        return Pause(
            None, f"the annotation {PAUSED} pauses it; its value {shown!r} is not a time such as {_example(now)}"
        )
    return Pause(until, f"the annotation {PAUSED} pauses it until {format_time(until)}") if until > now else None


def _example(now: datetime) -> str:
    return format_time(now.replace(microsecond=0))
