"""Nodes: defaults and strategy."""

from steersman.apiserver.builtin.common.defaults import join_first
from steersman.apiserver.builtin.strategy import BuiltinStrategy
from steersman.apiserver.resources.request_context import RequestContext
from steersman.json_types import JsonObject

_NOT_READY = "node.kubernetes.io/not-ready"


class NodeStrategy(BuiltinStrategy):
    """Nodes, whose status is accepted on creation."""

    def default(self, obj: JsonObject) -> None:
        """Set ``podCIDRs`` and ``allocatable`` from ``podCIDR`` and ``capacity``."""
        super().default(obj)
        join_first(obj.get("spec") or {}, "podCIDR", "podCIDRs")
        status = obj.get("status") or {}
        if status.get("capacity") and not status.get("allocatable"):
            obj["status"] = {**status, "allocatable": dict(status["capacity"])}

    def prepare_create(self, obj: JsonObject, subresource: str, context: RequestContext) -> None:
        """Taint the node as not ready until it reports its state."""
        super().prepare_create(obj, subresource, context)
        taints = obj.setdefault("spec", {}).setdefault("taints", [])
        if not any(taint.get("key") == _NOT_READY and taint.get("effect") == "NoSchedule" for taint in taints):
            taints.append({"key": _NOT_READY, "effect": "NoSchedule"})

    def initial_status(self, obj: JsonObject) -> JsonObject:
        """Return the status that was sent with the node."""
        status: JsonObject = obj.get("status") or {}
        return status

    def fields(self, obj: JsonObject) -> dict[str, str]:
        """Return whether the node is unschedulable."""
        return {"spec.unschedulable": "true" if (obj.get("spec") or {}).get("unschedulable") else "false"}

    def field_label_error(self, label: str) -> str:
        """Return an error unless the label is the name or ``spec.unschedulable``."""
        return "" if label in ("metadata.name", "spec.unschedulable") else f"field label not supported: {label}"
