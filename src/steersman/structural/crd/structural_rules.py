"""Structural schemas: every value has one type, declared in one place.

`allOf`, `anyOf`, `oneOf` and `not` may restrict values but not describe them. The rules and their messages are those of
the API server.
"""

import enum
from typing import Final

from steersman.structural.checks.value_checks import pattern_fault
from steersman.structural.schema import Schema
from steersman.validation.field_errors import FieldError, forbidden, invalid, required


class Level(enum.Enum):
    """Where a schema stands; the value is how a missing type is spoken of."""

    ROOT = "must not be empty at the root"
    ITEM = "must not be empty for specified array items"
    FIELD = "must not be empty for specified object fields"


_INT_OR_STRING_TYPES: Final = [{"type": "integer"}, {"type": "string"}]

#: Keywords that a schema inside a combination may not have, and the message about each.
_NOT_IN_COMBINATIONS: Final = {
    "type": "must be empty to be structural",
    "additionalProperties": "must be undefined to be structural",
    "default": "must be undefined to be structural",
    "title": "must be empty to be structural",
    "description": "must be empty to be structural",
    "nullable": "must be false to be structural",
    "x-kubernetes-preserve-unknown-fields": "must be false to be structural",
    "x-kubernetes-embedded-resource": "must be false to be structural",
    "x-kubernetes-int-or-string": "must be false to be structural",
    "x-kubernetes-list-map-keys": "must be empty to be structural",
    "x-kubernetes-list-type": "must be undefined to be structural",
    "x-kubernetes-map-type": "must be undefined to be structural",
    "x-kubernetes-validations": "must be empty to be structural",
}


def _is_int_or_string(schema: Schema) -> bool:
    return bool(schema.get("x-kubernetes-int-or-string"))


def _has_typed_any_of(schema: Schema) -> bool:
    return schema.get("anyOf") == _INT_OR_STRING_TYPES


def _parts(schema: Schema, key: str, path: str) -> list[tuple[Schema, str]]:
    return [(part, f"{path}.{key}[{index}]") for index, part in enumerate(schema.get(key) or ())]


def _combination_errors(schema: Schema, path: str, *, typed_any_of: bool, typed_all_of: bool) -> list[FieldError]:
    """Return errors about the combinations of a schema; the two exceptions are those that mean int-or-string."""
    errors: list[FieldError] = []
    pattern = schema.get("pattern")
    if pattern and (fault := pattern_fault(pattern)):
        errors.append(invalid(f"{path}.pattern", pattern, f"must be a valid regular expression, but isn't: {fault}"))
    if not typed_any_of:
        for part, where in _parts(schema, "anyOf", path):
            errors += _nested_errors(part, where)
    for index, (part, where) in enumerate(_parts(schema, "allOf", path)):
        errors += _nested_errors(part, where, typed_any_of=typed_all_of and index == 0)
    for part, where in _parts(schema, "oneOf", path):
        errors += _nested_errors(part, where)
    if schema.get("not") is not None:
        errors += _nested_errors(schema["not"], f"{path}.not")
    return errors


def _nested_errors(schema: Schema, path: str, *, typed_any_of: bool = False) -> list[FieldError]:
    errors = _combination_errors(schema, path, typed_any_of=typed_any_of, typed_all_of=False)
    if schema.get("items").__class__ is dict:
        errors += _nested_errors(schema["items"], f"{path}.items")
    for name, part in (schema.get("properties") or {}).items():
        errors += _nested_errors(part, f"{path}.properties[{name}]")
    for key, text in _NOT_IN_COMBINATIONS.items():
        value = schema.get(key)
        if value or (value is not None and key in ("additionalProperties", "default")):
            errors.append(forbidden(f"{path}.{key}", text))
    if "metadata" in (schema.get("properties") or {}):
        errors.append(forbidden(f"{path}.properties[metadata]", "must not be specified in a nested context"))
    return errors


def _type_errors(schema: Schema, level: Level, path: str) -> list[FieldError]:
    type_ = schema.get("type") or ""
    embedded = schema.get("x-kubernetes-embedded-resource")
    if embedded and type_ != "object":
        text = "must be object if x-kubernetes-embedded-resource is true"
        return [invalid(f"{path}.type", type_, text) if type_ else required(f"{path}.type", text)]
    free = _is_int_or_string(schema) or schema.get("x-kubernetes-preserve-unknown-fields")
    if not type_ and not free:
        return [required(f"{path}.type", level.value)]
    if level is Level.ROOT and type_ and type_ != "object":
        return [invalid(f"{path}.type", type_, "must be object at the root")]
    return []


def _extension_errors(schema: Schema, path: str) -> list[FieldError]:
    if not _is_int_or_string(schema):
        return []
    text = "must be false if x-kubernetes-int-or-string is true"
    keys = ("x-kubernetes-preserve-unknown-fields", "x-kubernetes-embedded-resource")
    return [invalid(f"{path}.{key}", True, text) for key in keys if schema.get(key)]  # noqa: FBT003 - a JSON value


def _resource_errors(schema: Schema, level: Level, path: str) -> list[FieldError]:
    """Return errors about the fields that every resource has."""
    embedded = bool(schema.get("x-kubernetes-embedded-resource"))
    properties = schema.get("properties") or {}
    errors = []
    if embedded and schema.get("additionalProperties") is not None:
        text = "must not be used if x-kubernetes-embedded-resource is set"
        errors.append(forbidden(f"{path}.additionalProperties", text))
    if embedded and not schema.get("x-kubernetes-preserve-unknown-fields") and not properties:
        text = (
            "must not be empty if x-kubernetes-embedded-resource is true without x-kubernetes-preserve-unknown-fields"
        )
        errors.append(required(f"{path}.properties", text))
    if embedded or level is Level.ROOT:
        for name, wanted in (("kind", "string"), ("apiVersion", "string"), ("metadata", "object")):
            type_ = properties[name].get("type") or "" if name in properties else wanted
            if type_ != wanted:
                errors.append(invalid(f"{path}.properties[{name}].type", type_, f"must be {wanted}"))
    if level is Level.ROOT and _restricts_metadata(properties.get("metadata")):
        text = "must not specify anything other than name and generateName, but metadata is implicitly specified"
        errors.append(forbidden(f"{path}.properties[metadata]", text))
    return errors


def _restricts_metadata(schema: Schema | None) -> bool:
    if schema is None:
        return False
    free = {"type", "default", "properties", "example", "externalDocs"}
    others = {key for key, value in schema.items() if key not in free and value}
    return bool(others) or not set(schema.get("properties") or ()) <= {"name", "generateName"}


def _inner_errors(schema: Schema, level: Level, path: str) -> list[FieldError]:
    errors: list[FieldError] = []
    if schema.get("type") == "array" and schema.get("items") is None:
        errors.append(required(f"{path}.items", "must be specified"))
    if schema.get("items").__class__ is dict:
        errors += structural_errors(schema["items"], f"{path}.items", Level.ITEM)
    for name, part in (schema.get("properties") or {}).items():
        errors += structural_errors(part, f"{path}.properties[{name}]", Level.FIELD)
    additional = schema.get("additionalProperties")
    if additional is not None and level is Level.ROOT:
        errors.append(forbidden(f"{path}.additionalProperties", "must not be used at the root"))
    if additional.__class__ is dict:
        errors += structural_errors(additional, f"{path}.additionalProperties", Level.FIELD)
    return errors


def structural_errors(schema: Schema, path: str, level: Level = Level.ROOT) -> list[FieldError]:
    """Return errors if a schema is not structural."""
    all_of: list[Schema] = schema.get("allOf") or []
    return [
        *_inner_errors(schema, level, path),
        *_extension_errors(schema, path),
        *_combination_errors(
            schema,
            path,
            typed_any_of=_has_typed_any_of(schema),
            typed_all_of=bool(all_of) and _has_typed_any_of(all_of[0]),
        ),
        *_type_errors(schema, level, path),
        *_resource_errors(schema, level, path),
    ]
