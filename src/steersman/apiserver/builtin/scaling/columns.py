"""Columns of HorizontalPodAutoscalers and PodDisruptionBudgets."""

from collections.abc import Callable, Sequence
from datetime import datetime

from steersman.apiserver.builtin.common.cells import AGE, NONE, UNSET, at, column, field
from steersman.apiserver.resources.columns import NAME
from steersman.json_types import JsonObject

_UNKNOWN = "<unknown>"
_MOST_METRICS = 2


def _percent(value: object) -> str | None:
    return None if value is None else f"{value}%"


def _current_and_target(target: JsonObject, current: JsonObject, *, named: str = "") -> str:
    """Return a current value beside its target."""
    prefix = f"{named}: " if named else ""
    if target.get("averageValue") is not None:
        suffix = "" if named else " (avg)"
        return f"{prefix}{current.get('averageValue') or _UNKNOWN}/{target['averageValue']}{suffix}"
    if named:
        have, want = _percent(current.get("averageUtilization")), _percent(target.get("averageUtilization"))
        return f"{prefix}{have or _UNKNOWN}/{want or '<auto>'}"
    return f"{current.get('value') or _UNKNOWN}/{target.get('value', '')}"


#: Type of a metric → the field that describes it.
_METRICS = {
    "Object": "object",
    "External": "external",
    "Pods": "pods",
    "Resource": "resource",
    "ContainerResource": "containerResource",
}


def _metric(spec: JsonObject, status: JsonObject) -> str:
    place = _METRICS.get(spec.get("type", ""))
    if place is None:
        return "<unknown type>"
    source, current = spec.get(place) or {}, at(status, place, "current", default={})
    target = source.get("target") or {}
    if place == "pods":
        return f"{current.get('averageValue') or _UNKNOWN}/{target.get('averageValue', '')}"
    return _current_and_target(target, current, named=source.get("name", "") if "esource" in place else "")


def _targets(obj: JsonObject, _now: datetime) -> str:
    metrics, statuses = _autoscaler_metrics(obj)
    if not metrics:
        return NONE
    shown = [_metric(metric, statuses[index] if index < len(statuses) else {}) for index, metric in enumerate(metrics)]
    text = ", ".join(shown[:_MOST_METRICS])
    return f"{text} + {len(shown) - _MOST_METRICS} more..." if len(shown) > _MOST_METRICS else text


def _autoscaler_metrics(obj: JsonObject) -> tuple[Sequence[JsonObject], Sequence[JsonObject]]:
    """Return the metrics of an object of v1 or v2, and their current values."""
    wanted = at(obj, "spec", "targetCPUUtilizationPercentage")
    if obj.get("apiVersion") != "autoscaling/v1":
        return at(obj, "spec", "metrics", default=()), at(obj, "status", "currentMetrics", default=())
    current = {"averageUtilization": at(obj, "status", "currentCPUUtilizationPercentage")}
    metric = {"type": "Resource", "resource": {"name": "cpu", "target": {"averageUtilization": wanted}}}
    return ([metric] if wanted is not None else ()), [{"resource": {"current": current}}]


def _reference(obj: JsonObject, _now: datetime) -> str:
    target = at(obj, "spec", "scaleTargetRef", default={})
    return f"{target.get('kind', '')}/{target.get('name', '')}"


def _min_replicas(obj: JsonObject, _now: datetime) -> str:
    return str(at(obj, "spec", "minReplicas", default=UNSET))


HORIZONTAL_POD_AUTOSCALER = (
    NAME,
    column("Reference", _reference),
    column("Targets", _targets),
    column("MinPods", _min_replicas),
    column("MaxPods", field("spec", "maxReplicas", default=0)),
    column("Replicas", field("status", "currentReplicas", default=0)),
    AGE,
)


def _value_or_not_applicable(key: str) -> Callable[[JsonObject, datetime], str]:
    def cell(obj: JsonObject, _now: datetime) -> str:
        value = at(obj, "spec", key)
        return "N/A" if value is None else str(value)

    return cell


POD_DISRUPTION_BUDGET = (
    NAME,
    column("Min Available", _value_or_not_applicable("minAvailable")),
    column("Max Unavailable", _value_or_not_applicable("maxUnavailable")),
    column("Allowed Disruptions", field("status", "disruptionsAllowed", default=0), type_="integer"),
    AGE,
)
