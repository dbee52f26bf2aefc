"""Validation of PodDisruptionBudgets."""

from steersman.apiserver.builtin.common.conditions import conditions_errors
from steersman.apiserver.builtin.common.label_selectors import quoted_selector, selector_errors
from steersman.apiserver.builtin.common.numbers import count_or_percent_errors, negative_errors, over_hundred_errors
from steersman.golang.text import GoStruct
from steersman.json_types import JsonObject
from steersman.validation.field_errors import Errors, invalid, not_supported


def budget_errors(obj: JsonObject, old: JsonObject | None, subresource: str) -> Errors:
    """Validate a PodDisruptionBudget."""
    del old
    if subresource == "status":
        counts = ("disruptionsAllowed", "currentHealthy", "desiredHealthy", "expectedPods")
        status = obj.get("status") or {}
        errors = conditions_errors(status.get("conditions") or (), "status.conditions")
        return errors + negative_errors(status, counts, "status")
    spec = obj.get("spec") or {}
    errors = []
    if spec.get("minAvailable") is not None and spec.get("maxUnavailable") is not None:
        shown = GoStruct(
            MinAvailable=spec["minAvailable"],
            Selector=quoted_selector(spec.get("selector")),
            MaxUnavailable=spec["maxUnavailable"],
            UnhealthyPodEvictionPolicy=spec.get("unhealthyPodEvictionPolicy"),
        )
        errors.append(invalid("spec", shown, "minAvailable and maxUnavailable cannot be both set"))
    for name in ("minAvailable", "maxUnavailable"):
        if spec.get(name) is not None:
            errors += count_or_percent_errors(spec[name], f"spec.{name}")
            errors += over_hundred_errors(spec[name], f"spec.{name}")
    errors += selector_errors(spec.get("selector"), "spec.selector")
    policy = spec.get("unhealthyPodEvictionPolicy")
    if policy is not None and policy not in ("AlwaysAllow", "IfHealthyBudget"):
        errors.append(not_supported("spec.unhealthyPodEvictionPolicy", policy, ["AlwaysAllow", "IfHealthyBudget"]))
    return errors
