"""The structure of a CustomResourceDefinition, field by field, as the server reads and writes it."""

from typing import Final

from steersman.json_types import JsonObject
from steersman.validation.object_meta import OBJECT_META
from steersman.validation.wire_types import (
    BOOL,
    FLOAT64,
    INT32,
    INT64,
    JSON,
    STRING,
    Reading,
    Record,
    WireField,
    WireType,
    listed,
    mapped,
    text,
)


def _opt(type_: WireType) -> WireField:
    return WireField(type_)


def _ptr(type_: WireType) -> WireField:
    return WireField(type_, pointer=True)


def _req(type_: WireType) -> WireField:
    return WireField(type_, optional=False)


_RULE = Record(
    "ValidationRule",
    {
        "rule": _req(STRING),
        "message": _opt(STRING),
        "messageExpression": _opt(STRING),
        "reason": _ptr(text("v1.FieldValueErrorReason")),
        "fieldPath": _opt(STRING),
        "optionalOldSelf": _ptr(BOOL),
    },
)
_DOCS = Record("ExternalDocumentation", {"description": _opt(STRING), "url": _opt(STRING)})

#: A schema; it contains itself, so its fields follow below.
_SCHEMA = Record("JSONSchemaProps")
#: The same where Go reads it through a separate type.
_INNER = Record("JSONSchemaProps", restarts=True)


def _read_items(value: object, path: str, reading: Reading) -> object:
    if value.__class__ is list:
        return [_INNER.read(part, f"{path}[{index}]", reading) for index, part in enumerate(value)]
    return _INNER.read(value, path, reading)


def _read_schema_or_bool(value: object, path: str, reading: Reading) -> object:
    return value if value.__class__ is bool else _INNER.read(value, path, reading)


_ITEMS = WireType("v1.JSONSchemaPropsOrArray", _read_items)
_SCHEMA_OR_BOOL = WireType("v1.JSONSchemaPropsOrBool", _read_schema_or_bool)

_SCHEMA_FIELDS: Final = {
    "id": _opt(STRING),
    "$schema": _opt(text("v1.JSONSchemaURL")),
    "$ref": _ptr(STRING),
    "description": _opt(STRING),
    "type": _opt(STRING),
    "format": _opt(STRING),
    "title": _opt(STRING),
    "default": _ptr(JSON),
    "maximum": _ptr(FLOAT64),
    "exclusiveMaximum": _opt(BOOL),
    "minimum": _ptr(FLOAT64),
    "exclusiveMinimum": _opt(BOOL),
    "maxLength": _ptr(INT64),
    "minLength": _ptr(INT64),
    "pattern": _opt(STRING),
    "maxItems": _ptr(INT64),
    "minItems": _ptr(INT64),
    "uniqueItems": _opt(BOOL),
    "multipleOf": _ptr(FLOAT64),
    "enum": _opt(listed(JSON)),
    "maxProperties": _ptr(INT64),
    "minProperties": _ptr(INT64),
    "required": _opt(listed(STRING)),
    "items": _ptr(_ITEMS),
    "allOf": _opt(listed(_SCHEMA.type)),
    "oneOf": _opt(listed(_SCHEMA.type)),
    "anyOf": _opt(listed(_SCHEMA.type)),
    "not": _ptr(_SCHEMA.type),
    "properties": _opt(mapped(_SCHEMA.type)),
    "additionalProperties": _ptr(_SCHEMA_OR_BOOL),
    "patternProperties": _opt(mapped(_SCHEMA.type)),
    "dependencies": _opt(mapped(JSON)),
    "additionalItems": _ptr(_SCHEMA_OR_BOOL),
    "definitions": _opt(mapped(_SCHEMA.type)),
    "externalDocs": _ptr(_DOCS.type),
    "example": _ptr(JSON),
    "nullable": _opt(BOOL),
    "x-kubernetes-preserve-unknown-fields": _ptr(BOOL),
    "x-kubernetes-embedded-resource": _opt(BOOL),
    "x-kubernetes-int-or-string": _opt(BOOL),
    "x-kubernetes-list-map-keys": _opt(listed(STRING)),
    "x-kubernetes-list-type": _ptr(STRING),
    "x-kubernetes-map-type": _ptr(STRING),
    "x-kubernetes-validations": _opt(listed(_RULE.type)),
}
_SCHEMA.fields.update(_SCHEMA_FIELDS)
_INNER.fields.update(_SCHEMA_FIELDS)

_VALIDATION = Record("CustomResourceValidation", {"openAPIV3Schema": _ptr(_SCHEMA.type)})
_SCALE = Record(
    "CustomResourceSubresourceScale",
    {
        "specReplicasPath": _req(STRING),
        "statusReplicasPath": _req(STRING),
        "labelSelectorPath": _ptr(STRING),
    },
)
_SUBRESOURCES = Record(
    "CustomResourceSubresources",
    {"status": _ptr(Record("CustomResourceSubresourceStatus").type), "scale": _ptr(_SCALE.type)},
)
_COLUMN = Record(
    "CustomResourceColumnDefinition",
    {
        "name": _req(STRING),
        "type": _req(STRING),
        "format": _opt(STRING),
        "description": _opt(STRING),
        "priority": _opt(INT32),
        "jsonPath": _req(STRING),
    },
)
_SELECTABLE = Record("SelectableField", {"jsonPath": _req(STRING)})
_VERSION = Record(
    "CustomResourceDefinitionVersion",
    {
        "name": _req(STRING),
        "served": _req(BOOL),
        "storage": _req(BOOL),
        "deprecated": _opt(BOOL),
        "deprecationWarning": _ptr(STRING),
        "schema": _ptr(_VALIDATION.type),
        "subresources": _ptr(_SUBRESOURCES.type),
        "additionalPrinterColumns": _opt(listed(_COLUMN.type)),
        "selectableFields": _opt(listed(_SELECTABLE.type)),
    },
)
_NAMES = Record(
    "CustomResourceDefinitionNames",
    {
        "plural": _req(STRING),
        "singular": _opt(STRING),
        "shortNames": _opt(listed(STRING)),
        "kind": _req(STRING),
        "listKind": _opt(STRING),
        "categories": _opt(listed(STRING)),
    },
)
_SERVICE = Record(
    "ServiceReference",
    {"namespace": _req(STRING), "name": _req(STRING), "path": _ptr(STRING), "port": _ptr(INT32)},
)
_CLIENT = Record(
    "WebhookClientConfig",
    {"url": _ptr(STRING), "service": _ptr(_SERVICE.type), "caBundle": _opt(text("[]uint8"))},
)
_WEBHOOK = Record(
    "WebhookConversion",
    {"clientConfig": _ptr(_CLIENT.type), "conversionReviewVersions": _req(listed(STRING))},
)
_CONVERSION = Record(
    "CustomResourceConversion",
    {"strategy": _req(text("v1.ConversionStrategyType")), "webhook": _ptr(_WEBHOOK.type)},
)
_SPEC = Record(
    "CustomResourceDefinitionSpec",
    {
        "group": _req(STRING),
        "names": _req(_NAMES.type),
        "scope": _req(text("v1.ResourceScope")),
        "versions": _req(listed(_VERSION.type)),
        "conversion": _ptr(_CONVERSION.type),
        "preserveUnknownFields": _opt(BOOL),
    },
)
_CONDITION = Record(
    "CustomResourceDefinitionCondition",
    {
        "type": _req(text("v1.CustomResourceDefinitionConditionType")),
        "status": _req(text("v1.ConditionStatus")),
        "lastTransitionTime": _opt(JSON),
        "reason": _opt(STRING),
        "message": _opt(STRING),
        "observedGeneration": _opt(INT64),
    },
)
_STATUS = Record(
    "CustomResourceDefinitionStatus",
    {
        "conditions": _req(listed(_CONDITION.type)),
        "acceptedNames": _req(_NAMES.type),
        "storedVersions": _req(listed(STRING)),
        "observedGeneration": _opt(INT64),
    },
)
_CRD = Record(
    "CustomResourceDefinition",
    {
        "kind": _opt(STRING),
        "apiVersion": _opt(STRING),
        "metadata": _opt(OBJECT_META.type),
        "spec": _req(_SPEC.type),
        "status": _opt(_STATUS.type),
    },
)


def read_crd(crd: JsonObject) -> tuple[JsonObject, list[str]]:
    """Read a CustomResourceDefinition: a copy with what the server keeps, and the paths of unknown fields.

    Raises `WireTypeError` with the decoder's message for a wrong type.
    """
    reading = Reading()
    found = _CRD.read(crd, "", reading) or {}
    found.setdefault("metadata", {})
    found["spec"] = found["spec"] or _SPEC.read({}, "spec", reading)
    found["spec"]["names"] = found["spec"]["names"] or _NAMES.read({}, "spec.names", reading)
    return found, reading.unknown
