"""Cells of tables, for kinds of every family."""

from collections.abc import Callable, Sequence
from datetime import datetime
from typing import Any

from steersman.apiserver.resources.columns import Cell, Column, age
from steersman.apiserver.resources.label_selectors import selector_text
from steersman.json_types import JsonObject

NONE = "<none>"
UNSET = "<unset>"
_SHOWN = 3


def at(obj: object, *path: str, default: object = None) -> Any:
    """Return the value at a path, or the default where there is none."""
    for name in path:
        if obj.__class__ is not dict or obj.get(name) is None:
            return default
        obj = obj[name]
    return obj


def field(*path: str, default: object = "") -> Cell:
    """Return a cell that shows one field."""

    def cell(obj: JsonObject, _now: datetime) -> Any:
        return at(obj, *path, default=default)

    return cell


def created(obj: JsonObject, now: datetime) -> str:
    """Return the age of an object."""
    return age(at(obj, "metadata", "creationTimestamp"), now)


def name(obj: JsonObject, _now: datetime) -> str:
    """Return the name."""
    text: str = at(obj, "metadata", "name", default="")
    return text


def shortened(values: Sequence[str], empty: str = NONE) -> str:
    """Return the first three of several values, and how many more there are."""
    if not values:
        return empty
    text = ",".join(values[:_SHOWN])
    return f"{text} + {len(values) - _SHOWN} more..." if len(values) > _SHOWN else text


def labels_text(labels: JsonObject | None) -> str:
    """Return labels as text."""
    return ",".join(f"{key}={value}" for key, value in sorted((labels or {}).items())) or NONE


def selector_cell(selector: JsonObject | None) -> str:
    """Return a label selector as text, ``<none>`` for an empty one."""
    return selector_text(selector) or NONE


def containers(*path: str) -> Cell:
    """Return a cell with the names of the containers of a template at a path."""

    def cell(obj: JsonObject, _now: datetime) -> str:
        return ",".join(part.get("name", "") for part in at(obj, *path, "spec", "containers", default=()))

    return cell


def images(*path: str) -> Cell:
    """Return a cell with the images of the containers of a template at a path."""

    def cell(obj: JsonObject, _now: datetime) -> str:
        return ",".join(part.get("image", "") for part in at(obj, *path, "spec", "containers", default=()))

    return cell


def selector(*path: str) -> Cell:
    """Return a cell with the label selector at a path."""

    def cell(obj: JsonObject, _now: datetime) -> str:
        return selector_cell(at(obj, *path))

    return cell


def labels(*path: str) -> Cell:
    """Return a cell with the labels at a path."""

    def cell(obj: JsonObject, _now: datetime) -> str:
        return labels_text(at(obj, *path))

    return cell


def column(title: str, cell: Cell, *, type_: str = "string", wide: bool = False) -> Column:
    """Return a column; a wide one is printed by ``-o wide`` only."""
    return Column(title, cell, type=type_, priority=1 if wide else 0)


AGE = column("Age", created)


def joined(*path: str, empty: str = NONE) -> Callable[[JsonObject, datetime], str]:
    """Return a cell with the items of the list at a path, separated by commas."""

    def cell(obj: JsonObject, _now: datetime) -> str:
        return ",".join(at(obj, *path, default=())) or empty

    return cell


def length(*path: str) -> Callable[[JsonObject, datetime], int]:
    """Return a cell with the number of items of the list at a path."""

    def cell(obj: JsonObject, _now: datetime) -> int:
        return len(at(obj, *path, default=()))

    return cell
