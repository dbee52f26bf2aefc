"""What a schema in a CustomResourceDefinition may contain: keywords, list and map types, forbidden defaults.

`structural_rules` checks whether it is structural, `default_rules` and `cel_rules` check its defaults and rules.
"""

from dataclasses import dataclass, replace
from typing import Final

from steersman.structural.schema import META_FIELDS, Schema
from steersman.validation.field_errors import FieldError, forbidden, invalid, not_supported, required

_TYPES: Final = ("array", "boolean", "integer", "number", "object", "string")
_UNSUPPORTED: Final = ("id", "additionalItems", "patternProperties", "definitions", "dependencies", "$ref")
_LIST_TYPES: Final = ("atomic", "set", "map")
_MAP_TYPES: Final = ("atomic", "granular")


@dataclass(frozen=True, slots=True)
class Place:
    """Position of a schema: what is forbidden there."""

    path: str
    is_root: bool = False
    inside_metadata: bool = False
    #: Why defaults are forbidden; empty if they are not.
    no_defaults: str = ""

    def inner(self, step: str) -> "Place":
        """Return the place of a schema that this one contains."""
        return replace(self, path=f"{self.path}.{step}", is_root=False)


def _keyword_errors(schema: Schema, place: Place) -> list[FieldError]:
    path = place.path
    errors = [forbidden(f"{path}.{key}", f"{key} is not supported") for key in _UNSUPPORTED if schema.get(key)]
    if schema.get("default") is not None and place.no_defaults:
        errors.append(forbidden(f"{path}.default", f"must not be set {place.no_defaults}"))
    if schema.get("items").__class__ is list:
        errors.append(forbidden(f"{path}.items", "items must be a schema object and not an array"))
    if schema.get("uniqueItems"):
        text = "uniqueItems cannot be set to true since the runtime complexity becomes quadratic"
        errors.append(forbidden(f"{path}.uniqueItems", text))
    if place.inside_metadata and schema.get("x-kubernetes-embedded-resource"):
        text = "must not be used inside of resource meta"
        errors.append(forbidden(f"{path}.x-kubernetes-embedded-resource", text))
    if schema.get("x-kubernetes-preserve-unknown-fields") is False:
        text = "must be true or undefined"
        errors.append(invalid(f"{path}.x-kubernetes-preserve-unknown-fields", False, text))  # noqa: FBT003 - a JSON value
    return errors


def _type_errors(schema: Schema, path: str) -> list[FieldError]:
    type_ = schema.get("type")
    if not type_ or type_ in _TYPES:
        return []
    errors = [not_supported(f"{path}.type", type_, _TYPES)]
    if type_ == "null":
        errors.append(forbidden(f"{path}.type", "type cannot be set to null, use nullable as an alternative"))
    return errors


def _wrong_type(schema: Schema, path: str, wanted: str, keyword: str) -> list[FieldError]:
    type_ = schema.get("type") or ""
    if type_ == wanted:
        return []
    text = f"must be {wanted} if {keyword} is specified"
    return [invalid(f"{path}.type", type_, text) if type_ else required(f"{path}.type", text)]


def _map_type_errors(schema: Schema, path: str) -> list[FieldError]:
    map_type = schema.get("x-kubernetes-map-type")
    if map_type is None:
        return []
    errors = _wrong_type(schema, path, "object", "x-kubernetes-map-type")
    if map_type not in _MAP_TYPES:
        errors.append(not_supported(f"{path}.x-kubernetes-map-type", map_type, _MAP_TYPES))
    return errors


def _list_type_errors(schema: Schema, path: str) -> list[FieldError]:
    list_type = schema.get("x-kubernetes-list-type")
    errors: list[FieldError] = []
    if list_type is not None:
        errors += _wrong_type(schema, path, "array", "x-kubernetes-list-type")
        if not errors and list_type not in _LIST_TYPES:
            errors.append(not_supported(f"{path}.x-kubernetes-list-type", list_type, _LIST_TYPES))
    if schema.get("x-kubernetes-list-map-keys") and list_type != "map":
        text, where = "must be map if x-kubernetes-list-map-keys is non-empty", f"{path}.x-kubernetes-list-type"
        errors.append(required(where, text) if list_type is None else invalid(where, list_type, text))
    if list_type == "map":
        errors += _map_list_errors(schema, path)
    if list_type == "set" and schema.get("items").__class__ is dict:
        errors += _set_errors(schema["items"], f"{path}.items")
    return errors


def _map_list_errors(schema: Schema, path: str) -> list[FieldError]:
    items, keys = schema.get("items"), schema.get("x-kubernetes-list-map-keys") or []
    errors: list[FieldError] = []
    if not keys:
        text = "must not be empty if x-kubernetes-list-type is map"
        errors.append(required(f"{path}.x-kubernetes-list-map-keys", text))
    if items is None:
        errors.append(required(f"{path}.items", "must have a schema if x-kubernetes-list-type is map"))
    if items.__class__ is not dict:
        return errors
    if items.get("type") != "object":
        text = "must be object if parent array's x-kubernetes-list-type is map"
        return [*errors, invalid(f"{path}.items.type", items.get("type") or "", text)]
    if items.get("nullable"):
        text = "cannot be nullable when x-kubernetes-list-type is map"
        errors.append(forbidden(f"{path}.items.nullable", text))
    for index, key in enumerate(keys):
        errors += _map_key_errors(items, keys, index, path)
        if key in (items.get("properties") or {}):
            errors += _key_field_errors(items, key, f"{path}.items.properties[{key}]")
    return errors


def _map_key_errors(items: Schema, keys: list[str], index: int, path: str) -> list[FieldError]:
    where = f"{path}.x-kubernetes-list-map-keys"
    errors = []
    if keys[index] not in (items.get("properties") or {}):
        errors.append(invalid(where, keys, "entries must all be names of item properties"))
    if keys[index] in keys[:index]:
        errors.append(invalid(where, keys, "must not contain duplicate entries"))
    return errors


def _key_field_errors(items: Schema, key: str, path: str) -> list[FieldError]:
    field = items["properties"][key]
    errors = []
    if field.get("type") in ("array", "object"):
        text = "must be a scalar type if parent array's x-kubernetes-list-type is map"
        errors.append(invalid(f"{path}.type", items["type"], text))
    reason = "this property is in x-kubernetes-list-map-keys, so it"
    if key not in (items.get("required") or ()) and field.get("default") is None:
        errors.append(required(f"{path}.default", f"{reason} must have a default or be a required property"))
    if field.get("nullable"):
        errors.append(forbidden(f"{path}.nullable", f"{reason} cannot be nullable"))
    return errors


def _set_errors(items: Schema, path: str) -> list[FieldError]:
    errors = []
    if items.get("nullable"):
        errors.append(forbidden(f"{path}.nullable", "cannot be nullable when x-kubernetes-list-type is set"))
    text = "must be atomic as item of a list with x-kubernetes-list-type=set"
    kinds = {"array": "x-kubernetes-list-type", "object": "x-kubernetes-map-type"}
    keyword = kinds.get(items.get("type") or "")
    # A list is atomic by default; an object is not. The server shows the list type for both.
    usual = "atomic" if keyword == "x-kubernetes-list-type" else None
    if keyword is not None and items.get(keyword, usual) != "atomic":
        errors.append(invalid(f"{path}.{keyword}", items.get("x-kubernetes-list-type"), text))
    return errors


def _own_errors(schema: Schema, place: Place) -> list[FieldError]:
    path = place.path
    errors = [
        *_keyword_errors(schema, place),
        *_type_errors(schema, path),
        *_map_type_errors(schema, path),
        *_list_type_errors(schema, path),
    ]
    additional = schema.get("additionalProperties")
    if schema.get("properties") and (additional is False or additional.__class__ is dict):
        text = "additionalProperties and properties are mutual exclusive"
        errors.append(forbidden(f"{path}.additionalProperties", text))
    return errors


def _property_place(schema: Schema, name: str, place: Place) -> Place:
    inner = place.inner(f"properties[{name}]")
    if name in META_FIELDS and (place.is_root or schema.get("x-kubernetes-embedded-resource")):
        reason = f"in top-level {name}" if place.is_root else place.no_defaults
        return replace(inner, inside_metadata=True, no_defaults=reason)
    return inner


def inner_schemas(schema: Schema, place: Place) -> list[tuple[Schema, Place]]:
    """Return the schemas inside a schema, each with its place."""
    found = [(part, _property_place(schema, name, place)) for name, part in (schema.get("properties") or {}).items()]
    additional, items = schema.get("additionalProperties"), schema.get("items")
    if additional.__class__ is dict:
        reason = "inside additionalProperties applying to object metadata" if place.inside_metadata else ""
        inner = place.inner("additionalProperties")
        found.append((additional, replace(inner, no_defaults=reason or place.no_defaults)))
    if items.__class__ is dict:
        found.append((items, place.inner("items")))
    for key in ("allOf", "anyOf", "oneOf"):
        found += [(part, place.inner(f"{key}[{index}]")) for index, part in enumerate(schema.get(key) or ())]
    if schema.get("not") is not None:
        found.append((schema["not"], place.inner("not")))
    return found


def has_unsupported(schema: Schema) -> bool:
    """Return whether a schema uses keywords that cannot be structural: it is then not asked whether it is."""
    if any(schema.get(key) for key in _UNSUPPORTED) or schema.get("items").__class__ is list:
        return True
    return any(has_unsupported(part) for part, _ in inner_schemas(schema, Place("")))


def schema_errors(schema: Schema, place: Place) -> list[FieldError]:
    """Return errors about keywords and values that no schema of a CustomResourceDefinition may have."""
    errors = _own_errors(schema, place)
    for part, inner in inner_schemas(schema, place):
        errors += schema_errors(part, inner)
    return errors
