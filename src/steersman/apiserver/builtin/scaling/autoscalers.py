"""HorizontalPodAutoscalers: defaults, conversion between v1 and v2, strategy."""

from steersman.apiserver.builtin.common.defaults import set_default
from steersman.apiserver.builtin.strategy import BuiltinStrategy
from steersman.json_types import JsonObject


def default_autoscaler(obj: JsonObject) -> None:
    """Set the defaults of a v2 object."""
    spec = obj["spec"]
    set_default(spec, minReplicas=1)
    if not spec.get("metrics"):
        target = {"type": "Utilization", "averageUtilization": 80}
        spec["metrics"] = [{"type": "Resource", "resource": {"name": "cpu", "target": target}}]
    behavior = spec.get("behavior")
    if behavior is not None:
        _default_scaling(behavior)


def _default_scaling(behavior: JsonObject) -> None:
    up = behavior.get("scaleUp") or {}
    set_default(
        up,
        stabilizationWindowSeconds=0,
        selectPolicy="Max",
        policies=[
            {"type": "Pods", "value": 4, "periodSeconds": 15},
            {"type": "Percent", "value": 100, "periodSeconds": 15},
        ],
    )
    down = behavior.get("scaleDown") or {}
    set_default(down, selectPolicy="Max", policies=[{"type": "Percent", "value": 100, "periodSeconds": 15}])
    behavior["scaleUp"], behavior["scaleDown"] = up, down


def default_autoscaler_v1(obj: JsonObject) -> None:
    """Set the defaults of a v1 object."""
    set_default(obj["spec"], minReplicas=1, targetCPUUtilizationPercentage=80)


def autoscaler_to_v2(scaler: JsonObject) -> JsonObject:
    """Convert a v1 object to v2."""
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


def autoscaler_from_v2(scaler: JsonObject) -> JsonObject:
    """Convert a v2 object to v1, which keeps only the CPU target of the metrics."""
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


class AutoscalerStrategy(BuiltinStrategy):
    """HorizontalPodAutoscalers of v1 and v2, which are stored in v2."""

    def default(self, obj: JsonObject) -> None:
        """Set the defaults of the version that was sent."""
        default = default_autoscaler_v1 if self.gvk.version == "v1" else default_autoscaler
        default(obj)

    def to_stored(self, obj: JsonObject) -> JsonObject:
        """Return an object of this version in v2."""
        return autoscaler_to_v2(obj) if self.gvk.version == "v1" else obj

    def from_stored(self, stored: JsonObject, api_version: str) -> JsonObject:
        """Return a stored v2 object in the requested version."""
        return autoscaler_from_v2(stored) if api_version == "autoscaling/v1" else stored
