"""Turns OpenAPI schemas into Python types and fields: the rules that built-in kinds and custom resources share.

Decoding must accept whatever a newer server sends, so an enum stays plain text and an unclear schema stays ``Any``.
"""

import re
from collections.abc import Callable, Mapping
from typing import Any, Protocol

from steersman.codegen.naming import field_names, singular
from steersman.codegen.outline import Annotation, FieldOutline, Presence

Schema = Mapping[str, Any]

ANYTHING = Annotation("Any", frozenset({("typing", "Any")}))
_JSON_OBJECT = Annotation("dict[str, Any]", frozenset({("typing", "Any")}))
_TIME = Annotation("datetime", frozenset({("datetime", "datetime")}))
_QUANTITY = Annotation("Quantity", frozenset({("steersman.objects.quantity", "Quantity")}))
_INT_OR_STRING = Annotation("IntOrString", frozenset({("steersman.objects.int_or_string", "IntOrString")}))

#: How schemas of custom resources begin the description of a ``resource.Quantity``.
_QUANTITY_PATTERN = r"^(\+|-)?(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))(([KMGTPE]i)"

#: What msgspec cannot have in a field's name. Such a field stays in the bytes that an object was read from.
_UNSPEAKABLE = re.compile(r'[\x00-\x1f"\\\ud800-\udfff]')


def _object_meta(name: str) -> Annotation:
    return Annotation(name, frozenset({("steersman.objects.meta", name)}))


#: Types that are written by hand, by the tail of their schema's name.
HANDMADE: dict[str, Annotation] = {
    "api.resource.Quantity": _QUANTITY,
    "apis.meta.v1.Condition": _object_meta("Condition"),
    "apis.meta.v1.FieldsV1": ANYTHING,
    "apis.meta.v1.LabelSelectorRequirement": Annotation(
        "LabelSelectorRequirement", frozenset({("steersman.objects.selectors", "LabelSelectorRequirement")})
    ),
    "apis.meta.v1.ListMeta": _object_meta("ListMeta"),
    "apis.meta.v1.ManagedFieldsEntry": _object_meta("ManagedFieldsEntry"),
    "apis.meta.v1.MicroTime": Annotation("MicroTime", frozenset({("steersman.objects.times", "MicroTime")})),
    "apis.meta.v1.ObjectMeta": _object_meta("ObjectMeta"),
    "apis.meta.v1.OwnerReference": _object_meta("OwnerReference"),
    "apis.meta.v1.Patch": ANYTHING,
    "apis.meta.v1.Time": _TIME,
    "runtime.RawExtension": ANYTHING,
    "util.intstr.IntOrString": _INT_OR_STRING,
}


class Parts(Protocol):
    """Where the types of objects inside objects come from."""

    def referenced(self, ref: str) -> Annotation:
        """Return the type that a ``$ref`` names."""

    def inline(self, schema: Schema, owner: str, wire: str) -> Annotation:
        """Return the type of an object with properties; ``wire`` is the field's name, in the singular for an item."""


def unwrapped(schema: Schema) -> Schema:
    """Return the schema inside the ``allOf`` that OpenAPI needs to put a default beside a reference."""
    match schema.get("allOf"):
        case [Mapping() as inner] if "$ref" not in schema and "type" not in schema:
            return inner
        case _:
            return schema


def reference_in(schema: Schema) -> str | None:
    """Return the name of the schema that this one refers to, if it does."""
    ref = unwrapped(schema).get("$ref")
    return ref.rpartition("/")[2] if isinstance(ref, str) else None


def _text(schema: Schema) -> Annotation:
    match schema.get("format"):
        case "byte":
            return Annotation("bytes")
        case "date-time":
            return _TIME
        case "int-or-string":
            return _INT_OR_STRING
        case _:
            return Annotation("str")


def _is_int_or_string(schema: Schema) -> bool:
    return bool(schema.get("x-kubernetes-int-or-string")) or schema.get("format") == "int-or-string"


def _int_or_string(schema: Schema) -> Annotation:
    pattern = schema.get("pattern")
    return _QUANTITY if isinstance(pattern, str) and pattern.startswith(_QUANTITY_PATTERN) else _INT_OR_STRING


class Annotator:
    """Maps schemas to Python types."""

    def __init__(self, parts: Parts) -> None:
        self._parts = parts
        self._by_type: dict[str, Callable[[Schema, str, str], Annotation]] = {
            "string": lambda schema, *_: _text(schema),
            "integer": lambda *_: Annotation("int"),
            "number": lambda *_: Annotation("float"),
            "boolean": lambda *_: Annotation("bool"),
            "array": self._array,
            "object": self._object,
        }

    def annotate(self, schema: Schema, owner: str, wire: str) -> Annotation:
        """Return the type of the field ``wire`` of the class ``owner``."""
        plain = unwrapped(schema)
        ref = reference_in(plain)
        if ref is not None:
            return self._parts.referenced(ref)
        if _is_int_or_string(plain):
            found = _int_or_string(plain)
        else:
            kind = plain.get("type")
            rule = self._by_type.get(kind) if isinstance(kind, str) else None
            found = rule(plain, owner, wire) if rule else ANYTHING
        return found.or_none() if plain.get("nullable") is True else found

    def _array(self, schema: Schema, owner: str, wire: str) -> Annotation:
        items = schema.get("items")
        inner = self.annotate(items, owner, singular(wire)) if isinstance(items, Mapping) else ANYTHING
        return inner.within("list[{}]")

    def _object(self, schema: Schema, owner: str, wire: str) -> Annotation:
        if properties_of(schema) and not schema.get("x-kubernetes-embedded-resource"):
            return self._parts.inline(schema, owner, wire)
        values = schema.get("additionalProperties")
        if isinstance(values, Mapping) and values:
            return self.annotate(values, owner, singular(wire)).within("dict[str, {}]")
        return _JSON_OBJECT


#: Decides what a missing field becomes, from its wire name, schema, whether it is required, and its type.
PresenceRule = Callable[[str, Schema, bool, Annotation], Presence]

#: These are the business of ``KubeObject``.
_CARRIED_BY_KINDS = frozenset({"apiVersion", "kind", "metadata"})


def properties_of(schema: Schema) -> dict[str, Schema]:
    """Return the fields that a schema declares, without those that are not schemas or have no possible name."""
    properties = schema.get("properties")
    if not isinstance(properties, Mapping):
        return {}
    return {
        name: part
        for name, part in properties.items()
        if isinstance(name, str) and not _UNSPEAKABLE.search(name) and isinstance(part, Mapping)
    }


def demanded(schema: Schema) -> frozenset[str]:
    """Return the names of the fields that a schema demands and declares."""
    required = schema.get("required")
    declared = properties_of(schema)
    return frozenset(name for name in declared if isinstance(required, list) and name in required)


def fields_of(
    schema: Schema, annotator: Annotator, presence: PresenceRule, *, owner: str, of_kind: bool = False
) -> tuple[FieldOutline, ...]:
    """Return the fields of a class, in the order of the schema."""
    properties = properties_of(schema)
    chosen = [wire for wire in properties if not (of_kind and wire in _CARRIED_BY_KINDS)]
    names = field_names(chosen, of_kind=of_kind)
    required = demanded(schema)
    fields = []
    for wire in chosen:
        annotation = annotator.annotate(properties[wire], owner, wire)
        rule = presence(wire, properties[wire], wire in required, annotation)
        if rule == "optional":
            annotation = annotation.or_none()
        fields.append(FieldOutline(names[wire], wire, annotation, rule, description_of(properties[wire])))
    return tuple(fields)


def description_of(schema: Schema) -> str:
    """Return the description of a schema; empty where it has none."""
    text = schema.get("description")
    return text if isinstance(text, str) else ""
