"""Drops unknown fields, and nulls where null is not a value.

Values are changed in place. Inside embedded resources `metadata` is read as a typed structure.
"""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from steersman.errors import DecodeError
from steersman.json_types import JsonObject
from steersman.structural.checks.relative_errors import path_text
from steersman.structural.schema import META_FIELDS, Structural
from steersman.validation.field_errors import FieldError, invalid
from steersman.validation.object_meta import read_object_meta
from steersman.validation.wire_types import WireTypeError

#: Paths of dropped fields, each as its steps, innermost first.
Dropped = list[list[str | int]]

#: Prunes a value in place; returns what was dropped, or ``None``.
Prune = Callable[[Any], Dropped | None]

#: The pruning of objects and of lists; `None` where nothing can be pruned.
PruneTable = dict[type, Prune | None]

_SCALARS = frozenset({str, int, float, bool})


def _gather(found: Dropped | None, inner: Dropped, step: str | int) -> Dropped:
    for steps in inner:
        steps.append(step)
    if found is None:
        return inner
    found.extend(inner)
    return found


def _drop(value: JsonObject, names: list[str]) -> Dropped:
    for name in names:
        del value[name]
    return [[name] for name in names]


def _drop_fields(value: JsonObject) -> Dropped | None:
    return _drop(value, list(value)) or None


def _drop_in_items(value: list[object]) -> Dropped | None:
    found: Dropped | None = None
    for index, item in enumerate(value):
        walk = _NOTHING_IS_KNOWN.get(item.__class__)
        if walk is not None and (inner := walk(item)):
            found = _gather(found, inner, index)
    return found


#: For values whose schema is empty: objects lose all their fields.
_NOTHING_IS_KNOWN: PruneTable = {dict: _drop_fields, list: _drop_in_items}
#: For values that are kept unchanged.
_ALL_IS_KEPT: PruneTable = {dict: None, list: None}


def _list_prune(table: PruneTable) -> Prune:
    """Build the pruning of the items of a list."""
    in_object, in_list = table[dict], table[list]

    def prune(value: list[object]) -> Dropped | None:
        found: Dropped | None = None
        for index, item in enumerate(value):
            cls = item.__class__
            walk = in_object if cls is dict else in_list if cls is list else None
            if walk is not None and (inner := walk(item)):
                found = _gather(found, inner, index)
        return found

    return prune


def _is_droppable(node: Structural | None) -> bool:
    """Return whether a null is dropped; one that has a default is kept until it is filled in."""
    return node is not None and not node.nullable and node.default is None


def _null_prune(node: Structural, meta: frozenset[str]) -> Callable[[JsonObject], None]:
    """Build the dropping of nulls among the fields of an object."""
    dropped = frozenset(name for name, child in node.properties.items() if _is_droppable(child))
    kept = frozenset(node.properties) | meta
    drops_others = _is_droppable(node.values)

    def prune(value: JsonObject) -> None:
        for name in [name for name, child in value.items() if child is None]:
            if name in dropped or (drops_others and name not in kept):
                del value[name]

    return prune


def _other_table(node: Structural) -> PruneTable:
    """Return the pruning of fields that are not declared."""
    if node.values is not None:
        return prune_table(node.values)
    return _ALL_IS_KEPT if node.additional is None else _NOTHING_IS_KNOWN


def _object_prune(node: Structural) -> Prune:
    meta = META_FIELDS if node.embedded else frozenset()
    tables = {name: prune_table(child) for name, child in node.properties.items()} | dict.fromkeys(meta, _ALL_IS_KEPT)
    prune_nulls, others, table_of = _null_prune(node, meta), _other_table(node), tables.get
    is_known = frozenset(tables).issuperset
    closed = node.additional is None and not node.preserves_unknown

    def prune(value: JsonObject) -> Dropped | None:
        found: Dropped | None = None
        if closed and not is_known(value):
            found = _drop(value, [name for name in value if name not in tables])
        has_null = False
        for name, child in value.items():
            cls = child.__class__
            if cls is str or cls in _SCALARS:
                continue
            if child is None:
                has_null = True
            elif (walk := table_of(name, others)[cls]) is not None and (inner := walk(child)):
                found = _gather(found, inner, name)
        if has_null:
            prune_nulls(value)
        return found

    return prune


def prune_table(node: Structural) -> PruneTable:
    """Build the pruning of the values of a node."""
    if not (node.properties or node.additional is not None or node.items or node.embedded):
        return _ALL_IS_KEPT if node.preserves_unknown else _NOTHING_IS_KNOWN
    return {dict: _object_prune(node), list: _list_prune(_item_table(node))}


def _item_table(node: Structural) -> PruneTable:
    """Return the pruning of the items of a list; a list that preserves unknown fields does so in its items, too."""
    if node.items is None:
        return _ALL_IS_KEPT if node.preserves_unknown else _NOTHING_IS_KNOWN
    if node.preserves_unknown:
        return prune_table(replace(node.items, preserves_unknown=True))
    return prune_table(node.items)


def paths_of(dropped: Dropped | None) -> list[str]:
    """Write dropped fields as sorted paths."""
    return sorted(path_text(reversed(steps)) for steps in dropped) if dropped else []


class MalformedResourceError(DecodeError):
    """The type or metadata of an embedded resource has a wrong JSON type."""

    def __init__(self, error: FieldError) -> None:
        super().__init__(str(error))
        self.error = error


#: Reads the metadata of embedded resources in place; returns the unknown fields.
Coerce = Callable[[Any, str], list[str]]


def _coerce_resource(value: JsonObject, path: str) -> list[str]:
    for name in ("apiVersion", "kind"):
        if name in value and value[name].__class__ is not str:
            raise MalformedResourceError(invalid(f"{path}.{name}", value[name], "must be a string"))
    if "metadata" not in value:
        return []
    try:
        value["metadata"], unknown = read_object_meta(value["metadata"], f"{path}.metadata")
    except WireTypeError as error:
        raise MalformedResourceError(invalid(f"{path}.metadata", value["metadata"], str(error))) from None
    return unknown


def coerce_of(node: Structural) -> Coerce | None:
    """Build the reading of embedded resources in values of a node; nothing if it has none."""
    walks = {name: walk for name, child in node.properties.items() if (walk := coerce_of(child))}
    others = coerce_of(node.values) if node.values is not None else None
    items = coerce_of(node.items) if node.items is not None else None
    if not (node.embedded or walks or others or items):
        return None

    def coerce_object(value: JsonObject, path: str) -> list[str]:
        unknown = _coerce_resource(value, path) if node.embedded else []
        for name, child in value.items():
            walk = walks.get(name) or (others if name not in node.properties else None)
            if walk is not None:
                unknown += walk(child, f"{path}.{name}" if path else name)
        return unknown

    def coerce(value: object, path: str) -> list[str]:
        if value.__class__ is dict:
            return coerce_object(value, path)
        if value.__class__ is list and items is not None:
            return [name for index, item in enumerate(value) for name in items(item, f"{path}[{index}]")]
        return []

    return coerce
