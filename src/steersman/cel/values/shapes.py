"""How the data of a custom resource looks to an expression: JSON seen through its schema, without copying it.

A string of format ``date-time`` is a timestamp, a whole number under ``type: number`` a double, and so on. What does
not fit its schema is an error only when an expression looks at it.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, ClassVar

from steersman.cel.errors import EvaluationError, NoSuchOverload
from steersman.cel.syntax.escaping import escape, unescape
from steersman.cel.values.scalar_shapes import (
    FORMATS,
    SCALARS,
    IntOrStringShape,
    Shape,
    StringShape,
    UnknownShape,
    UntypedShape,
)
from steersman.cel.values.values import CelMap, JsonMap, ObjectValue
from steersman.json_types import ABSENT, JsonObject


class ObjectShape(Shape):
    """``type: object``: with properties a fixed set of fields, else a map of names to values."""

    __slots__ = ("is_object", "is_open", "most", "properties", "values")

    def __init__(
        self,
        properties: Mapping[str, Shape] | None,
        values: Shape | None,
        *,
        nullable: bool,
        most: int | None = None,
        is_open: bool = False,
    ) -> None:
        super().__init__(nullable=nullable)
        self.is_open = is_open
        self.is_object = properties is not None
        self.properties = properties or {}
        self.values = values
        self.most = most

    @property
    def is_plain(self) -> bool:
        """True when all of it is declared, and all of that is plain."""
        inner = [*self.properties.values(), *([] if self.values is None else [self.values])]
        return bool(inner) and not self.is_open and all(shape.is_plain for shape in inner)

    def shape_of(self, key: str) -> Shape | None:
        """Return the shape of the value under that JSON key, if it is declared."""
        return self.properties.get(key) if self.is_object else self.values

    def _wrap(self, value: object) -> object:
        if value.__class__ is not dict:
            raise EvaluationError("invalid data, expected a map for the provided schema with type=object")
        return SchemaMap(value, self)


class ListShape(Shape):
    """``type: array``, with the meaning of its list type."""

    __slots__ = ("items", "keys", "list_class", "most")

    def __init__(
        self,
        items: Shape | None,
        list_type: str,
        keys: Sequence[str],
        *,
        nullable: bool,
        most: int | None = None,
    ) -> None:
        super().__init__(nullable=nullable)
        self.items = items
        self.most = most
        self.keys = tuple(escape(key) or key for key in keys)
        self.list_class = _LIST_TYPES.get(list_type, SchemaList)

    @property
    def is_plain(self) -> bool:
        """True when the items are, and order counts or can be left to the interpreter."""
        return self.items is not None and self.items.is_plain and self.list_class is not SetList

    def _wrap(self, value: object) -> object:
        if value.__class__ is not list:
            raise EvaluationError("invalid data, expected an array for the provided schema with type=array")
        if self.items is None:
            raise EvaluationError("invalid array type, expected Items with a non-empty Schema")
        return self.list_class(value, self)


class SchemaMap:
    """A JSON object seen through its schema."""

    __slots__ = ("raw", "shape")

    type_name: ClassVar[str] = "map"

    def __init__(self, raw: JsonObject, shape: ObjectShape) -> None:
        self.raw = raw
        self.shape = shape

    def __len__(self) -> int:
        return len(self.raw)

    def find(self, key: object) -> object:
        """Return the value under a key as rules spell it, or ``ABSENT``; null fields of objects are missing."""
        if key.__class__ is not str:
            raise NoSuchOverload
        name = unescape(key) if self.shape.is_object else key
        value = self.raw.get(name, ABSENT) if name is not None else ABSENT
        if name is None or value is ABSENT or (value is None and self.shape.is_object):
            return ABSENT
        shape = self.shape.shape_of(name)
        return ABSENT if shape is None else shape.wrap(value)

    def keys(self) -> Iterator[str]:
        """Yield the declared keys by their names in rules."""
        for key in self.raw:
            if self.shape.shape_of(key) is not None:
                yield (escape(key) or key) if self.shape.is_object else key

    def items(self) -> Iterator[tuple[str, object]]:
        """Yield keys and values."""
        for key in self.keys():
            value = self.find(key)
            if value is not ABSENT:
                yield key, value

    def matches(self, other: object, equals: Callable[[Any, Any], bool]) -> bool:
        """Return whether another map of the same size is equal; undeclared fields are compared as JSON."""
        for key, value in self.raw.items():
            if self.shape.shape_of(key) is None:
                if not isinstance(other, SchemaMap):
                    raise NoSuchOverload
                if key in other.raw and value != other.raw[key]:
                    return False
                continue
            mine, theirs = self.find(key), find(other, key)
            if (mine is ABSENT) is not (theirs is ABSENT):
                return False
            if mine is not ABSENT and not equals(mine, theirs):
                return False
        return True


class SchemaList:
    """A JSON array seen through its schema; this one is ordered."""

    __slots__ = ("raw", "shape")

    type_name: ClassVar[str] = "list"

    def __init__(self, raw: list[Any], shape: ListShape) -> None:
        self.raw = raw
        self.shape = shape

    def __len__(self) -> int:
        return len(self.raw)

    @property
    def _item(self) -> Shape:
        if self.shape.items is None:
            raise EvaluationError("invalid array type, expected Items with a non-empty Schema")
        return self.shape.items

    def __iter__(self) -> Iterator[object]:
        return map(self._item.wrap, self.raw)

    def __getitem__(self, index: int) -> object:
        return self._item.wrap(self.raw[index])

    def plus(self, other: Any) -> object:
        """Return the list with the elements of another list appended."""
        return [*self, *other]

    def matches(self, other: Any, equals: Callable[[Any, Any], bool]) -> bool:
        """Return whether another list of the same length is equal."""
        return all(map(equals, self, other))


def _exact(value: object) -> tuple[type, object]:
    """Return a key that keeps ``1``, ``1.0`` and ``true`` apart, like Go's map keys."""
    return value.__class__, value


class SetList(SchemaList):
    """An array of list type ``set``: order does not matter to the list on the left."""

    __slots__ = ()

    def plus(self, other: Any) -> object:
        """Return the list with the new elements of another list appended."""
        seen = set(map(_exact, self.raw))
        merged = list(self.raw)
        for element in other:
            if _exact(element) not in seen:
                seen.add(_exact(element))
                merged.append(element)
        return SetList(merged, self.shape)

    def matches(self, other: Any, equals: Callable[[Any, Any], bool]) -> bool:  # noqa: ARG002 - members are scalars
        """Return whether another list of the same length is equal in any order."""
        members = set(map(_exact, self.raw))
        return all(_exact(element) in members for element in other)


class MapList(SchemaList):
    """An array of list type ``map``: elements are identified by their keys, not by their indexes."""

    __slots__ = ()

    def _key(self, element: object) -> tuple[object, ...]:
        if element.__class__ is not dict:
            raise NoSuchOverload
        return tuple(_exact(element.get(key)) for key in self.shape.keys)

    def plus(self, other: Any) -> object:
        """Return the list with elements of the same key replaced, and others appended."""
        merged = list(self.raw)
        places = {self._key(element): place for place, element in enumerate(merged)}
        for element in other:
            raw = element.raw if isinstance(element, SchemaMap) else element
            place = places.get(self._key(raw))
            if place is None:
                merged.append(raw)
            else:
                merged[place] = raw
        return MapList(merged, self.shape)

    def matches(self, other: Any, equals: Callable[[Any, Any], bool]) -> bool:
        """Return whether another list of the same length is equal, key by key."""
        mine = {self._key(element): element for element in self.raw}
        for element in other:
            raw = element.raw if isinstance(element, SchemaMap) else element
            found = mine.get(self._key(raw))
            if found is None or not equals(self._item.wrap(found), element):
                return False
        return True


_LIST_TYPES: dict[str, type[SchemaList]] = {"set": SetList, "map": MapList}

LIST_CLASSES: frozenset[Any] = frozenset({list, SchemaList, SetList, MapList})
MAP_CLASSES: frozenset[Any] = frozenset({CelMap, JsonMap, ObjectValue, SchemaMap})


def find(container: Any, key: object) -> object:
    """Return the value of a key of any map, or ``ABSENT``."""
    found: Any = container.find(key)
    return found


def keys_of(container: Any) -> Iterator[object]:
    """Yield the keys of any map."""
    keys: Iterator[Any] = container.keys()
    return keys


def shape_of(schema: Mapping[str, Any], *, is_root: bool = False) -> Shape:
    """Compile a schema node into a way of looking at values; at the root of a resource, its metadata is declared."""
    nullable = bool(schema.get("nullable", False))
    kind = schema.get("type", "")
    if schema.get("x-kubernetes-int-or-string"):
        return IntOrStringShape(nullable=nullable)
    if kind == "object":
        return _object_shape(schema, is_root=is_root)
    if kind == "array":
        items = schema.get("items")
        return ListShape(
            None if items is None else shape_of(items),
            schema.get("x-kubernetes-list-type") or "",
            schema.get("x-kubernetes-list-map-keys") or (),
            nullable=nullable,
            most=schema.get("maxItems"),
        )
    if kind == "string":
        return StringShape(FORMATS.get(schema.get("format") or ""), nullable=nullable, most=schema.get("maxLength"))
    if kind in SCALARS:
        return SCALARS[kind](nullable=nullable)
    unknown = UnknownShape if schema.get("x-kubernetes-preserve-unknown-fields") else UntypedShape
    return unknown(nullable=nullable)


def _object_shape(schema: Mapping[str, Any], *, is_root: bool) -> Shape:
    properties = schema.get("properties")
    if is_root or schema.get("x-kubernetes-embedded-resource"):
        properties = with_type_and_metadata(properties or {})
    shapes = None if properties is None else {name: shape_of(prop) for name, prop in properties.items()}
    values = schema.get("additionalProperties")
    values_shape = shape_of(values) if isinstance(values, Mapping) else None
    return ObjectShape(
        shapes,
        values_shape,
        nullable=bool(schema.get("nullable", False)),
        most=schema.get("maxProperties"),
        is_open=bool(schema.get("x-kubernetes-preserve-unknown-fields")),
    )


def with_type_and_metadata(properties: Mapping[str, Any]) -> JsonObject:
    """Return the declarations of ``kind``, ``apiVersion``, ``metadata.name`` and ``generateName`` of every resource."""
    string = {"type": "string"}
    metadata = properties.get("metadata", {}).get("properties", {})
    if (
        properties.get("kind", {}).get("type") == "string"
        and properties.get("apiVersion", {}).get("type") == "string"
        and metadata.get("name", {}).get("type") == "string"
        and metadata.get("generateName", {}).get("type") == "string"
    ):
        return dict(properties)
    return {
        **properties,
        "kind": string,
        "apiVersion": string,
        "metadata": {"type": "object", "properties": {"name": string, "generateName": string}},
    }
