"""Reads what Go writes for nothing: ``null`` where a list, a map or a struct belongs.

A ClusterRole without rules comes as ``"rules": null``, although its schema demands a list. Only documents that do not
decode otherwise come here, so nothing of this is on the fast path.
"""

from typing import Any

from msgspec import inspect

from steersman.json_types import JsonObject

_EMPTY: dict[type[inspect.Type], type[list[Any] | JsonObject]] = {
    inspect.ListType: list,
    inspect.DictType: dict,
    inspect.StructType: dict,
}


def with_empty_for_null(value: object, wanted: inspect.Type) -> object:
    """Return the document with nulls left out, or empty where its type demands a list, a map or a part."""
    match value, _alternative(value, wanted):
        case dict(), inspect.StructType() as struct:
            return _repaired_struct(value, struct)
        case dict(), inspect.DictType(value_type=inner):
            return {name: with_empty_for_null(member, inner) for name, member in value.items()}
        case list(), inspect.ListType(item_type=inner):
            return [with_empty_for_null(item, inner) for item in value]
        case _:
            return value


def _alternative(value: object, wanted: inspect.Type) -> inspect.Type:
    """Return the member of a union that a value of this shape is read as."""
    if not isinstance(wanted, inspect.UnionType):
        return wanted
    shapes = (inspect.ListType,) if isinstance(value, list) else (inspect.StructType, inspect.DictType)
    return next((member for member in wanted.types if isinstance(member, shapes)), wanted)


def _repaired_struct(value: JsonObject, struct: inspect.StructType) -> JsonObject:
    fields = {field.encode_name: field for field in struct.fields}
    repaired = {}
    for name, member in value.items():
        field = fields.get(name)
        if field is None:
            repaired[name] = member
        elif member is not None:
            repaired[name] = with_empty_for_null(member, field.type)
        elif field.required:
            empty = _EMPTY.get(type(field.type))
            repaired[name] = empty() if empty else None
    return repaired
