"""Validation of ResourceQuotas."""

from typing import Any

from steersman.apiserver.builtin.common.quantities import quantity_errors, quota_resource_name_errors
from steersman.json_types import JsonObject
from steersman.validation.field_errors import Errors, invalid, required

_SCOPES = frozenset(
    {
        "Terminating",
        "NotTerminating",
        "BestEffort",
        "NotBestEffort",
        "PriorityClass",
        "CrossNamespacePodAffinity",
        "VolumeAttributesClass",
    }
)
_PAIRS = (("BestEffort", "NotBestEffort"), ("Terminating", "NotTerminating"))
_COMPUTE = frozenset(
    {"cpu", "memory", "limits.cpu", "limits.memory", "requests.cpu", "requests.memory", "pods", "ephemeral-storage"}
)


def quota_errors(obj: JsonObject, old: JsonObject | None, subresource: str) -> Errors:
    """Validate a ResourceQuota."""
    errors: Errors = []
    if subresource == "status":
        for part in ("hard", "used"):
            errors += _amounts_errors((obj.get("status") or {}).get(part) or {}, f"status.{part}")
        return errors
    spec = obj.get("spec") or {}
    scopes = spec.get("scopes") or []
    errors += _amounts_errors(spec.get("hard") or {}, "spec.hard")
    for scope in scopes:
        if scope not in _SCOPES:
            errors.append(invalid("spec.scopes", scopes, "unsupported scope"))
        elif scope in ("BestEffort", "NotBestEffort", "Terminating", "NotTerminating"):
            allowed = frozenset({"pods"}) if scope == "BestEffort" else _COMPUTE
            errors += [
                invalid("spec.scopes", scopes, "unsupported scope applied to resource")
                for name in sorted(spec.get("hard") or ())
                if "/" not in name and name not in allowed
            ]
    errors += [invalid("spec.scopes", scopes, "conflicting scopes") for pair in _PAIRS if set(pair) <= set(scopes)]
    errors += _selector_errors((spec.get("scopeSelector") or {}).get("matchExpressions") or ())
    if old is not None and set(scopes) != set((old.get("spec") or {}).get("scopes") or ()):
        errors.append(invalid("spec.scopes", scopes or None, "field is immutable"))
    return errors


def _amounts_errors(amounts: JsonObject, path: str) -> Errors:
    errors: Errors = []
    for name, text in amounts.items():
        errors += quota_resource_name_errors(name, f"{path}[{name}]")
        errors += quantity_errors(name, text, f"{path}[{name}]")
    return errors


def _selector_errors(needs: Any) -> Errors:
    path = "spec.scopeSelector.matchExpressions"
    errors: Errors = []
    for need in needs:
        scope, operator, values = need.get("scopeName") or "", need.get("operator") or "", need.get("values") or []
        if scope not in _SCOPES:
            errors.append(invalid(f"{path}.scopeName", scope, "unsupported scope"))
        if operator in ("In", "NotIn"):
            if not values:
                text = "must be at least one value when `operator` is 'In' or 'NotIn' for scope selector"
                errors.append(required(f"{path}.values", text))
        elif operator in ("Exists", "DoesNotExist"):
            if values:
                text = "must be no value when `operator` is 'Exist' or 'DoesNotExist' for scope selector"
                errors.append(invalid(f"{path}.values", values, text))
        else:
            errors.append(invalid(f"{path}.operator", operator, "not a valid selector operator"))
    return errors
