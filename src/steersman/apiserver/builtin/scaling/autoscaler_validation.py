"""Validation of HorizontalPodAutoscalers."""

from collections.abc import Callable

from steersman.apiserver.builtin.common.numbers import NOT_POSITIVE, negative_errors
from steersman.apiserver.builtin.common.quantities import parse_quantity
from steersman.json_types import JsonObject
from steersman.validation.field_errors import Errors, forbidden, invalid, not_supported, required
from steersman.validation.names import path_segment_faults

_METRICS = ("ContainerResource", "External", "Object", "Pods", "Resource")
_FIELDS = {
    "Object": "object",
    "External": "external",
    "Pods": "pods",
    "Resource": "resource",
    "ContainerResource": "containerResource",
}
_SELECT = ("Disabled", "Max", "Min")
_MAX_WINDOW = 3600
_MAX_PERIOD = 1800
_NO_RATIO = "must set either a target raw value or a target utilization"
_BOTH_RATIO = "may not set both a target raw value and a target utilization"


def autoscaler_errors(obj: JsonObject, old: JsonObject | None, subresource: str) -> Errors:
    """Validate a HorizontalPodAutoscaler of v1 or v2."""
    del old
    if subresource == "status":
        return negative_errors(obj.get("status") or {}, ("currentReplicas", "desiredReplicas"), "status")
    spec = obj.get("spec") or {}
    low, high = spec.get("minReplicas"), spec.get("maxReplicas") or 0
    errors: Errors = []
    if low is not None and low < 1:
        errors.append(invalid("spec.minReplicas", low, "must be greater than or equal to 1"))
    if high == 0:
        errors.append(required("spec.maxReplicas", "must be set and greater than 0"))
    elif high < 0:
        errors.append(invalid("spec.maxReplicas", high, "must be greater than or equal to 1"))
    if low is not None and high < low:
        errors.append(invalid("spec.maxReplicas", high, "must be greater than or equal to `minReplicas`"))
    errors += _reference_errors(spec.get("scaleTargetRef") or {}, "spec.scaleTargetRef", needs_group=True)
    errors += _metric_list_errors(spec, low)
    for name in ("scaleUp", "scaleDown"):
        rules = (spec.get("behavior") or {}).get(name)
        if rules is not None:
            errors += _rules_errors(rules, f"spec.behavior.{name}")
    return errors


def _reference_errors(reference: JsonObject, path: str, *, needs_group: bool) -> Errors:
    errors: Errors = []
    for name in ("kind", "name"):
        value = reference.get(name) or ""
        if not value:
            errors.append(required(f"{path}.{name}"))
        errors += [invalid(f"{path}.{name}", value, fault) for fault in path_segment_faults(value)]
    version = reference.get("apiVersion") or ""
    if version.count("/") > 1:
        text = f"unexpected GroupVersion string: {version}"
        errors.append(invalid(f"{path}.apiVersion", version, text))
    elif needs_group and "/" not in version and (reference.get("kind") != "ReplicationController" or not version):
        errors.append(invalid(f"{path}.apiVersion", version, "apiVersion must specify API group"))
    return errors


def _metric_list_errors(spec: JsonObject, low: int | None) -> Errors:
    errors: Errors = []
    metrics = spec.get("metrics") or ()
    for index, metric in enumerate(metrics):
        errors += _metric_errors(metric, f"spec.metrics[{index}]")
    if low == 0 and not any(metric.get("type") in ("Object", "External") for metric in metrics):
        text = "must specify at least one Object or External metric to support scaling to zero replicas"
        errors.append(forbidden("spec.metrics", text))
    return errors


def _metric_errors(metric: JsonObject, path: str) -> Errors:
    kind = metric.get("type") or ""
    errors: Errors = []
    if not kind:
        errors.append(required(f"{path}.type", "must specify a metric source type"))
    if kind not in _METRICS:
        errors.append(not_supported(f"{path}.type", kind, _METRICS))
    found = [name for name in _FIELDS.values() if metric.get(name) is not None]
    if found:
        errors += _CHECKS[found[0]](metric[found[0]], f"{path}.{found[0]}")
    expected = _FIELDS.get(kind)
    if expected is None:
        errors.append(not_supported(f"{path}.type", kind, _METRICS))
    elif expected not in found:
        text = "must populate information for the given metric source"
        errors.append(required(f"{path}.{expected}", text))
    if len(found) > 1:
        text = "must populate the given metric source only"
        errors += [forbidden(f"{path}.{name}", text) for name in found if name != expected]
    return errors


def _target_errors(target: JsonObject, path: str) -> Errors:
    kind = target.get("type") or ""
    errors: Errors = [] if kind else [required(f"{path}.type", "must specify a metric target type")]
    if kind not in ("Utilization", "Value", "AverageValue"):
        errors.append(invalid(f"{path}.type", kind, "must be either Utilization, Value, or AverageValue"))
    errors += [
        invalid(f"{path}.{name}", parse_quantity(target[name]).canonical(), "must be positive")
        for name in ("value", "averageValue")
        if target.get(name) is not None and parse_quantity(target[name]).value <= 0
    ]
    share = target.get("averageUtilization")
    if share is not None and share < 1:
        errors.append(invalid(f"{path}.averageUtilization", share, "must be greater than 0"))
    return errors


def _identifier_errors(metric: JsonObject, path: str) -> Errors:
    name = metric.get("name") or ""
    if not name:
        return [required(f"{path}.name", "must specify a metric name")]
    return [invalid(f"{path}.name", name, fault) for fault in path_segment_faults(name)]


def _object_errors(source: JsonObject, path: str) -> Errors:
    target = source.get("target") or {}
    errors = _reference_errors(source.get("describedObject") or {}, f"{path}.describedObject", needs_group=False)
    errors += _identifier_errors(source.get("metric") or {}, f"{path}.metric")
    errors += _target_errors(target, f"{path}.target")
    if target.get("value") is None and target.get("averageValue") is None:
        errors.append(required(f"{path}.target.averageValue", "must set either a target value or averageValue"))
    return errors


def _external_errors(source: JsonObject, path: str) -> Errors:
    target = source.get("target") or {}
    errors = _identifier_errors(source.get("metric") or {}, f"{path}.metric")
    errors += _target_errors(target, f"{path}.target")
    if target.get("value") is None and target.get("averageValue") is None:
        text = "must set either a target value for metric or a per-pod target"
        errors.append(required(f"{path}.target.averageValue", text))
    if target.get("value") is not None and target.get("averageValue") is not None:
        text = "may not set both a target value for metric and a per-pod target"
        errors.append(forbidden(f"{path}.target.value", text))
    return errors


def _pods_errors(source: JsonObject, path: str) -> Errors:
    target = source.get("target") or {}
    errors = _identifier_errors(source.get("metric") or {}, f"{path}.metric")
    errors += _target_errors(target, f"{path}.target")
    if target.get("averageValue") is None:
        errors.append(required(f"{path}.target.averageValue", "must specify a positive target averageValue"))
    return errors


def _resource_errors(source: JsonObject, path: str) -> Errors:
    target = source.get("target") or {}
    errors: Errors = [] if source.get("name") else [required(f"{path}.name", "must specify a resource name")]
    errors += _target_errors(target, f"{path}.target")
    share, value = target.get("averageUtilization"), target.get("averageValue")
    if share is None and value is None:
        errors.append(required(f"{path}.target.averageUtilization", _NO_RATIO))
    if share is not None and value is not None:
        errors.append(forbidden(f"{path}.target.averageValue", _BOTH_RATIO))
    return errors


def _container_errors(source: JsonObject, path: str) -> Errors:
    errors: Errors = [] if source.get("container") else [required(f"{path}.container", "must specify a container")]
    return errors + _resource_errors(source, path)


_CHECKS: dict[str, Callable[[JsonObject, str], Errors]] = {
    "object": _object_errors,
    "external": _external_errors,
    "pods": _pods_errors,
    "resource": _resource_errors,
    "containerResource": _container_errors,
}


def _rules_errors(rules: JsonObject, path: str) -> Errors:
    errors: Errors = []
    window, select = rules.get("stabilizationWindowSeconds"), rules.get("selectPolicy")
    if window is not None and window < 0:
        errors.append(invalid(f"{path}.stabilizationWindowSeconds", window, "must be greater than or equal to zero"))
    if window is not None and window > _MAX_WINDOW:
        text = f"must be less than or equal to {_MAX_WINDOW}"
        errors.append(invalid(f"{path}.stabilizationWindowSeconds", window, text))
    if select is not None and select not in _SELECT:
        errors.append(not_supported(f"{path}.selectPolicy", select, _SELECT))
    if not rules.get("policies"):
        errors.append(required(f"{path}.policies", "must specify at least one Policy"))
    for index, policy in enumerate(rules.get("policies") or ()):
        errors += _policy_errors(policy, f"{path}.policies[{index}]")
    return errors


def _policy_errors(policy: JsonObject, path: str) -> Errors:
    kind, period = policy.get("type") or "", policy.get("periodSeconds") or 0
    errors: Errors = []
    if kind not in ("Percent", "Pods"):
        errors.append(not_supported(f"{path}.type", kind, ["Percent", "Pods"]))
    errors += [
        invalid(f"{path}.{name}", policy.get(name) or 0, NOT_POSITIVE)
        for name in ("value", "periodSeconds")
        if (policy.get(name) or 0) <= 0
    ]
    if period > _MAX_PERIOD:
        errors.append(invalid(f"{path}.periodSeconds", period, f"must be less than or equal to {_MAX_PERIOD}"))
    return errors
