"""Validation of LimitRanges."""

from collections.abc import Iterator

from steersman.apiserver.builtin.common.names import qualified_errors
from steersman.apiserver.builtin.common.quantities import (
    container_resource_name_errors,
    is_overcommittable,
    parse_quantity,
    resource_name_errors,
)
from steersman.json_types import JsonObject
from steersman.validation.field_errors import Errors, FieldError, duplicate, forbidden, invalid, required

_PARTS = ("max", "min", "default", "defaultRequest", "maxLimitRequestRatio")
_KNOWN_TYPES = ("Pod", "Container", "PersistentVolumeClaim")


def limit_range_errors(obj: JsonObject, old: JsonObject | None, subresource: str) -> Errors:
    """Validate a LimitRange."""
    del old, subresource
    errors: Errors = []
    seen: set[str] = set()
    for index, limit in enumerate((obj.get("spec") or {}).get("limits") or ()):
        path, kind = f"spec.limits[{index}]", limit.get("type") or ""
        errors += _type_errors(kind, f"{path}.type")
        if kind in seen:
            errors.append(duplicate(f"{path}.type", kind))
        seen.add(kind)
        errors += _limit_errors(limit, kind, path)
    return errors


def _type_errors(kind: str, field: str) -> Errors:
    errors = qualified_errors(kind, field)
    if not errors and "/" not in kind and kind not in _KNOWN_TYPES:
        errors.append(invalid(field, kind, "must be a standard limit type or fully qualified"))
    return errors


def _limit_errors(limit: JsonObject, kind: str, path: str) -> Errors:
    check = container_resource_name_errors if kind in ("Pod", "Container") else resource_name_errors
    parts = {name: limit.get(name) or {} for name in _PARTS}
    errors: Errors = []
    if kind == "Pod":
        for name in ("default", "defaultRequest"):
            if parts[name]:
                errors.append(forbidden(f"{path}.{name}", "may not be specified when `type` is 'Pod'"))
                parts[name] = {}
    for name, amounts in parts.items():
        for resource in amounts:
            errors += check(resource, f"{path}.{name}[{resource}]")
    if kind == "PersistentVolumeClaim" and "storage" not in parts["min"] and "storage" not in parts["max"]:
        text = "either minimum or maximum storage value is required, but neither was provided"
        errors.append(required(f"{path}.limits", text))
    for resource in dict.fromkeys(name for amounts in parts.values() for name in amounts):
        errors += _order_errors({name: amounts.get(resource) for name, amounts in parts.items()}, resource, path)
    return errors


#: Lower bound, upper bound, the field of the error, the field whose value is quoted, and the names of both bounds.
_ORDERS = (
    ("min", "max", "min", "min", "min", "max"),
    ("min", "defaultRequest", "defaultRequest", "defaultRequest", "min", "default request"),
    ("defaultRequest", "max", "defaultRequest", "defaultRequest", "default request", "max"),
    ("defaultRequest", "default", "defaultRequest", "defaultRequest", "default request", "default limit"),
    ("min", "default", "default", "min", "min", "default"),
    ("default", "max", "default", "max", "default", "max"),
)


def _order_errors(amounts: dict[str, str | None], resource: str, path: str) -> Errors:
    errors: Errors = []
    for low, high, blamed, shown, low_name, high_name in _ORDERS:
        below, above = amounts[low], amounts[high]
        if below is None or above is None or parse_quantity(below).value <= parse_quantity(above).value:
            continue
        low_text, high_text = parse_quantity(below).canonical(), parse_quantity(above).canonical()
        text = f"{low_name} value {low_text} is greater than {high_name} value {high_text}"
        value = parse_quantity(amounts[shown] or "0").canonical()
        errors.append(invalid(f"{path}.{blamed}[{resource}]", value, text))
    return errors + list(_ratio_errors(amounts, resource, path))


def _ratio_errors(amounts: dict[str, str | None], resource: str, path: str) -> Iterator[FieldError]:
    ratio, low, high = amounts["maxLimitRequestRatio"], amounts["min"], amounts["max"]
    field = f"{path}.maxLimitRequestRatio[{resource}]"
    if ratio is not None:
        text = parse_quantity(ratio).canonical()
        if parse_quantity(ratio).value < 1:
            yield invalid(field, text, f"ratio {text} is less than 1")
        if low is not None and high is not None and parse_quantity(low).value:
            most = float(parse_quantity(high).value / parse_quantity(low).value)
            if float(parse_quantity(ratio).value) > most:
                yield invalid(field, text, f"ratio {text} is greater than max/min = {most:f}")
    limit, request = amounts["default"], amounts["defaultRequest"]
    if limit is not None and request is not None and not is_overcommittable(resource):
        limit_text, request_text = parse_quantity(limit).canonical(), parse_quantity(request).canonical()
        if parse_quantity(limit).value != parse_quantity(request).value:
            text = f"default value {limit_text} must equal to defaultRequest value {request_text} in {resource}"
            yield invalid(f"{path}.defaultRequest[{resource}]", request_text, text)
