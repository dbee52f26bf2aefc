"""Validation of Leases."""

from steersman.apiserver.builtin.common.numbers import negative_errors
from steersman.json_types import JsonObject
from steersman.validation.field_errors import Errors, invalid


def lease_errors(obj: JsonObject, old: JsonObject | None, subresource: str) -> Errors:
    """Validate a Lease."""
    del old, subresource
    spec = obj.get("spec") or {}
    seconds = spec.get("leaseDurationSeconds")
    errors: Errors = []
    if seconds is not None and seconds <= 0:
        errors.append(invalid("spec.leaseDurationSeconds", seconds, "must be greater than 0"))
    return errors + negative_errors(spec, ("leaseTransitions",), "spec")
