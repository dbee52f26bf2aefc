"""The columns of a custom resource, from the ``additionalPrinterColumns`` of its definition."""

from collections.abc import Callable, Sequence
from datetime import datetime
from typing import Any

from steersman.apiserver.resources.columns import CREATED_DESCRIPTION, NAME, Cell, Column, age
from steersman.apiserver.resources.json_path import PathError, compile_path
from steersman.golang.text import plain
from steersman.json_types import JsonObject

CUSTOM_AGE = Column(
    "Age",
    lambda obj, now: age(obj["metadata"].get("creationTimestamp"), now),
    type="date",
    description=CREATED_DESCRIPTION,
)


def _printed(value: object, kind: str, now: datetime) -> object:
    """Make a cell of a custom column from the value that its path found."""
    if kind == "date":
        return age(value, now) if value.__class__ is str else "<unknown>"
    if kind in _SCALARS:
        return _SCALARS[kind](value)
    return value if value.__class__ is str else plain(value)


def _integer(value: object) -> object:
    return int(value) if value.__class__ in (int, float) else None


def _number(value: object) -> object:
    return value if value.__class__ in (int, float) else None


def _boolean(value: object) -> object:
    return value if value.__class__ is bool else None


_SCALARS: dict[str, Callable[[Any], Any]] = {"integer": _integer, "number": _number, "boolean": _boolean}


def _custom_cell(path: str, kind: str) -> Cell:
    try:
        follow = compile_path(path)
    except PathError:
        return lambda _obj, _now: None

    def cell(obj: JsonObject, now: datetime) -> Any:
        found = follow(obj)
        if not found or found[0] is None:
            return None
        if kind == "string" and len(found) > 1:
            return ",".join(part if part.__class__ is str else plain(part) for part in found)
        return _printed(found[0], kind, now)

    return cell


def custom_columns(columns: Sequence[JsonObject]) -> tuple[Column, ...]:
    """Make the columns of a custom resource from its definition; without any there is the age."""
    if not columns:
        return (NAME, CUSTOM_AGE)
    made = [NAME]
    for column in columns:
        path = column.get("jsonPath", "")
        default = f"Custom resource definition column (in JSONPath format): {path}"
        made.append(
            Column(
                column["name"],
                _custom_cell(path, column["type"]),
                type=column["type"],
                format=column.get("format", ""),
                description=column.get("description") or default,
                priority=column.get("priority", 0),
            )
        )
    return tuple(made)
