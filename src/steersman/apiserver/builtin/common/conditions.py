"""Validation of conditions of the type ``metav1.Condition``."""

import re
from collections.abc import Sequence

from steersman.apiserver.builtin.common.names import qualified_errors
from steersman.json_types import JsonObject
from steersman.validation.field_errors import Errors, duplicate, invalid, not_supported, required, too_long

_STATUSES = ("False", "True", "Unknown")
_REASON = "[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?"
_REASON_RULE = (
    "a condition reason must start with alphabetic character, optionally followed by a string of alphanumeric "
    "characters or '_,:', and must end with an alphanumeric character or '_' (e.g. 'my_name',  or 'MY_NAME',  or "
    f"'MyName',  or 'ReasonA,ReasonB',  or 'ReasonA:ReasonB', regex used for validation is '{_REASON}')"
)
_MOST = {"reason": 1024, "message": 32 * 1024}


def conditions_errors(conditions: Sequence[JsonObject], path: str) -> Errors:
    """Validate conditions: each type once, with a status, a reason and a time."""
    errors: Errors = []
    seen: set[str] = set()
    for index, condition in enumerate(conditions):
        kind = condition.get("type") or ""
        if kind in seen:
            errors.append(duplicate(f"{path}[{index}].type", kind))
        seen.add(kind)
        errors += _condition_errors(condition, f"{path}[{index}]")
    return errors


def _condition_errors(condition: JsonObject, path: str) -> Errors:
    errors = qualified_errors(condition.get("type") or "", f"{path}.type")
    status, generation = condition.get("status") or "", condition.get("observedGeneration") or 0
    if status not in _STATUSES:
        errors.append(not_supported(f"{path}.status", status, _STATUSES))
    if generation < 0:
        errors.append(invalid(f"{path}.observedGeneration", generation, "must be greater than or equal to zero"))
    errors += [required(f"{path}.{name}") for name in ("lastTransitionTime", "reason") if not condition.get(name)]
    reason = condition.get("reason") or ""
    if reason and re.fullmatch(_REASON, reason) is None:
        errors.append(invalid(f"{path}.reason", reason, _REASON_RULE))
    for name, most in _MOST.items():
        if len((condition.get(name) or "").encode()) > most:
            errors.append(too_long(f"{path}.{name}", most))
    return errors
