"""Objects as rows: the form in which ``kubectl get`` asks for lists.

Custom resources show the columns of their definition; built-in kinds theirs (see ``tables``), or name and age.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from steersman.apiserver.resources.json_path import PathError, compile_path
from steersman.golang.printing import plain
from steersman.objects.times import parse_time

Document = dict[str, Any]
#: Gives the cell of one object, at a moment.
Cell = Callable[[Document, datetime], Any]

_TEMPLATE_GENERATION = "deprecated.daemonset.template.generation"
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


#: Below which age, in which unit, with which smaller unit an age is told.
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
    """One column: how it is announced, and how a cell is made."""

    name: str
    cell: Cell
    type: str = "string"
    format: str = ""
    description: str = ""
    priority: int = 0

    def definition(self) -> Document:
        """Give the column as it is announced."""
        return {
            "name": self.name,
            "type": self.type,
            "format": self.format,
            "description": self.description,
            "priority": self.priority,
        }


NAME = Column("Name", lambda obj, _: obj["metadata"]["name"], format="name", description=NAME_DESCRIPTION)
CUSTOM_AGE = Column(
    "Age",
    lambda obj, now: age(obj["metadata"].get("creationTimestamp"), now),
    type="date",
    description=CREATED_DESCRIPTION,
)
CREATED_AT = Column(
    "Created At", lambda obj, _: obj["metadata"].get("creationTimestamp"), type="date", description=CREATED_DESCRIPTION
)


def _printed(value: Any, kind: str, now: datetime) -> Any:
    """Make a cell of a custom column from the value that its path found."""
    if kind == "date":
        return age(value, now) if value.__class__ is str else "<unknown>"
    if kind in _SCALARS:
        return _SCALARS[kind](value)
    return value if value.__class__ is str else plain(value)


def _integer(value: Any) -> Any:
    return int(value) if value.__class__ in (int, float) else None


def _number(value: Any) -> Any:
    return value if value.__class__ in (int, float) else None


def _boolean(value: Any) -> Any:
    return value if value.__class__ is bool else None


_SCALARS: dict[str, Callable[[Any], Any]] = {"integer": _integer, "number": _number, "boolean": _boolean}


def _custom_cell(path: str, kind: str) -> Cell:
    try:
        follow = compile_path(path)
    except PathError:
        return lambda _obj, _now: None

    def cell(obj: Document, now: datetime) -> Any:
        found = follow(obj)
        if not found or found[0] is None:
            return None
        if kind == "string" and len(found) > 1:
            return ",".join(part if part.__class__ is str else plain(part) for part in found)
        return _printed(found[0], kind, now)

    return cell


def custom_columns(columns: Sequence[Document]) -> tuple[Column, ...]:
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


def partial_metadata(obj: Document, version: str = "v1") -> Document:
    """Give an object without its content."""
    return {
        "kind": "PartialObjectMetadata",
        "apiVersion": f"meta.k8s.io/{version}",
        "metadata": _shown_metadata(obj),
    }


def _shown_metadata(obj: Document) -> Document:
    """Give the metadata as Kubernetes holds it inside, where this annotation of DaemonSets is a field."""
    metadata: Document = obj.get("metadata", {})
    annotations = metadata.get("annotations") or {}
    if obj.get("kind") != "DaemonSet" or _TEMPLATE_GENERATION not in annotations:
        return metadata
    rest = {key: value for key, value in annotations.items() if key != _TEMPLATE_GENERATION}
    if rest:
        return {**metadata, "annotations": rest}
    return {key: value for key, value in metadata.items() if key != "annotations"}


@dataclass(frozen=True, slots=True)
class TableStyle:
    """How a table is to be written."""

    columns: tuple[Column, ...]
    version: str = "v1"
    #: What each row carries beside its cells: ``Metadata``, ``Object`` or ``None``.
    include: str = "Metadata"


#: What the row of a pod that has ended says about it.
_ENDED = {
    "Succeeded": {"reason": "Succeeded", "message": "The pod has completed successfully."},
    "Failed": {"reason": "Failed", "message": "The pod failed."},
}


def _row(obj: Document, style: TableStyle, now: datetime) -> Document:
    row: Document = {"cells": [column.cell(obj, now) for column in style.columns]}
    if obj.get("kind") == "Pod" and (ended := _ENDED.get((obj.get("status") or {}).get("phase", ""))):
        row["conditions"] = [{"type": "Completed", "status": "True", **ended}]
    if style.include == "Object":
        row["object"] = obj
    elif style.include == "None":
        row["object"] = None
    else:
        row["object"] = partial_metadata(obj, style.version)
    return row


def table(objects: Sequence[Document], metadata: Document, style: TableStyle, now: datetime) -> Document:
    """Give objects as a ``Table``; the columns are announced by whoever sends the first one."""
    return {
        "kind": "Table",
        "apiVersion": f"meta.k8s.io/{style.version}",
        "metadata": metadata,
        "columnDefinitions": [column.definition() for column in style.columns],
        # Only kinds with columns of their own tell an empty list from none.
        "rows": [_row(obj, style, now) for obj in objects] or (None if CREATED_AT in style.columns else []),
    }
