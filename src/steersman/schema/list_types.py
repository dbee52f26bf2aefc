"""Lists that are sets or maps: no item, or no key, may be there twice."""

from collections.abc import Iterable
from typing import Any

from steersman.schema.field_errors import ErrorType
from steersman.schema.findings import Check, Finding, Style
from steersman.schema.go_text import json_text
from steersman.schema.structural import Structural


def _exact(value: Any) -> Any:
    """Give a hashable value that is equal only for values that are equal in JSON *and* in type."""
    if value.__class__ is dict:
        return (dict, frozenset((name, _exact(item)) for name, item in value.items()))
    if value.__class__ is list:
        return (list, tuple(_exact(item) for item in value))
    return (value.__class__, value)


def _duplicates(identities: list[Any]) -> list[int]:
    """Give the place where each repeated identity is met for the second time; `None` is no identity."""
    seen: dict[Any, int] = {}
    repeated = []
    for index, identity in enumerate(identities):
        if identity is None:
            continue
        seen[identity] = seen.get(identity, 0) + 1
        if seen[identity] == 2:  # noqa: PLR2004 - the second time
            repeated.append(index)
    return repeated


def _finding(index: int, value: Any) -> Finding:
    finding = Finding(ErrorType.DUPLICATE, value, "", Style.BESIDE)
    finding.steps.append(index)
    return finding


def _has_no_twins(identities: Iterable[Any], size: int) -> bool:
    """Say quickly that nothing is there twice; Python calls more values equal than JSON does, so a yes is certain."""
    try:
        return len(set(identities)) == size
    except TypeError:
        return False


def _set_check(value: Any) -> list[Finding] | None:
    if value.__class__ is not list or _has_no_twins(value, len(value)):
        return None
    # Nulls are the type check's business.
    repeated = _duplicates([None if item is None else _exact(item) for item in value])
    return [_finding(index, value[index]) for index in repeated] or None


def map_key(node: Structural, item: Any) -> dict[str, Any] | None:
    """Give the fields of an item that make its key; defaults stand in for fields that are missing."""
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
    """Say quickly that all items differ in one field already."""
    try:
        return _has_no_twins([item[name] for item in items], len(items))
    except (KeyError, TypeError):
        return False


def _map_check(node: Structural) -> Check:
    name = node.list_map_keys[0]

    def check(value: Any) -> list[Finding] | None:
        if value.__class__ is not list or _differ_in(name, value):
            return None
        keys = [map_key(node, item) for item in value]
        # 1 and 1.0 are one key, as they are one JSON text; 1 and true are two.
        repeated = _duplicates([None if not key else json_text(key) for key in keys])
        return [_finding(index, keys[index]) for index in repeated] or None

    return check


def list_type_check(node: Structural) -> Check | None:
    """Give the check of a node's list type."""
    if node.list_type == "set":
        return _set_check
    if node.list_type == "map" and node.list_map_keys:
        return _map_check(node)
    return None
