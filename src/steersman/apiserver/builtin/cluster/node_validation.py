"""Validation of Nodes."""

from collections.abc import Sequence

from steersman.apiserver.builtin.common.internal_form import internal_form
from steersman.apiserver.builtin.common.names import cidr_errors, qualified_errors
from steersman.apiserver.builtin.common.node_selectors import TAINT_EFFECTS
from steersman.apiserver.builtin.common.quantities import quantity_errors
from steersman.json_types import JsonObject
from steersman.validation.field_errors import Errors, ErrorType, FieldError, forbidden, invalid, not_supported, required
from steersman.validation.names import label_value_faults


def node_errors(obj: JsonObject, old: JsonObject | None, subresource: str) -> Errors:
    """Validate a Node."""
    del subresource
    spec = obj.get("spec") or {}
    errors = _taint_errors(spec.get("taints") or (), "metadata.taints")
    errors += _range_errors(spec.get("podCIDRs") or [])
    for part in ("capacity", "allocatable"):
        for name, text in ((obj.get("status") or {}).get(part) or {}).items():
            errors += quantity_errors(name, text, f"status.{part}[{name}]")
    if old is None:
        return errors
    before = old.get("spec") or {}
    for name, shown in (("podCIDRs", "podCIDR"), ("providerID", "providerID")):
        if before.get(name) and before[name] != spec.get(name):
            text = f'node updates may not change {shown} except from "" to valid'
            errors.append(forbidden(f"spec.{name}", text))
    return errors


def _range_errors(ranges: list[str]) -> Errors:
    """Validate the addresses of a node's pods: at most one range for each IP family."""
    errors = [error for index, text in enumerate(ranges) for error in cidr_errors(text, f"spec.podCIDRs[{index}]")]
    families = [":" in text for text in ranges]
    if len(set(families)) < len(families):
        errors.append(invalid("spec.podCIDRs", ranges, "may specify no more than one CIDR for each IP family"))
    return errors


def _taint_errors(taints: Sequence[JsonObject], path: str) -> Errors:
    errors: Errors = []
    seen: set[tuple[str, str]] = set()
    for index, taint in enumerate(taints):
        here, key, effect = f"{path}[{index}]", taint.get("key") or "", taint.get("effect") or ""
        errors += qualified_errors(key, f"{here}.key")
        faults = label_value_faults(taint.get("value") or "")
        if faults:
            errors.append(invalid(f"{here}.value", taint["value"], ";".join(faults)))
        if not effect:
            errors.append(required(f"{here}.effect"))
        elif effect not in TAINT_EFFECTS:
            errors.append(not_supported(f"{here}.effect", effect, TAINT_EFFECTS))
        if (key, effect) in seen:
            text = "taints must be unique by key and effect pair"
            errors.append(FieldError(ErrorType.DUPLICATE, here, internal_form("Taint", taint), text))
        seen.add((key, effect))
    return errors
