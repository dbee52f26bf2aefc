"""HorizontalPodAutoscalers: defaults and strategy."""

from steersman.apiserver.builtin.common.defaults import set_default
from steersman.apiserver.builtin.scaling.autoscaler_conversion import autoscaler_from_v2, autoscaler_to_v2
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
