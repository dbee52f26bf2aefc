"""Built-in kinds that two API versions serve from one store: events of both groups, autoscalers of v1 and v2."""

from typing import Any

Document = dict[str, Any]

#: Names of an event's fields in events.k8s.io → in core.
_EVENT_NAMES = {
    "reportingController": "reportingComponent",
    "regarding": "involvedObject",
    "note": "message",
    "deprecatedSource": "source",
    "deprecatedFirstTimestamp": "firstTimestamp",
    "deprecatedLastTimestamp": "lastTimestamp",
    "deprecatedCount": "count",
}
_CORE_NAMES = {core: new for new, core in _EVENT_NAMES.items()}
#: Fields that one version writes even when they are empty, and the other leaves out.
_CORE_ALWAYS = {"reportingComponent": "", "reportingInstance": "", "source": {}, "involvedObject": {}}


def event_to_core(event: Document) -> Document:
    """Give an event of events.k8s.io as the core group knows it."""
    made = {_EVENT_NAMES.get(key, key): value for key, value in event.items()}
    made["apiVersion"] = "v1"
    for name, empty in _CORE_ALWAYS.items():
        made.setdefault(name, empty)
    return made


def event_from_core(event: Document) -> Document:
    """Give a core event as events.k8s.io knows it."""
    made = {_CORE_NAMES.get(key, key): value for key, value in event.items()}
    made["apiVersion"] = "events.k8s.io/v1"
    for name in ("reportingController", "reportingInstance"):
        if made.get(name) == "":
            del made[name]
    return made


def autoscaler_to_v2(scaler: Document) -> Document:
    """Give an autoscaling/v1 autoscaler as v2 knows it."""
    spec = dict(scaler.get("spec") or {})
    target = spec.pop("targetCPUUtilizationPercentage", None)
    if target is not None:
        metric = {"name": "cpu", "target": {"type": "Utilization", "averageUtilization": target}}
        spec["metrics"] = [{"type": "Resource", "resource": metric}]
    status = dict(scaler.get("status") or {})
    current = status.pop("currentCPUUtilizationPercentage", None)
    status["currentMetrics"] = None
    if current is not None:
        value = {"name": "cpu", "current": {"averageUtilization": current, "averageValue": "0"}}
        status["currentMetrics"] = [{"type": "Resource", "resource": value}]
    return {**scaler, "apiVersion": "autoscaling/v2", "spec": spec, "status": status}


def autoscaler_from_v2(scaler: Document) -> Document:
    """Give an autoscaling/v2 autoscaler as v1 knows it."""
    spec = dict(scaler.get("spec") or {})
    for metric in spec.pop("metrics", None) or ():
        resource = metric.get("resource") or {}
        utilization = (resource.get("target") or {}).get("averageUtilization")
        if resource.get("name") == "cpu" and utilization is not None:
            spec["targetCPUUtilizationPercentage"] = utilization
    spec.pop("behavior", None)
    status = dict(scaler.get("status") or {})
    status.pop("conditions", None)
    status.pop("currentMetrics", None)
    status.setdefault("currentReplicas", 0)
    status.setdefault("desiredReplicas", 0)
    return {**scaler, "apiVersion": "autoscaling/v1", "spec": spec, "status": status}
