"""Validation of Namespaces."""

from steersman.json_types import JsonObject
from steersman.validation.field_errors import Errors, invalid


def namespace_errors(obj: JsonObject, old: JsonObject | None, subresource: str) -> Errors:
    """Validate a written status: the phase is ``Terminating`` exactly while the namespace is being deleted."""
    del old
    phase = (obj.get("status") or {}).get("phase", "Active")
    is_deleted = "deletionTimestamp" in obj["metadata"]
    expected = "Terminating" if is_deleted else "Active"
    if subresource != "status" or phase == expected:
        return []
    text = f"may only be '{expected}' if `deletionTimestamp` is {'not ' if is_deleted else ''}empty"
    return [invalid("status.Phase", phase, text)]
