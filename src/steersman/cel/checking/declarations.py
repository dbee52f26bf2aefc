"""What an expression may see of a schema: types, fields, and how large values can get.

Only declared properties are visible. A schema that CEL cannot express (no type, unknown fields preserved) declares
nothing. The sizes feed the cost estimate; they follow from the limits in the schema or from the largest request.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from steersman.cel.syntax.escaping import RESERVED, escape
from steersman.cel.types import (
    BOOL,
    BYTES,
    DOUBLE,
    DURATION,
    DYN,
    INT,
    STRING,
    TIMESTAMP,
    CelType,
    Kind,
    list_of,
    map_of,
    object_type,
)
from steersman.cel.values.shapes import with_type_and_metadata

#: The largest request an API server reads, in bytes.
MAX_REQUEST = 3 * 1024 * 1024
#: Minimum size in JSON of each of these, in bytes.
_MIN_STRING = 2
_MIN_OBJECT = 2
_MIN_LIST = 2
_MIN_BOOL = 4
_MIN_NUMBER = 1
#: Bytes of a map entry beside its value; of a property beside name and value.
_ENTRY_OVERHEAD = 6
_PROPERTY_OVERHEAD = 4
_BYTES_PER_CHARACTER = 4

#: Formats with a separate CEL type: the type, and the minimum and maximum size in bytes.
_FORMATS = {
    "duration": (DURATION, 3, 32),
    "date": (TIMESTAMP, 12, 12),
    "date-time": (TIMESTAMP, 21, 32),
}

ROOT_NAME = "selfType1"


@dataclass(frozen=True, slots=True)
class Declaration:
    """The type of a schema node with what is known about the size of its values."""

    type: CelType
    #: The most characters, bytes, items or entries a value can have.
    max_elements: int = 0
    #: The least bytes a value takes as JSON.
    min_size: int = 0
    items: "Declaration | None" = None
    keys: "Declaration | None" = None
    fields: Mapping[str, "Declaration"] = field(default_factory=dict)

    def field(self, name: str) -> "Declaration | None":
        """Return a field by its name in rules; a reserved word may also be written plainly."""
        found = self.fields.get(name)
        if found is None and name in RESERVED:
            found = self.fields.get(f"__{name}__")
        return found

    def objects(self) -> Iterator["Declaration"]:
        """Yield every object type in this declaration, itself included."""
        if self.type.kind is Kind.OBJECT:
            yield self
        children = (*self.fields.values(), *((self.items,) if self.items is not None else ()))
        for child in children:
            yield from child.objects()


@dataclass(frozen=True, slots=True)
class Clip:
    """Assumed maximum sizes of values, besides the limits of their schema."""

    text: int
    items: int

    def applied(self, declared: Declaration) -> Declaration:
        """Return the declaration of values that are no larger."""
        most = declared.max_elements
        if declared.type.kind in (Kind.STRING, Kind.BYTES, Kind.DYN):
            most = min(most, self.text)
        elif declared.items is not None:
            most = min(most, self.items)
        items = None if declared.items is None else self.applied(declared.items)
        fields = {name: self.applied(child) for name, child in declared.fields.items()}
        return replace(declared, max_elements=most, items=items, fields=fields)


#: No clip: values are as large as their schema allows.
UNCLIPPED = Clip(1 << 63, 1 << 63)


def declare(schema: Mapping[str, object], *, is_root: bool = False) -> Declaration | None:
    """Return the declaration that rules on this schema see; ``None`` if CEL cannot express it."""
    declared = _declare(schema, is_root=is_root)
    return None if declared is None else _named(declared, ROOT_NAME)


def _declare(schema: Mapping[str, Any], *, is_root: bool = False) -> Declaration | None:
    if schema.get("x-kubernetes-int-or-string"):
        return Declaration(DYN, _string_length(schema), 1)
    kind = schema.get("type") or ""
    if kind == "array":
        return _list(schema)
    if kind == "object":
        return _object(schema, is_root=is_root)
    if kind == "string":
        return _string(schema)
    return _SCALARS.get(kind)


_SCALARS = {
    "boolean": Declaration(BOOL, 0, _MIN_BOOL),
    "number": Declaration(DOUBLE, 0, _MIN_NUMBER),
    "integer": Declaration(INT, 0, _MIN_NUMBER),
}


def _child(schema: Mapping[str, Any]) -> Declaration | None:
    return _declare(schema, is_root=bool(schema.get("x-kubernetes-embedded-resource")))


def _list(schema: Mapping[str, Any]) -> Declaration | None:
    if schema.get("items") is None or (items := _child(schema["items"])) is None:
        return None
    most = schema.get("maxItems")
    length = max(most, 0) if most is not None else (MAX_REQUEST - 2) // (items.min_size + 1)
    return Declaration(list_of(items.type), length, _MIN_LIST, items)


def _object(schema: Mapping[str, Any], *, is_root: bool) -> Declaration | None:
    properties: Mapping[str, Any] = schema.get("properties") or {}
    if is_root:
        properties = with_type_and_metadata(properties)
    values = schema.get("additionalProperties")
    if isinstance(values, Mapping):
        return _map(schema, values)
    required = frozenset(schema.get("required") or ())
    fields: dict[str, Declaration] = {}
    size = _MIN_OBJECT
    for name, prop in properties.items():
        declared = _child(prop)
        if declared is None:
            continue
        if (escaped := escape(name)) is not None:
            fields[escaped] = declared
        if name in required and prop.get("default") is None:
            size += len(name.encode()) + declared.min_size + _PROPERTY_OVERHEAD
    return Declaration(object_type("object"), 0, size, fields=fields)


def _map(schema: Mapping[str, Any], values: Mapping[str, object]) -> Declaration | None:
    declared = _child(values)
    if declared is None:
        return None
    most = schema.get("maxProperties")
    length = max(most, 0) if most is not None else (MAX_REQUEST - 2) // (declared.min_size + _ENTRY_OVERHEAD)
    return Declaration(map_of(STRING, declared.type), length, _MIN_OBJECT, declared, _KEY)


_KEY = Declaration(STRING, 0, _MIN_STRING)


def _string(schema: Mapping[str, Any]) -> Declaration:
    name = schema.get("format")
    if name in _FORMATS:
        kind, least, most = _FORMATS[name]
        return Declaration(kind, most, least)
    if name == "byte":
        longest = schema.get("maxLength")
        return Declaration(BYTES, max(longest, 0) if longest is not None else MAX_REQUEST - 2, _MIN_STRING)
    enum = schema.get("enum")
    if schema.get("maxLength") is None and enum:
        longest_choice = max((len(choice.encode()) for choice in enum if isinstance(choice, str)), default=0)
        return Declaration(STRING, longest_choice, _MIN_STRING)
    return Declaration(STRING, _string_length(schema), _MIN_STRING)


def _string_length(schema: Mapping[str, Any]) -> int:
    longest = schema.get("maxLength")
    return max(longest, 0) * _BYTES_PER_CHARACTER if longest is not None else MAX_REQUEST - 2


def _named(declared: Declaration, name: str) -> Declaration:
    """Name every object type after its path, so that two objects of equal form stay different types."""
    if declared.type.kind is Kind.OBJECT:
        fields = {key: _named(child, f"{name}.{key}") for key, child in declared.fields.items()}
        return replace(declared, type=object_type(name), fields=fields)
    if declared.items is None:
        return declared
    if declared.type.kind is Kind.MAP:
        values = _named(declared.items, f"{name}.@elem")
        return replace(declared, type=map_of(STRING, values.type), items=values)
    items = _named(declared.items, f"{name}.@idx")
    return replace(declared, type=list_of(items.type), items=items)
