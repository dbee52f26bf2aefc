"""Fills in the defaults of a schema in place.

A default is used where a field is missing, or null where null is not a value; a filled-in value gets its own inner
defaults. Every filled-in value is a fresh copy.
"""

from collections.abc import Callable
from typing import Any

from steersman.json_types import JsonObject, copied
from steersman.structural.schema import Structural

#: Fills in defaults in place.
Fill = Callable[[Any], None]


def _full_default(node: Structural, fill: Fill | None) -> object:
    value = copied(node.default)
    if fill is not None:
        fill(value)
    return value


def _null_default(node: Structural | None) -> object:
    """Return what stands in for a null among the values of a map or list; `None` if the null stays."""
    return None if node is None or node.nullable else node.default


def _fill_missing(node: Structural, fills: dict[str, Fill]) -> Callable[[JsonObject], None] | None:
    """Build the filling in of fields that are missing from an object."""
    defaults = [
        (name, _full_default(child, fills.get(name)), child.nullable)
        for name, child in node.properties.items()
        if child.default is not None
    ]
    plain = [
        (name, value) for name, value, nullable in defaults if value.__class__ not in (dict, list) and not nullable
    ]
    others = [entry for entry in defaults if (entry[0], entry[1]) not in plain]
    if not defaults:
        return None

    def fill(value: JsonObject) -> None:
        for name, default in plain:
            if value.setdefault(name, default) is None:
                value[name] = default
        for name, default, nullable in others:
            if name not in value or (value[name] is None and not nullable):
                value[name] = copied(default)

    return fill


def _fill_fields(node: Structural) -> Callable[[JsonObject], None] | None:
    fills = {name: inner for name, child in node.properties.items() if (inner := fill_of(child))}
    fill_missing = _fill_missing(node, fills)
    if not fills:
        return fill_missing

    def fill(value: JsonObject) -> None:
        if fill_missing is not None:
            fill_missing(value)
        for name, fill_child in fills.items():
            if name in value:
                fill_child(value[name])

    return fill


def _fill_others(node: Structural) -> Callable[[JsonObject], None] | None:
    fill_child = fill_of(node.values) if node.values is not None else None
    default = _null_default(node.values)
    if fill_child is None and default is None:
        return None
    declared = node.properties

    def fill(value: JsonObject) -> None:
        for name, child in value.items():
            if name in declared:
                continue
            if child is None and default is not None:
                child = value[name] = copied(default)
            if fill_child is not None:
                fill_child(child)

    return fill


def _fill_items(node: Structural) -> Callable[[list[Any]], None] | None:
    fill_item = fill_of(node.items) if node.items is not None else None
    default = _null_default(node.items)
    if fill_item is None and default is None:
        return None

    def fill(value: list[object]) -> None:
        for index, item in enumerate(value):
            if item is None and default is not None:
                item = value[index] = copied(default)
            if fill_item is not None:
                fill_item(item)

    return fill


def fill_of(node: Structural) -> Fill | None:
    """Build the defaulting of the values of a node; nothing if it has no defaults inside."""
    fields, others, items = _fill_fields(node), _fill_others(node), _fill_items(node)
    if fields is None and others is None and items is None:
        return None

    def fill(value: object) -> None:
        if value.__class__ is dict:
            if fields is not None:
                fields(value)
            if others is not None:
                others(value)
        elif value.__class__ is list and items is not None:
            items(value)

    return fill
