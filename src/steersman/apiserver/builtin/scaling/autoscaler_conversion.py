"""HorizontalPodAutoscalers in v1: what that version has no field for is kept in annotations.

A v1 object has one target, the CPU utilization. Other metrics and the behavior are written into annotations, as
Kubernetes does, so that a client of v1 that reads an object and writes it back loses neither.
"""

import json
from collections.abc import Callable
from typing import Any

from steersman.errors import DecodeError
from steersman.json_types import JsonObject
from steersman.objects.codec import decode_json

_PREFIX = "autoscaling.alpha.kubernetes.io/"
_METRICS, _BEHAVIOR = f"{_PREFIX}metrics", f"{_PREFIX}behavior"
#: Fields of the behavior, which its annotation has under Go's names.
_SCALING = {
    "stabilizationWindowSeconds": "StabilizationWindowSeconds",
    "selectPolicy": "SelectPolicy",
    "policies": "Policies",
    "tolerance": "Tolerance",
}
_POLICY = {"type": "Type", "value": "Value", "periodSeconds": "PeriodSeconds"}


def autoscaler_to_v2(scaler: JsonObject) -> JsonObject:
    """Convert a v1 object to v2."""
    spec, metadata = dict(scaler.get("spec") or {}), dict(scaler["metadata"])
    annotations = dict(metadata.get("annotations") or {})
    metrics = [_metric_from_v1(metric) for metric in _parsed(annotations.pop(_METRICS, None)) or ()]
    target = spec.pop("targetCPUUtilizationPercentage", None)
    if target is not None:
        metrics.append(_cpu_metric(target))
    if metrics:
        spec["metrics"] = metrics
    behavior = _parsed(annotations.pop(_BEHAVIOR, None))
    if behavior:
        spec["behavior"] = _behavior_from_go(behavior)
    status = dict(scaler.get("status") or {})
    current = status.pop("currentCPUUtilizationPercentage", None)
    status["currentMetrics"] = None
    if not status.get("currentReplicas"):
        status.pop("currentReplicas", None)
    if current is not None:
        value = {"name": "cpu", "current": {"averageUtilization": current, "averageValue": "0"}}
        status["currentMetrics"] = [{"type": "Resource", "resource": value}]
    metadata = _with_annotations(metadata, annotations)
    return {**scaler, "apiVersion": "autoscaling/v2", "metadata": metadata, "spec": spec, "status": status}


def autoscaler_from_v2(scaler: JsonObject) -> JsonObject:
    """Convert a v2 object to v1; of several CPU targets the first is kept."""
    spec, metadata = dict(scaler.get("spec") or {}), dict(scaler["metadata"])
    annotations = dict(metadata.get("annotations") or {})
    others = []
    for metric in spec.pop("metrics", None) or ():
        utilization = _cpu_utilization(metric)
        if utilization is None:
            others.append(_metric_to_v1(metric))
        else:
            spec.setdefault("targetCPUUtilizationPercentage", utilization)
    if others:
        annotations[_METRICS] = _compact(others)
    behavior = spec.pop("behavior", None)
    if behavior is not None:
        annotations[_BEHAVIOR] = _compact(_behavior_to_go(behavior))
    status = dict(scaler.get("status") or {})
    status.pop("conditions", None)
    status.pop("currentMetrics", None)
    status.setdefault("currentReplicas", 0)
    status.setdefault("desiredReplicas", 0)
    metadata = _with_annotations(metadata, annotations)
    return {**scaler, "apiVersion": "autoscaling/v1", "metadata": metadata, "spec": spec, "status": status}


def _with_annotations(metadata: JsonObject, annotations: JsonObject) -> JsonObject:
    if annotations:
        return {**metadata, "annotations": annotations}
    metadata.pop("annotations", None)
    return metadata


def _compact(value: Any) -> str:
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False)


def _parsed(text: str | None) -> Any:
    """Return the JSON of an annotation; ``None`` if it is not JSON."""
    if text is None:
        return None
    try:
        return decode_json(text.encode())
    except DecodeError:
        return None


def _cpu_metric(utilization: int) -> JsonObject:
    target = {"type": "Utilization", "averageUtilization": utilization}
    return {"type": "Resource", "resource": {"name": "cpu", "target": target}}


def _cpu_utilization(metric: JsonObject) -> int | None:
    resource = metric.get("resource") or {}
    utilization: int | None = (resource.get("target") or {}).get("averageUtilization")
    return utilization if metric.get("type") == "Resource" and resource.get("name") == "cpu" else None


def _present(**fields: Any) -> JsonObject:
    return {name: value for name, value in fields.items() if value is not None}


# One metric, from v2 to v1. The order of fields is Go's.


def _resource_to_v1(source: JsonObject) -> JsonObject:
    target = source.get("target") or {}
    return _present(
        name=source.get("name", ""),
        targetAverageUtilization=target.get("averageUtilization"),
        targetAverageValue=target.get("averageValue"),
        container=source.get("container"),
    )


def _pods_to_v1(source: JsonObject) -> JsonObject:
    metric, target = source.get("metric") or {}, source.get("target") or {}
    return _present(
        metricName=metric.get("name", ""),
        targetAverageValue=target.get("averageValue", "0"),
        selector=metric.get("selector"),
    )


def _object_to_v1(source: JsonObject) -> JsonObject:
    metric, target = source.get("metric") or {}, source.get("target") or {}
    return _present(
        target=source.get("describedObject") or {},
        metricName=metric.get("name", ""),
        targetValue=target.get("value", "0"),
        selector=metric.get("selector"),
        averageValue=target.get("averageValue"),
    )


def _external_to_v1(source: JsonObject) -> JsonObject:
    metric, target = source.get("metric") or {}, source.get("target") or {}
    return _present(
        metricName=metric.get("name", ""),
        metricSelector=metric.get("selector"),
        targetValue=target.get("value"),
        targetAverageValue=target.get("averageValue"),
    )


# One metric, from v1 to v2.


def _target(*, value: str | None = None, average: str | None = None, utilization: int | None = None) -> JsonObject:
    if utilization is not None:
        return {"type": "Utilization", "averageUtilization": utilization}
    if average is not None:
        return {"type": "AverageValue", "averageValue": average}
    return {"type": "Value", "value": value}


def _resource_from_v1(source: JsonObject) -> JsonObject:
    average, utilization = source.get("targetAverageValue"), source.get("targetAverageUtilization")
    return _present(
        name=source.get("name", ""),
        target=_target(average=average, utilization=utilization),
        container=source.get("container"),
    )


def _pods_from_v1(source: JsonObject) -> JsonObject:
    metric = _present(name=source.get("metricName", ""), selector=source.get("selector"))
    return {"metric": metric, "target": _target(average=source.get("targetAverageValue", "0"))}


def _object_from_v1(source: JsonObject) -> JsonObject:
    metric = _present(name=source.get("metricName", ""), selector=source.get("selector"))
    target = _target(value=source.get("targetValue"), average=source.get("averageValue"))
    return {"describedObject": source.get("target") or {}, "target": target, "metric": metric}


def _external_from_v1(source: JsonObject) -> JsonObject:
    metric = _present(name=source.get("metricName", ""), selector=source.get("metricSelector"))
    target = _target(value=source.get("targetValue"), average=source.get("targetAverageValue"))
    return {"metric": metric, "target": target}


_Convert = Callable[[JsonObject], JsonObject]
#: Name of the metric's source → its conversions to and from v1.
_SOURCES: dict[str, tuple[_Convert, _Convert]] = {
    "resource": (_resource_to_v1, _resource_from_v1),
    "containerResource": (_resource_to_v1, _resource_from_v1),
    "pods": (_pods_to_v1, _pods_from_v1),
    "object": (_object_to_v1, _object_from_v1),
    "external": (_external_to_v1, _external_from_v1),
}


def _metric_to_v1(metric: JsonObject) -> JsonObject:
    sources = {name: to_v1(metric[name]) for name, (to_v1, _) in _SOURCES.items() if metric.get(name) is not None}
    return {"type": metric.get("type", ""), **sources}


def _metric_from_v1(metric: JsonObject) -> JsonObject:
    sources = {name: from_v1(metric[name]) for name, (_, from_v1) in _SOURCES.items() if metric.get(name) is not None}
    return {"type": metric.get("type", ""), **sources}


def _behavior_to_go(behavior: JsonObject) -> JsonObject:
    return {"ScaleUp": _scaling_to_go(behavior.get("scaleUp")), "ScaleDown": _scaling_to_go(behavior.get("scaleDown"))}


def _scaling_to_go(scaling: JsonObject | None) -> JsonObject | None:
    if scaling is None:
        return None
    written = {go: scaling.get(name) for name, go in _SCALING.items()}
    if scaling.get("policies") is not None:
        written["Policies"] = [{go: policy.get(name) for name, go in _POLICY.items()} for policy in scaling["policies"]]
    return written


def _behavior_from_go(behavior: JsonObject) -> JsonObject:
    return _present(
        scaleUp=_scaling_from_go(behavior.get("ScaleUp")), scaleDown=_scaling_from_go(behavior.get("ScaleDown"))
    )


def _scaling_from_go(scaling: JsonObject | None) -> JsonObject | None:
    if scaling is None:
        return None
    read = _present(**{name: scaling.get(go) for name, go in _SCALING.items()})
    if read.get("policies") is not None:
        read["policies"] = [
            _present(**{name: policy.get(go) for name, go in _POLICY.items()}) for policy in read["policies"]
        ]
    return read
