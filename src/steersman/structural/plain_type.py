"""`Plain`: a quick test that most values pass, after which no other check is necessary.

A schema becomes a type that msgspec checks in one call. A value that fits has only declared fields and no null, so that
nothing would be dropped from it, and it satisfies every rule of types, values and required fields. A value that does
not fit may still be valid, and many schemas cannot be expressed as such a type: then the walks decide, as they would
without it. Duplicates in lists, embedded resources and CEL rules are not covered.
"""

from collections.abc import Callable
from typing import Annotated, Any, Final, Literal

import msgspec
from msgspec import Meta

from steersman.golang.numbers import INT64_MAX, INT64_MIN
from steersman.structural.schema import META_FIELDS, Structural

#: How many values are walked before a type is worth making.
_WORTH_IT: Final = 20
#: How many objects a schema may describe.
_MOST: Final = 300
_NO_NAME: Final = ('"', "\\")

_ANYWHERE: Final = frozenset(
    {"type", "title", "description", "example", "default", "nullable", "x-kubernetes-validations"}
)
_INT_RANGES: Final = {
    "": (INT64_MIN, INT64_MAX),
    "int64": (INT64_MIN, INT64_MAX),
    "int32": (-(2**31), 2**31 - 1),
}


class Plain:
    """The quick look at values of one node."""

    __slots__ = ("_asked", "_is_root", "_node", "_type")

    def __init__(self, node: Structural, *, is_root: bool) -> None:
        self._node = node
        self._is_root = is_root
        self._asked = 0
        self._type: Any = None

    def holds(self, value: object) -> bool:
        """Return whether a value surely needs nothing."""
        kind = self._type or self._learned()
        if kind is None:
            return False
        try:
            msgspec.convert(value, kind)
        except (msgspec.ValidationError, RecursionError):
            return False
        return True

    def _learned(self) -> object:
        self._asked += 1
        if self._asked == _WORTH_IT:
            self._type = plain_type(self._node, is_root=self._is_root)
        return self._type


class _TooMuchError(Exception):
    """A schema cannot be expressed as a type."""


def plain_type(node: Structural, *, is_root: bool) -> object:
    """Return the type of the values of a node that need no other check; ``None`` if there is no such type."""
    try:
        return _Builder().root(node) if is_root else _Builder().build(node)
    except _TooMuchError:
        return None


def _demand(holds: bool) -> None:
    if not holds:
        raise _TooMuchError


def _only(node: Structural, *keywords: str) -> None:
    _demand(_ANYWHERE.union(keywords).issuperset(node.schema))


def _size(value: Any) -> int | None:
    _demand(value is None or (value.__class__ is int and value >= 0))
    return value  # type: ignore[no-any-return]  # what is neither was refused


def _text(node: Structural) -> Any:
    _only(node, "enum", "minLength", "maxLength")
    low, high = _size(node.schema.get("minLength")), _size(node.schema.get("maxLength"))
    allowed = node.schema.get("enum")
    if allowed is None:
        return Annotated[str, Meta(min_length=low, max_length=high)]
    _demand(bool(allowed) and low is None and high is None and {value.__class__ for value in allowed} == {str})
    return Literal[tuple(allowed)]


def _integer(node: Structural) -> object:
    _only(node, "minimum", "maximum", "format")
    format_name = node.schema.get("format") or ""
    _demand(format_name in _INT_RANGES)
    low, high = _INT_RANGES[format_name]
    for name in ("minimum", "maximum"):
        limit = node.schema.get(name)
        _demand(limit is None or (limit.__class__ is int and low <= limit <= high))
    least, most = node.schema.get("minimum"), node.schema.get("maximum")
    return Annotated[int, Meta(ge=low if least is None else least, le=high if most is None else most)]


def _int_or_string(node: Structural) -> object:
    _only(node, "x-kubernetes-int-or-string")
    return Annotated[int, Meta(ge=INT64_MIN, le=INT64_MAX)] | str


def _boolean(node: Structural) -> object:
    _only(node)
    return bool


class _Builder:
    """Builds the types of one schema."""

    def __init__(self) -> None:
        self._objects = 0

    def build(self, node: Structural) -> object:
        """Return the type of a node's values."""
        _demand(not node.embedded)
        if node.schema.get("x-kubernetes-int-or-string"):
            return _int_or_string(node)
        of_type: dict[tuple[str, ...], Callable[[Structural], Any]] = {
            ("string",): _text,
            ("integer",): _integer,
            ("boolean",): _boolean,
            ("array",): self._list,
            ("object",): self._object,
        }
        _demand(node.types in of_type)
        return of_type[node.types](node)

    def root(self, node: Structural) -> object:
        """Return the type of whole objects: the fields that they all have are read elsewhere."""
        _only(node, "properties", "required", "x-kubernetes-map-type")
        _demand(node.types == ("object",))
        fields: dict[str, Any] = dict.fromkeys(sorted(META_FIELDS), Any)
        for name, child in node.properties.items():
            if name == "metadata":
                _demand({"type", "description"}.issuperset(child.schema) and child.types == ("object",))
                fields[name] = dict[str, Any]
            else:
                fields[name] = self.build(child)
        return self._struct(fields, node.schema.get("required") or ())

    def _list(self, node: Structural) -> object:
        _only(node, "items", "minItems", "maxItems", "x-kubernetes-list-type", "x-kubernetes-list-map-keys")
        if node.items is None:
            raise _TooMuchError
        low, high = _size(node.schema.get("minItems")), _size(node.schema.get("maxItems"))
        return Annotated[list[self.build(node.items)], Meta(min_length=low, max_length=high)]  # type: ignore[misc]  # built at run time

    def _object(self, node: Structural) -> object:
        if node.values is not None:
            _only(node, "additionalProperties", "x-kubernetes-map-type")
            return dict[str, self.build(node.values)]  # type: ignore[misc]  # built at run time
        if node.preserves_unknown:
            _only(node, "x-kubernetes-preserve-unknown-fields", "x-kubernetes-map-type")
            return dict[str, Any]
        _only(node, "properties", "required", "x-kubernetes-map-type")
        fields = {name: self.build(child) for name, child in node.properties.items()}
        return self._struct(fields, node.schema.get("required") or ())

    def _struct(self, fields: dict[str, object], required: Any) -> object:
        self._objects += 1
        _demand(self._objects <= _MOST and fields.keys() >= set(required))
        _demand(all(name.isprintable() and not any(char in name for char in _NO_NAME) for name in fields))
        names = {f"field{number}": name for number, name in enumerate(fields)}
        return msgspec.defstruct(
            "PlainObject",
            [(own, fields[name]) if name in required else (own, fields[name], None) for own, name in names.items()],
            rename=names,
            forbid_unknown_fields=True,
            kw_only=True,
        )
