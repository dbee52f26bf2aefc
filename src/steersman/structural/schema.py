"""`Structural`: a schema of a CustomResourceDefinition as a tree of typed nodes.

It is read once from the JSON of `openAPIV3Schema`; the walks that check, default and prune values are built from it. It
takes every schema that has the right JSON types; `crd.validation` decides whether a real server would accept it.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Final, TypeAlias

from steersman.errors import DecodeError
from steersman.json_types import JsonObject
from steersman.validation.formats import is_known_format

#: Schemas nest at most so deep: far more than any real one, far less than Python's stack.
MAX_DEPTH: Final = 150

#: The type of a node that takes integers and strings.
INT_OR_STRING: Final = ("integer", "string")

#: The fields that every resource has, whatever its schema is.
META_FIELDS: Final = frozenset({"apiVersion", "kind", "metadata"})


#: An OpenAPI v3 schema as JSON.
Schema: TypeAlias = JsonObject


@dataclass(slots=True)
class Structural:
    """One node of a schema: its keywords, and the nodes of the values inside."""

    schema: JsonObject
    types: tuple[str, ...] = ()
    #: The format, if it influences which types are taken; empty otherwise.
    format: str = ""
    nullable: bool = False
    preserves_unknown: bool = False
    embedded: bool = False
    properties: dict[str, "Structural"] = field(default_factory=dict)
    #: The node of values under other names; a bool where the schema has one, `None` where it has nothing.
    additional: "Structural | bool | None" = None
    items: "Structural | None" = None
    all_of: tuple["Structural", ...] = ()
    any_of: tuple["Structural", ...] = ()
    one_of: tuple["Structural", ...] = ()
    negated: "Structural | None" = None
    list_type: str = ""
    list_map_keys: tuple[str, ...] = ()
    default: Any = None
    rules: tuple[JsonObject, ...] = ()

    @property
    def values(self) -> "Structural | None":
        """The node of the values of a map."""
        return self.additional if isinstance(self.additional, Structural) else None

    def child(self, name: str) -> "Structural | None":
        """Return the node of a field, declared or not."""
        return self.properties.get(name) or self.values

    def walk(self) -> Iterator["Structural"]:
        """Yield this node and all value nodes inside, without those of `allOf`, `anyOf`, `oneOf` and `not`."""
        yield self
        for node in (*self.properties.values(), self.values, self.items):
            if node is not None:
                yield from node.walk()


def _types(schema: JsonObject) -> tuple[str, ...]:
    if schema.get("x-kubernetes-int-or-string"):
        return INT_OR_STRING
    return (schema["type"],) if schema.get("type") else ()


def _format(schema: JsonObject) -> str:
    name: str = schema.get("format") or ""
    return name if name and is_known_format(name, schema.get("type") or "") else ""


def _additional(schema: JsonObject, depth: int) -> Structural | bool | None:
    value = schema.get("additionalProperties")
    return parse_schema(value, depth + 1) if value.__class__ is dict else value


def parse_schema(schema: JsonObject, depth: int = 0) -> Structural:
    """Read the JSON of a schema; raises `DecodeError` if it nests too deeply."""
    if depth > MAX_DEPTH:
        raise DecodeError(f"the schema nests deeper than {MAX_DEPTH} levels")

    def several(key: str) -> tuple[Structural, ...]:
        return tuple(parse_schema(part, depth + 1) for part in schema.get(key) or ())

    items, negated = schema.get("items"), schema.get("not")
    return Structural(
        schema=schema,
        types=_types(schema),
        format=_format(schema),
        nullable=bool(schema.get("nullable")),
        preserves_unknown=bool(schema.get("x-kubernetes-preserve-unknown-fields")),
        embedded=bool(schema.get("x-kubernetes-embedded-resource")),
        properties={name: parse_schema(part, depth + 1) for name, part in (schema.get("properties") or {}).items()},
        additional=_additional(schema, depth),
        items=parse_schema(items, depth + 1) if items.__class__ is dict else None,
        all_of=several("allOf"),
        any_of=several("anyOf"),
        one_of=several("oneOf"),
        negated=parse_schema(negated, depth + 1) if negated.__class__ is dict else None,
        list_type=schema.get("x-kubernetes-list-type") or "",
        list_map_keys=tuple(schema.get("x-kubernetes-list-map-keys") or ()),
        default=schema.get("default"),
        rules=tuple(schema.get("x-kubernetes-validations") or ()),
    )
