"""Columns of tables: what ``kubectl get`` prints for an object, cell by cell.

Strategies name the columns of their kind; ``messages.table`` writes the tables.
"""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from steersman.json_types import JsonObject
from steersman.objects.times import parse_time

#: Returns the cell of one object, at a moment.
Cell = Callable[[JsonObject, datetime], Any]

_MINUTE, _HOUR, _DAY = 60, 3600, 86_400
_YEAR = 365 * _DAY
NAME_DESCRIPTION = (
    "Name must be unique within a namespace. Is required when creating resources, although some resources may allow a "
    "client to request the generation of an appropriate name automatically. Name is primarily intended for creation "
    "idempotence and configuration definition. Cannot be updated. More info: "
    "https://kubernetes.io/docs/concepts/overview/working-with-objects/names#names"
)
CREATED_DESCRIPTION = (
    "CreationTimestamp is a timestamp representing the server time when this object was created. It is not guaranteed "
    "to be set in happens-before order across separate operations. Clients may not set this value. It is represented "
    "in RFC3339 form and is in UTC.\n\nPopulated by the system. Read-only. Null for lists. More info: "
    "https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#metadata"
)


def human_duration(seconds: float) -> str:
    """Print an age with two digits of precision, as kubectl does: ``45s``, ``3m20s``, ``5d``, ``2y319d``."""
    whole = int(seconds)
    if whole < -1:
        return "<invalid>"
    whole = max(whole, 0)
    if whole < 2 * _MINUTE:
        return f"{whole}s"
    for limit, unit, name, small, small_name in _AGES:
        if whole < limit:
            big, rest = divmod(whole, unit)
            part = rest // small if small else 0
            return f"{big}{name}{part}{small_name}" if part else f"{big}{name}"
    return f"{whole // _YEAR}y"


#: Limit of an age, its unit, and the smaller unit that is printed beside it.
_AGES: tuple[tuple[int, int, str, int, str], ...] = (
    (10 * _MINUTE, _MINUTE, "m", 1, "s"),
    (3 * _HOUR, _MINUTE, "m", 0, ""),
    (8 * _HOUR, _HOUR, "h", _MINUTE, "m"),
    (2 * _DAY, _HOUR, "h", 0, ""),
    (8 * _DAY, _DAY, "d", _HOUR, "h"),
    (2 * _YEAR, _DAY, "d", 0, ""),
    (8 * _YEAR, _YEAR, "y", _DAY, "d"),
)


def age(text: str | None, now: datetime) -> str:
    """Print how long ago a timestamp was."""
    if not text:
        return "<unknown>"
    try:
        return human_duration((now - parse_time(text)).total_seconds())
    except ValueError:
        return "<invalid>"


@dataclass(frozen=True, slots=True)
class Column:
    """One column: its definition, and how a cell is made."""

    name: str
    cell: Cell
    type: str = "string"
    format: str = ""
    description: str = ""
    priority: int = 0

    def definition(self) -> JsonObject:
        """Return the definition of the column."""
        return {
            "name": self.name,
            "type": self.type,
            "format": self.format,
            "description": self.description,
            "priority": self.priority,
        }


NAME = Column("Name", lambda obj, _: obj["metadata"]["name"], format="name", description=NAME_DESCRIPTION)
CREATED_AT = Column(
    "Created At", lambda obj, _: obj["metadata"].get("creationTimestamp"), type="date", description=CREATED_DESCRIPTION
)
