"""Validation of ServiceCIDRs."""

from steersman.apiserver.builtin.common.names import cidr_errors
from steersman.golang.empty_values import same_content
from steersman.json_types import JsonObject
from steersman.validation.field_errors import Errors, invalid, required

_IMMUTABLE = "field is immutable"
_MOST = 2


def service_cidr_errors(obj: JsonObject, old: JsonObject | None, subresource: str) -> Errors:
    """Validate a ServiceCIDR."""
    if subresource == "status":
        return []
    ranges = (obj.get("spec") or {}).get("cidrs") or []
    path = "spec.cidrs"
    if not ranges:
        return [required(path, "at least one CIDR required")]
    if len(ranges) > _MOST:
        return [invalid(path, ranges, "may only hold up to 2 values")]
    errors: Errors = []
    for index, text in enumerate(ranges):
        errors += cidr_errors(text, f"{path}[{index}]")
    if old is not None and not same_content(ranges, (old.get("spec") or {}).get("cidrs")):
        errors.append(invalid(path, ranges, _IMMUTABLE))
    return errors
