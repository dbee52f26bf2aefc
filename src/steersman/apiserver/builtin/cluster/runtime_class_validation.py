"""Validation of RuntimeClasses."""

from steersman.apiserver.builtin.common.names import label_errors, required_name
from steersman.apiserver.builtin.common.quantities import quantity_errors
from steersman.json_types import JsonObject
from steersman.validation.field_errors import Errors, invalid

_IMMUTABLE = "field is immutable"


def runtime_class_errors(obj: JsonObject, old: JsonObject | None, subresource: str) -> Errors:
    """Validate a RuntimeClass."""
    del subresource
    if old is not None:
        handler = obj.get("handler") or ""
        return [invalid("handler", handler, _IMMUTABLE)] if handler != (old.get("handler") or "") else []
    errors = required_name(obj, "handler", "", label_errors)
    for name, text in ((obj.get("overhead") or {}).get("podFixed") or {}).items():
        errors += quantity_errors(name, text, f"overhead.limits[{name}]")
    return errors
