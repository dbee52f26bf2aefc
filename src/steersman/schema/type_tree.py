"""Builds schemas from Python types: a class's fields, their types, constraints, defaults and docstrings.

Every part of the resulting schema keeps which field of which class it came from, so that errors can name the author's
own file.
"""

import ast
import enum
import inspect
import textwrap
import types
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import date, datetime, timedelta
from functools import cache
from typing import Annotated, Any, Final, Literal, Union, get_args, get_origin

import msgspec
from msgspec import NODEFAULT, Struct, structs

from steersman.errors import DeclarationError
from steersman.objects.codec import decode_json, encode_json
from steersman.objects.fields import fields_of
from steersman.objects.meta import Condition, ObjectMeta
from steersman.objects.quantity import Quantity
from steersman.objects.resource import KubeObject, Status
from steersman.objects.times import Duration, MicroTime
from steersman.schema.constraints import Constraint, ListMap, Opaque, constraints_of
from steersman.structural.checks.type_checks import JSON_TYPES
from steersman.structural.schema import Schema

_STRING: Final = {"type": "string"}
_INT_OR_STRING: Final = {"x-kubernetes-int-or-string": True}
_ANYTHING: Final = {"x-kubernetes-preserve-unknown-fields": True}
_STRINGS: Final = {"type": "object", "additionalProperties": {"type": "string"}}

#: Metadata inside an object: the part of it that a template can set.
_TEMPLATE_META: Final = {
    "type": "object",
    "properties": {
        "name": _STRING,
        "generateName": _STRING,
        "namespace": _STRING,
        "labels": _STRINGS,
        "annotations": _STRINGS,
        "finalizers": {"type": "array", "items": _STRING},
    },
}
#: A condition as Kubernetes' conventions have it.
_CONDITION: Final = {
    "type": "object",
    "required": ["type", "status", "lastTransitionTime", "reason", "message"],
    "properties": {
        "type": _STRING,
        "status": {"type": "string", "enum": ["True", "False", "Unknown"]},
        "observedGeneration": {"type": "integer", "format": "int64"},
        "lastTransitionTime": {"type": "string", "format": "date-time"},
        "reason": _STRING,
        "message": _STRING,
    },
}
#: Types with a fixed schema.
_PLAIN: Final[dict[Any, Schema]] = {
    str: _STRING,
    bool: {"type": "boolean"},
    int: {"type": "integer"},
    float: {"type": "number"},
    bytes: {"type": "string", "format": "byte"},
    datetime: {"type": "string", "format": "date-time"},
    MicroTime: {"type": "string", "format": "date-time"},
    date: {"type": "string", "format": "date"},
    Duration: {"type": "string", "format": "duration"},
    Quantity: _INT_OR_STRING,
    ObjectMeta: _TEMPLATE_META,
    Condition: _CONDITION,
    Any: _ANYTHING,
    object: _ANYTHING,
    msgspec.Raw: _ANYTHING,
    dict: {"type": "object", **_ANYTHING},
}


@dataclass(frozen=True, slots=True)
class Origin:
    """The field, or the class, that a part of a schema came from."""

    owner: type
    field: str = ""

    def __str__(self) -> str:
        place = f"{self.owner.__qualname__}.{self.field}" if self.field else self.owner.__qualname__
        try:
            lines, first = inspect.getsourcelines(self.owner)
            return f"{place} ({inspect.getsourcefile(self.owner)}:{first + self._offset(lines)})"
        except (OSError, TypeError):
            return f"{self.owner.__module__}.{place}"

    def _offset(self, lines: list[str]) -> int:
        starts = (number for number, line in enumerate(lines) if line.strip().startswith(f"{self.field}:"))
        return next(starts, 0) if self.field else 0


@dataclass(slots=True)
class TypeTree:
    """Builds the schema of one class."""

    #: Where each part of the schema came from, by its path in the schema.
    origins: dict[str, Origin] = field(default_factory=dict)
    #: Classes that are being built: one that occurs again contains itself.
    open: list[type] = field(default_factory=list)
    #: Whether Python's defaults become the schema's: a status is written by the operator, and is not defaulted.
    with_defaults: bool = True

    def schema(self, wanted: object, path: str, origin: Origin) -> Schema:
        """Return the schema of a type."""
        self.origins[path] = origin
        if get_origin(wanted) is Annotated:
            inner, *extras = get_args(wanted)
            # An opaque type need not have a schema; it may even contain itself.
            is_opaque = any(isinstance(extra, Opaque) for extra in extras)
            schema: Schema = {"type": "object"} if is_opaque else self.schema(inner, path, origin)
            _constrain(schema, [extra for extra in extras if isinstance(extra, Constraint)], origin)
            return schema
        plain = _plain(wanted)
        if plain is not None:
            return plain
        return self._composed(wanted, path, origin)

    def _composed(self, wanted: object, path: str, origin: Origin) -> Schema:
        builder = _GENERIC.get(get_origin(wanted))
        if builder is not None:
            return builder(self, wanted, path, origin)
        if isinstance(wanted, type) and issubclass(wanted, enum.Enum):
            return _enum_schema([member.value for member in wanted], origin)
        if isinstance(wanted, type) and issubclass(wanted, KubeObject):
            return self._embedded(wanted, path)
        if isinstance(wanted, type) and issubclass(wanted, Struct):
            return self.model(wanted, path)
        raise DeclarationError(f"{origin}: {_advice(wanted)}")

    def _list(self, wanted: object, path: str, origin: Origin) -> Schema:
        (item,) = get_args(wanted)
        schema: Schema = {"type": "array", "items": self.schema(item, f"{path}.items", origin)}
        if item is Condition:
            ListMap("type").apply(schema)
        return schema

    def _set(self, wanted: object, path: str, origin: Origin) -> Schema:
        schema = self._list(wanted, path, origin)
        return schema | {"x-kubernetes-list-type": "set"}

    def _dict(self, wanted: object, path: str, origin: Origin) -> Schema:
        key, value = get_args(wanted)
        if key is not str:
            raise DeclarationError(f"{origin}: the keys of a dict are str in JSON, not {_name(key)}")
        if value in (Any, object):
            return {"type": "object", **_ANYTHING}
        return {"type": "object", "additionalProperties": self.schema(value, f"{path}.additionalProperties", origin)}

    def _literal(self, wanted: object, _path: str, origin: Origin) -> Schema:
        return _enum_schema(list(get_args(wanted)), origin)

    def _union(self, wanted: object, path: str, origin: Origin) -> Schema:
        members = [member for member in get_args(wanted) if member not in (types.NoneType, msgspec.UnsetType)]
        if len(members) == 1:
            return self.schema(members[0], path, origin)
        if set(members) == {int, str}:
            return dict(_INT_OR_STRING)
        names = " | ".join(_name(member) for member in members)
        raise DeclarationError(f"{origin}: Kubernetes has no schema for {names}; the only supported union is int | str")

    def _embedded(self, kind: type[KubeObject], path: str) -> Schema:
        schema = self.model(kind, path)
        schema["properties"].pop("metadata")
        schema["x-kubernetes-embedded-resource"] = True
        if not schema["properties"]:
            del schema["properties"]
            schema |= _ANYTHING
        return schema

    def model(self, model: type[Struct], path: str) -> Schema:
        """Return the schema of a class with fields."""
        if model in self.open:
            chain = " → ".join(part.__name__ for part in (*self.open[self.open.index(model) :], model))
            raise DeclarationError(
                f"{Origin(model)}: it contains itself ({chain}), which no Kubernetes schema can express; give the "
                "inner field the type dict[str, Any], or constrain it with Opaque()"
            )
        self.open.append(model)
        try:
            return self._object(model, path)
        finally:
            self.open.pop()

    def _object(self, model: type[Struct], path: str) -> Schema:
        schema: Schema = {"type": "object"}
        self.origins[path] = Origin(model)
        documented = _field_docs(model)
        properties: Schema = {}
        fields = fields_of(model)
        for info in fields:
            inner = f"{path}.properties[{info.encode_name}]"
            properties[info.encode_name] = self._field(model, info, inner)
            if text := documented.get(info.name):
                properties[info.encode_name].setdefault("description", text)
        if properties:
            schema["properties"] = properties
        required = [info.encode_name for info in fields if self._is_required(info)]
        if required:
            schema["required"] = required
        if text := _class_doc(model):
            schema["description"] = text
        _constrain(schema, constraints_of(model), Origin(model))
        return schema

    def _field(self, model: type[Struct], info: structs.FieldInfo, path: str) -> Schema:
        origin = Origin(model, info.name)
        schema = self.schema(info.type, path, origin)
        if info.name == "observed_generation" and issubclass(model, Status):
            schema["format"] = "int64"
        _rename_keys(schema, info.type)
        default = self._default(info, origin)
        if default is not None:
            schema["default"] = default
        return schema

    def _default(self, info: structs.FieldInfo, origin: Origin) -> object:
        # A factory that msgspec recognises belongs to a collection that is left out while empty: there is no default.
        if not self.with_defaults or info.default_factory in (NODEFAULT, list, dict, set):
            return None
        try:
            return decode_json(encode_json(info.default_factory()))
        except (TypeError, ValueError, NotImplementedError) as error:
            raise DeclarationError(f"{origin}: its default cannot be written as JSON: {error}") from None

    def _is_required(self, info: structs.FieldInfo) -> bool:
        return info.required and not _is_optional(info.type)


def _plain(wanted: object) -> Schema | None:
    try:
        found = _PLAIN.get(wanted)
    except TypeError:
        return None
    return decode_json(encode_json(found)) if found is not None else None


def _is_optional(wanted: object) -> bool:
    if get_origin(wanted) is Annotated:
        return _is_optional(get_args(wanted)[0])
    return get_origin(wanted) in (Union, types.UnionType) and types.NoneType in get_args(wanted)


def _rename_keys(schema: Schema, wanted: object) -> None:
    """Replace the Python names of a map list's keys by those on the wire."""
    keys = schema.get("x-kubernetes-list-map-keys")
    model = _item_model(wanted)
    if keys and model is not None:
        names = {info.name: info.encode_name for info in fields_of(model)}
        schema["x-kubernetes-list-map-keys"] = [names.get(key, key) for key in keys]


def _item_model(wanted: object) -> type[Struct] | None:
    for part in get_args(wanted) or ():
        if isinstance(part, type) and issubclass(part, Struct):
            return part
        found = _item_model(part)
        if found is not None:
            return found
    return None


def _enum_schema(values: list[object], origin: Origin) -> Schema:
    kinds = {JSON_TYPES.get(value.__class__) for value in values if value is not None}
    if len(kinds) != 1 or kinds & {None, "array", "object"}:
        raise DeclarationError(f"{origin}: the values of an enum must all be texts, or all be numbers: {values}")
    return {"type": kinds.pop(), "enum": [value for value in values if value is not None]}


def _type_of(schema: Schema) -> str:
    return "int-or-string" if schema.get("x-kubernetes-int-or-string") else schema.get("type", "")


def _constrain(schema: Schema, constraints: list[Constraint], origin: Origin) -> None:
    for constraint in constraints:
        type_ = _type_of(schema)
        if constraint.applies_to and type_ not in constraint.applies_to:
            wanted = " or ".join(sorted(constraint.applies_to))
            raise DeclarationError(f"{origin}: {constraint} is for {wanted}, not for {type_ or 'any value'}")
        constraint.apply(schema)


def _name(wanted: object) -> str:
    return wanted.__name__ if isinstance(wanted, type) else str(wanted)


def _advice(wanted: object) -> str:
    if wanted is timedelta:
        return "Kubernetes writes durations as '1h30m': use steersman.Duration, which is a timedelta"
    if wanted in (list, set, tuple):
        return f"declare the type of its items: {_name(wanted)}[str]"
    return f"{_name(wanted)} has no schema: use a Model, or Annotated[…, Opaque()] for what the schema shall not check"


def _class_doc(model: type) -> str:
    text = model.__dict__.get("__doc__")
    return inspect.cleandoc(text) if isinstance(text, str) else ""


@cache
def _own_field_docs(model: type) -> dict[str, str]:
    """Return the docstrings that stand below the fields of a class."""
    try:
        source = textwrap.dedent(inspect.getsource(model))
        (definition,) = ast.parse(source).body
    except (OSError, TypeError, SyntaxError, ValueError):
        return {}
    if not isinstance(definition, ast.ClassDef):
        return {}
    docs = {}
    for statement, following in zip(definition.body, definition.body[1:], strict=False):
        match statement, following:
            case ast.AnnAssign(target=ast.Name(id=name)), ast.Expr(value=ast.Constant(value=str(text))):
                docs[name] = inspect.cleandoc(text)
    return docs


def _field_docs(model: type) -> dict[str, str]:
    docs: dict[str, str] = {}
    for base in reversed(model.__mro__):
        if issubclass(base, Struct) and not base.__module__.startswith("steersman.kinds."):
            docs |= _own_field_docs(base)
    return docs


_Builder = Callable[[TypeTree, Any, str, Origin], Schema]
_GENERIC: Final[dict[Any, _Builder]] = {
    list: TypeTree._list,  # noqa: SLF001 - the table of the class's own cases
    set: TypeTree._set,  # noqa: SLF001 - same
    frozenset: TypeTree._set,  # noqa: SLF001 - same
    dict: TypeTree._dict,  # noqa: SLF001 - same
    Literal: TypeTree._literal,  # noqa: SLF001 - same
    Union: TypeTree._union,  # noqa: SLF001 - same
    types.UnionType: TypeTree._union,  # noqa: SLF001 - same
}
