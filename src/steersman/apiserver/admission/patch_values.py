"""What the expressions of mutating policies evaluate to: apply configurations and JSON patches, as plain JSON."""

import base64
from collections.abc import Iterator
from typing import Any

from steersman.apiserver.admission.conditions import Failed
from steersman.cel.values.shapes import LIST_CLASSES, MAP_CLASSES
from steersman.cel.values.times import duration_text, timestamp_text
from steersman.cel.values.values import Duration, ObjectValue, Timestamp, Uint
from steersman.json_types import JsonObject


def configuration_of(value: object) -> JsonObject:
    """Return the apply configuration that an expression has built with ``Object{…}``."""
    if not isinstance(value, ObjectValue):
        raise Failed(f"unsupported return type from ApplyConfiguration expression: {value.__class__.__name__}")
    _check_type_names(value)
    configuration: JsonObject = _json(value)
    return configuration


def operations_of(values: Any) -> list[JsonObject]:
    """Return the operations that an expression has built with ``[JSONPatch{…}]``."""
    return [_operation(value) for value in values]


def _operation(value: ObjectValue) -> JsonObject:
    fields = value.fields
    operation: JsonObject = {"op": fields.get("op", ""), "path": fields.get("path", "")}
    if fields.get("from"):
        operation["from"] = fields["from"]
    if "value" in fields:
        if isinstance(fields["value"], ObjectValue):
            _check_type_names(fields["value"])
        operation["value"] = _json(fields["value"])
    return operation


def _check_type_names(root: ObjectValue) -> None:
    """Reject objects that are built under another name than the path to their place has."""
    if errors := list(_name_errors(root, root.type_name)):
        raise Failed("type mismatch: " + "\n".join(errors))


def _name_errors(value: Any, expected: str) -> Iterator[str]:
    if isinstance(value, ObjectValue):
        if value.type_name != expected:
            yield (
                f'unexpected type name "{value.type_name}", expected "{expected}", which matches field name path '
                f"from root Object type"
            )
        for name, part in value.items():
            yield from _name_errors(part, f"{expected}.{name}")
    elif value.__class__ in LIST_CLASSES:
        for item in value:
            yield from _name_errors(item, expected)
    elif value.__class__ in MAP_CLASSES:
        for key in value.keys():  # noqa: SIM118 - maps of CEL are not dicts
            yield from _name_errors(value.find(key), expected)


def _json(value: Any) -> Any:
    """Return a CEL value as JSON."""
    if value.__class__ in MAP_CLASSES:
        return {_key(key): _json(part) for key, part in value.items()}
    if value.__class__ in LIST_CLASSES:
        return [_json(item) for item in value]
    if value.__class__ is Uint:
        return int(value)
    if value.__class__ is bytes:
        return base64.b64encode(value).decode()
    if isinstance(value, Timestamp):
        return timestamp_text(value)
    return duration_text(value) if isinstance(value, Duration) else value


def _key(key: object) -> str:
    if key.__class__ is not str:
        raise Failed(f"map key {key!r} is not a string")
    return str(key)
