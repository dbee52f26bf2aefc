"""Validation of DaemonSets."""

from steersman.apiserver.builtin.common.label_selectors import is_empty, quoted_selector, selector_errors
from steersman.apiserver.builtin.common.numbers import (
    count_or_percent_errors,
    is_zero,
    negative_errors,
    over_hundred_errors,
)
from steersman.apiserver.builtin.workloads.template_validation import (
    collision_count_errors,
    is_spec_unchanged,
    mismatch_errors,
    restarting_template_errors,
    selector_change_errors,
)
from steersman.golang.text import GoStruct
from steersman.json_types import JsonObject
from steersman.validation.field_errors import Errors, invalid, not_supported, required


def daemon_set_errors(obj: JsonObject, old: JsonObject | None, subresource: str) -> Errors:
    """Validate a DaemonSet."""
    if subresource == "status":
        errors = negative_errors(obj.get("status") or {}, _DAEMON_COUNTS, "status")
        return errors + collision_count_errors(obj, old)
    if is_spec_unchanged(obj, old):
        return []
    spec = obj["spec"]
    errors = selector_change_errors(obj, old)
    selector = spec.get("selector")
    found = selector_errors(selector, "spec.selector")
    errors += found
    if not found:
        errors += mismatch_errors(spec)
    if selector is not None and is_empty(selector):
        text = "empty selector is invalid for daemonset"
        errors.append(invalid("spec.selector", quoted_selector(selector), text))
    errors += restarting_template_errors(spec, "DaemonSet")
    errors += negative_errors(spec, ("minReadySeconds", "revisionHistoryLimit"), "spec")
    return errors + _daemon_strategy_errors(spec.get("updateStrategy") or {})


_DAEMON_COUNTS = (
    "currentNumberScheduled",
    "numberMisscheduled",
    "desiredNumberScheduled",
    "numberReady",
    "observedGeneration",
    "updatedNumberScheduled",
    "numberAvailable",
    "numberUnavailable",
    "collisionCount",
)


def _daemon_strategy_errors(strategy: JsonObject) -> Errors:
    kind, rolling = strategy.get("type") or "", strategy.get("rollingUpdate")
    path = "spec.updateStrategy.rollingUpdate"
    if kind == "OnDelete":
        return []
    if kind != "RollingUpdate":
        shown = GoStruct({"Type": kind, "RollingUpdate": rolling})
        return [not_supported("spec.updateStrategy", shown, ["RollingUpdate", "OnDelete"])]
    if rolling is None:
        return [required(path)]
    down, surge = rolling.get("maxUnavailable", 0), rolling.get("maxSurge", 0)
    errors: Errors = []
    for check in (count_or_percent_errors, over_hundred_errors):
        errors += check(down, f"{path}.maxUnavailable") + check(surge, f"{path}.maxSurge")
    if not is_zero(down) and not is_zero(surge):
        errors.append(invalid(f"{path}.maxSurge", surge, "may not be set when maxUnavailable is non-zero"))
    elif is_zero(down) and is_zero(surge):
        errors.append(required(f"{path}.maxUnavailable", "cannot be 0 when maxSurge is 0"))
    return errors
