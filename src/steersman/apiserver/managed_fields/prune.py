"""Removes fields that a manager no longer applies, unless another manager owns them."""

from collections.abc import Mapping
from typing import Any

from steersman.apiserver.managed_fields.endpoint import InVersion, Object
from steersman.apiserver.managed_fields.field_set import (
    LEAF,
    Fields,
    as_member,
    difference,
    intersection,
    is_member,
    union,
)
from steersman.apiserver.managed_fields.field_types import DEDUCED, FieldType, ListType, MapType
from steersman.apiserver.managed_fields.typed import fields_of
from steersman.json_types import JsonObject


def remove(value: object, fields: Fields, kind: FieldType) -> Any:
    """Return a value without the members of a set; values that become empty, and atomic ones, become null."""
    branch = kind.branch_of(value)
    if isinstance(branch, str):
        return value
    if branch.is_atomic or not value:
        return None
    if isinstance(branch, MapType):
        return _remove_from_map(value, fields, branch) if value.__class__ is dict else None
    return _remove_from_list(value, fields, branch) if value.__class__ is list else None


def _remove_from_map(value: JsonObject, fields: Fields, branch: MapType) -> JsonObject | None:
    result = {}
    for key, below in value.items():
        node = fields.get(branch.names.get(key) or "f:" + key)
        if node is None:
            result[key] = below
        elif not is_member(node):
            result[key] = remove(below, node, branch.fields.get(key) or branch.type_of(key))
    return result or None


def _remove_from_list(value: list[object], fields: Fields, branch: ListType) -> list[Any] | None:
    result = []
    for item in value:
        node = fields.get(branch.element_of(item))
        if node is None:
            result.append(item)
        elif not is_member(node):
            result.append(remove(item, node, branch.element))
    return result or None


def with_named_fields(fields: Fields, kind: FieldType) -> Fields:
    """Add the declared fields that lead to members; free-form keys and list items are added by their owners only."""
    result: Fields = {}
    for element, node in fields.items():
        if not node:
            result[element] = node
            continue
        below, is_declared = _step(kind, element)
        inner = with_named_fields(node, below)
        result[element] = as_member(inner) if is_declared else inner
    return result


def _step(kind: FieldType, element: str) -> tuple[FieldType, bool]:
    """Return the type behind a path element, and whether it is a declared field."""
    if kind.map is not None:
        declared = kind.map.elements.get(element)
        if declared is not None:
            return declared, True
        if element.startswith("f:"):
            return kind.map.element or DEDUCED, False
    if kind.list is not None and element.startswith("k:"):
        return kind.list.element, False
    return DEDUCED, False


def prune(merged: Object, last: tuple[str, Fields], owned: Mapping[str, Fields], in_version: InVersion) -> Object:
    """Remove what an applier set last time and does not set now; gives the object in the version of the last time.

    ``last`` is the version and the fields that it owned before; ``owned`` what all managers own, by version, this one
    with its new configuration included. Every set is applied to the object in its own version.
    """
    last_version, last_fields = last
    start = in_version(merged, last_version)
    if start is None:
        return merged
    everything = _named_fields_of(start.object, start.type)
    named_last = with_named_fields(last_fields, start.type)
    pruned: Object = remove(start.object, named_last, start.type)
    # The version of the last apply comes first: fields that it restores may be needed to convert to other versions.
    for version in sorted(owned, key=lambda version: (version != last_version, version)):
        whole, part = in_version(merged, version), in_version(pruned, version)
        if whole is not None and part is not None:
            kept = union(_named_fields_of(part.object, whole.type), with_named_fields(owned[version], whole.type))
            unowned = difference(_named_fields_of(whole.object, whole.type), kept)
            pruned = remove(whole.object, unowned, whole.type)
    end = in_version(pruned, last_version)
    left = _named_fields_of(end.object, start.type) if end is not None else {}
    gone = intersection(difference(everything, left), named_last)
    return remove(start.object, gone, start.type) if gone else start.object


def _named_fields_of(value: object, kind: FieldType) -> Fields:
    return with_named_fields(fields_of(value, kind), kind)


def collapse_atomic(fields: Fields, kind: FieldType) -> Fields:
    """Return a set with everything below an atomic part replaced by the part: its schema may have become atomic."""
    changed: Fields = {}
    for element, node in fields.items():
        if not node:
            continue
        below, _ = _step(kind, element)
        if below.is_atomic:
            changed[element] = LEAF
        elif below.holds_atomic:
            inner = collapse_atomic(node, below)
            if inner is not node:
                changed[element] = inner
    return {**fields, **changed} if changed else fields
