"""The kinds of an operator as people read them: one line for each field, made from their definitions (CRDs).

What is left to the page is the wording: a line holds the type, the default and the constraints as values, so that it
can be shown in any language. Every kind also has a small document to begin with.
"""

from collections.abc import Iterator, Mapping
from itertools import islice
from typing import Any, Final

from msgspec import Struct

from steersman.golang.yaml_writer import write_yaml
from steersman.json_types import JsonObject

#: Fields of one version that are listed; a kind that embeds a whole pod has many more than anyone reads.
MOST_FIELDS: Final = 400
#: Members of ``spec`` that the beginning of a document shows, and how deep.
_DEEPEST: Final = 4

#: Keywords of a schema that limit a value, in the order in which they are shown.
CONSTRAINTS: Final = (
    "enum",
    "minimum",
    "exclusiveMinimum",
    "maximum",
    "exclusiveMaximum",
    "multipleOf",
    "minLength",
    "maxLength",
    "pattern",
    "format",
    "minItems",
    "maxItems",
    "uniqueItems",
    "minProperties",
    "maxProperties",
    "nullable",
)
#: Members that every object has.
_COMMON: Final = frozenset({"apiVersion", "kind", "metadata"})
_EXAMPLES: Final[JsonObject] = {"integer": 0, "number": 0, "boolean": False, "array": [], "object": {}}


class RuleLine(Struct, frozen=True):
    """A rule of a field: what the server says when it is broken, and the expression."""

    message: str
    expression: str


class FieldLine(Struct, frozen=True, omit_defaults=True, kw_only=True):
    """One field."""

    path: str
    #: ``string``, ``integer``, …; ``array`` and ``map`` have the type of their elements in ``of``.
    type: str
    of: str = ""
    is_required: bool = False
    #: The default as JSON has it; absent if there is none.
    default: Any = None
    constraints: JsonObject = {}
    rules: tuple[RuleLine, ...] = ()
    description: str = ""


class KindLines(Struct, frozen=True, omit_defaults=True, kw_only=True):
    """One served version of a kind."""

    kind: str
    api_version: str
    plural: str
    is_namespaced: bool
    is_stored: bool
    description: str = ""
    fields: tuple[FieldLine, ...] = ()
    #: Number of fields beyond those in ``fields``.
    more_fields: int = 0
    #: A document to begin with, as YAML: required fields, and those that have a default.
    example: str = ""


def kind_lines(definition: Mapping[str, Any]) -> list[KindLines]:
    """Return the served versions of a CustomResourceDefinition, the stored one first."""
    spec = definition["spec"]
    versions = [one for one in spec["versions"] if one.get("served", True)]
    return [
        _version_lines(spec, version) for version in sorted(versions, key=lambda one: not one.get("storage", False))
    ]


def _version_lines(spec: Mapping[str, Any], version: Mapping[str, Any]) -> KindLines:
    schema: Mapping[str, Any] = version.get("schema", {}).get("openAPIV3Schema", {})
    api_version = f"{spec['group']}/{version['name']}"
    fields = _fields("", {**schema, "properties": _own_members(schema)})
    shown = tuple(islice(fields, MOST_FIELDS))
    kind = spec["names"]["kind"]
    return KindLines(
        kind=kind,
        api_version=api_version,
        plural=spec["names"]["plural"],
        is_namespaced=spec.get("scope") == "Namespaced",
        is_stored=bool(version.get("storage")),
        description=schema.get("description", ""),
        fields=shown,
        more_fields=sum(1 for _ in fields),
        example=write_yaml(
            [
                {
                    "apiVersion": api_version,
                    "kind": kind,
                    "metadata": {"name": "example"},
                    "spec": _example(schema.get("properties", {}).get("spec", {}), 0),
                }
            ]
        ),
    )


def _own_members(schema: Mapping[str, Any]) -> JsonObject:
    return {name: member for name, member in schema.get("properties", {}).items() if name not in _COMMON}


def _fields(path: str, schema: Mapping[str, Any]) -> Iterator[FieldLine]:
    required = schema.get("required", ())
    for name, member in schema.get("properties", {}).items():
        inner = f"{path}.{name}" if path else name
        yield _line(inner, member, is_required=name in required)
        yield from _fields(*_inside(inner, member))


def _inside(path: str, schema: Mapping[str, Any]) -> tuple[str, Mapping[str, Any]]:
    """Return the path and schema whose members come next: those of the elements of a list or map."""
    if isinstance(items := schema.get("items"), Mapping):
        return f"{path}[]", items
    if isinstance(values := schema.get("additionalProperties"), Mapping):
        return f"{path}[]", values
    return path, schema


def _line(path: str, schema: Mapping[str, Any], *, is_required: bool) -> FieldLine:
    type_, of = _type(schema)
    return FieldLine(
        path=path,
        type=type_,
        of=of,
        is_required=is_required,
        default=schema.get("default"),
        constraints={name: schema[name] for name in CONSTRAINTS if name in schema},
        rules=tuple(
            RuleLine(rule.get("message", ""), rule["rule"]) for rule in schema.get("x-kubernetes-validations", ())
        ),
        description=schema.get("description", ""),
    )


def _type(schema: Mapping[str, Any]) -> tuple[str, str]:
    if schema.get("x-kubernetes-int-or-string"):
        return "int-or-string", ""
    if isinstance(items := schema.get("items"), Mapping):
        return "array", _type(items)[0]
    if isinstance(values := schema.get("additionalProperties"), Mapping):
        return "map", _type(values)[0]
    return schema.get("type", "any"), ""


def _example(schema: Mapping[str, Any], depth: int) -> JsonObject:
    """Return the members of a schema that are required or have a default, with values to begin with."""
    required = schema.get("required", ())
    return {
        name: _value(member, depth)
        for name, member in schema.get("properties", {}).items()
        if name in required or "default" in member
    }


def _value(schema: Mapping[str, Any], depth: int) -> Any:
    if "default" in schema:
        return schema["default"]
    if schema.get("enum"):
        return schema["enum"][0]
    if schema.get("properties") and depth < _DEEPEST:
        return _example(schema, depth + 1)
    if "minimum" in schema:
        return schema["minimum"]
    return _EXAMPLES.get(schema.get("type", ""), "")
