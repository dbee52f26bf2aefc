"""Validation of ConfigMaps. Secrets share the limit of size, the rules for keys and immutability."""

from steersman.apiserver.builtin.common.names import config_key_faults
from steersman.json_types import JsonObject
from steersman.validation.field_errors import Errors, ErrorType, FieldError, forbidden, invalid, too_long

_DATA_LIMIT = 1024 * 1024
_FIXED = "field is immutable when `immutable` is set"


def config_map_errors(obj: JsonObject, old: JsonObject | None, subresource: str) -> Errors:
    """Validate a ConfigMap."""
    del subresource
    errors = data_errors(obj)
    if old is None or not old.get("immutable"):
        return errors
    errors += immutable_flag_errors(obj)
    # `data` is part of every stored ConfigMap, even when it is empty; `binaryData` is not.
    if (obj.get("data") or {}) != (old.get("data") or {}):
        errors.append(forbidden("data", _FIXED))
    if obj.get("binaryData") != old.get("binaryData"):
        errors.append(forbidden("binaryData", _FIXED))
    return errors


def data_errors(obj: JsonObject) -> Errors:
    """Validate the total size of the data, and its keys: each must be a file name and occur once."""
    total = sum(len(value.encode()) for value in (obj.get("data") or {}).values())
    total += sum(len(value) * 3 // 4 for value in (obj.get("binaryData") or {}).values())
    errors: Errors = []
    if total > _DATA_LIMIT:
        errors.append(FieldError(ErrorType.TOO_LONG, "[]", "", too_long("", _DATA_LIMIT).detail))
    for part in ("data", "binaryData"):
        for key in obj.get(part) or {}:
            errors += [invalid(f"{part}[{key}]", key, fault) for fault in config_key_faults(key)]
            if part == "data" and key in (obj.get("binaryData") or {}):
                errors.append(invalid(f"data[{key}]", key, "duplicate of key present in binaryData"))
    return errors


def immutable_flag_errors(obj: JsonObject) -> Errors:
    """Reject an update that makes an immutable object mutable again."""
    return [] if obj.get("immutable") else [forbidden("immutable", _FIXED)]


def immutable_data_errors(obj: JsonObject, old: JsonObject) -> Errors:
    """Reject a change of ``data``; an empty map differs from none."""
    return [forbidden("data", _FIXED)] if obj.get("data") != old.get("data") else []
