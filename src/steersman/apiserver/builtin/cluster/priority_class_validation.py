"""Validation of PriorityClasses."""

from steersman.json_types import JsonObject
from steersman.validation.field_errors import Errors, forbidden, invalid, not_supported

_IMMUTABLE = "field is immutable"
_SYSTEM = {"system-node-critical": 2_000_001_000, "system-cluster-critical": 2_000_000_000}
_HIGHEST = 1_000_000_000
_PREEMPTION = ("PreemptLowerPriority", "Never")


def priority_class_errors(obj: JsonObject, old: JsonObject | None, subresource: str) -> Errors:
    """Validate a PriorityClass."""
    del subresource
    value, policy = obj.get("value") or 0, obj.get("preemptionPolicy")
    if old is not None:
        errors: Errors = []
        if value != (old.get("value") or 0):
            errors.append(forbidden("value", "may not be changed in an update."))
        if policy != old.get("preemptionPolicy"):
            errors.append(invalid("preemptionPolicy", policy, _IMMUTABLE))
        return errors
    name = obj["metadata"].get("name") or ""
    errors = _system_errors(name, obj) if name.startswith("system-") else []
    if not name.startswith("system-") and value > _HIGHEST:
        errors.append(forbidden("value", f"maximum allowed value of a user defined priority is {_HIGHEST}"))
    if policy is not None and policy not in _PREEMPTION:
        errors.append(not_supported("preemptionPolicy", policy, _PREEMPTION))
    return errors


def _system_errors(name: str, obj: JsonObject) -> Errors:
    if name not in _SYSTEM:
        why = f"{name} is not a known system priority class"
    elif obj.get("value") != _SYSTEM[name]:
        why = f"value of {name} PriorityClass must be {_SYSTEM[name]}"
    elif obj.get("globalDefault"):
        why = f"globalDefault of {name} PriorityClass must be false"
    else:
        return []
    text = "priority class names with 'system-' prefix are reserved for system use only. error: "
    return [forbidden("metadata.name", text + why)]
