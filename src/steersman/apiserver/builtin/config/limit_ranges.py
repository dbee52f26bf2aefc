"""LimitRanges: defaults."""

from steersman.json_types import JsonObject


def default_limit_range(obj: JsonObject) -> None:
    """Derive missing defaults for containers: limits from ``max``, requests from limits, then from ``min``."""
    for item in obj["spec"].get("limits") or ():
        if item.get("type") != "Container":
            continue
        default, request = item.get("default") or {}, item.get("defaultRequest") or {}
        for name, value in (item.get("max") or {}).items():
            default.setdefault(name, value)
        for name, value in default.items():
            request.setdefault(name, value)
        for name, value in (item.get("min") or {}).items():
            request.setdefault(name, value)
        if default:
            item["default"] = default
        if request:
            item["defaultRequest"] = request
