"""Updates of objects that were stored before their schema became stricter.

A value that did not change since the stored object is not complained about. Old and new values are found to belong
together through fields, map keys and the keys of map lists; items of other lists never are.
"""

from collections.abc import Callable
from typing import Any

from steersman.golang.text import json_text
from steersman.json_types import ABSENT, JsonObject
from steersman.structural.checks.list_types import map_key
from steersman.structural.checks.object_checks import (
    combination_errors,
    list_size_check,
    missing_fields,
    object_size_check,
    scalar_checks,
    undeclared_fields,
)
from steersman.structural.checks.relative_errors import Check, RelativeError, gather
from steersman.structural.schema import Structural


def same(one: Any, other: Any) -> bool:
    """Return whether two JSON values are the same, in type too: 1 is neither 1.0 nor true."""
    if one.__class__ is not other.__class__:
        return False
    if one.__class__ is dict:
        return len(one) == len(other) and all(name in other and same(item, other[name]) for name, item in one.items())
    if one.__class__ is list:
        return len(one) == len(other) and all(map(same, one, other))
    return bool(one == other)


def old_items(node: Structural, old: object) -> Callable[[Any], Any]:
    """Return the function from an item of a list to the item of the old list that it belongs to."""
    if old.__class__ is not list or node.list_type != "map" or not node.list_map_keys:
        return lambda _: ABSENT
    by_key: JsonObject = {}
    for item in old:
        by_key.setdefault(json_text(map_key(node, item)), item)
    return lambda item: by_key.get(json_text(map_key(node, item)), ABSENT)


def old_field(old: object, name: str) -> object:
    """Return the old value of a field."""
    return old.get(name, ABSENT) if old.__class__ is dict else ABSENT


class Ratchet:
    """Checks a value against a schema, with the old value beside it.

    Slower than the plain check: it is asked only about values that the plain check complained about.
    """

    def __init__(self) -> None:
        #: The checks of a node for a class of values, cached because building them compiles patterns.
        self._checks: dict[tuple[int, type], list[Check]] = {}

    def _own(self, node: Structural, cls: type) -> list[Check]:
        key = (id(node), cls)
        if key not in self._checks:
            checks = scalar_checks(node, cls)
            if cls is list:
                checks.append(list_size_check(node))
            self._checks[key] = [check for check in checks if check is not None]
        return self._checks[key]

    def errors(self, node: Structural, value: object, old: object, *, is_root: bool = False) -> list[RelativeError]:
        """Return the errors of those parts of a value that were changed.

        A whole object always counts as changed: even an update that changes nothing is a change of its metadata.
        """
        if not is_root and old is not ABSENT and same(value, old):
            return []
        found = [error for check in self._own(node, value.__class__) for error in check(value) or ()]
        if value.__class__ is dict:
            found += self._in_object(node, value, old)
        elif value.__class__ is list and node.items is not None:
            found += self._in_list(node, node.items, value, old)
        if value is not None:
            found += combination_errors(node, value, lambda part, item: self.errors(part, item, old))
        return found

    def _in_object(self, node: Structural, value: JsonObject, old: object) -> list[RelativeError]:
        size = object_size_check(node)
        found = (size(value) or []) if size is not None else []
        found += missing_fields(tuple(node.schema.get("required") or ()), value)
        for name, child in value.items():
            inner = node.child(name)
            if inner is not None:
                found = gather(found, self.errors(inner, child, old_field(old, name)), name)
        return found + undeclared_fields(node, value) if node.additional is False else found

    def _in_list(self, node: Structural, items: Structural, value: list[object], old: object) -> list[RelativeError]:
        old_of = old_items(node, old)
        found: list[RelativeError] = []
        for index, item in enumerate(value):
            found = gather(found, self.errors(items, item, old_of(item)), index)
        return found
