"""Lists that are sets or maps: no item, or no key, may be there twice."""

from collections.abc import Iterable
from typing import Any

from steersman.golang.text import json_text
from steersman.json_types import JsonObject
from steersman.structural.checks.relative_errors import Check, MessageStyle, RelativeError
from steersman.structural.schema import Structural
from steersman.validation.field_errors import ErrorType


def _identity(value: object) -> object:
    """Return what distinguishes items of a set: scalars by type and value, other values by their JSON text."""
    if value.__class__ in (dict, list):
        return json_text(value)
    return (value.__class__, value)


def _duplicates(identities: list[object]) -> list[int]:
    """Return the place where each repeated identity is met for the second time."""
    seen: dict[Any, int] = {}
    repeated = []
    for index, identity in enumerate(identities):
        seen[identity] = seen.get(identity, 0) + 1
        if seen[identity] == 2:  # noqa: PLR2004 - the second time
            repeated.append(index)
    return repeated


def _duplicate(index: int, value: object) -> RelativeError:
    error = RelativeError(ErrorType.DUPLICATE, value, "", MessageStyle.BESIDE)
    error.steps.append(index)
    return error


def _has_no_twins(identities: Iterable[object], size: int) -> bool:
    """Return whether there are surely no duplicates. Python's equality is wider than JSON's, so True is certain."""
    try:
        return len(set(identities)) == size
    except TypeError:
        return False


def _set_check(value: object) -> list[RelativeError] | None:
    if value.__class__ is not list or _has_no_twins(value, len(value)):
        return None
    repeated = _duplicates([_identity(item) for item in value])
    return [_duplicate(index, value[index]) for index in repeated] or None


def map_key(node: Structural, item: object) -> JsonObject | None:
    """Return the fields of an item that make its key; defaults stand in for fields that are missing."""
    if item.__class__ is not dict or node.items is None:
        return None
    key = {}
    for name in node.list_map_keys:
        field = node.items.properties.get(name)
        value = item.get(name, field.default if field is not None else None)
        if value is not None:
            key[name] = value
    return key


def _differ_in(name: str, items: list[Any]) -> bool:
    """Return whether all items already differ in one field."""
    try:
        return _has_no_twins([item[name] for item in items], len(items))
    except (KeyError, TypeError):
        return False


def _stranger(value: list[object]) -> list[RelativeError] | None:
    """Return an error about the first item that is not an object; nulls are left to the type check."""
    for index, item in enumerate(value):
        if item is not None and item.__class__ is not dict:
            error = RelativeError(
                ErrorType.INVALID, item, "must be an object for an array of list-type map", MessageStyle.BESIDE
            )
            error.steps.append(index)
            return [error]
    return None


def _map_check(node: Structural) -> Check:
    names = node.list_map_keys

    def key_of(item: JsonObject | None) -> JsonObject:
        return {name: item[name] for name in names if name in item} if item else {}

    def identity(key: JsonObject) -> Any:
        # A single key is compared as it is, several as their JSON text, where 1 and 1.0 are the same.
        return json_text(key) if len(names) > 1 or not key else _identity(key[names[0]])

    def check(value: object) -> list[RelativeError] | None:
        if value.__class__ is not list or _differ_in(names[0], value):
            return None
        if found := _stranger(value):
            return found
        keys = [key_of(item) for item in value]
        return [_duplicate(index, keys[index]) for index in _duplicates([identity(key) for key in keys])] or None

    return check


def list_type_check(node: Structural) -> Check | None:
    """Return the check of a node's list type."""
    if node.list_type == "set":
        return _set_check
    if node.list_type == "map" and node.list_map_keys:
        return _map_check(node)
    return None
