"""Nodes: defaults and strategy."""

from steersman.apiserver.builtin.common.documents import Document
from steersman.apiserver.builtin.strategy import BuiltinStrategy

_NOT_READY = "node.kubernetes.io/not-ready"


class NodeStrategy(BuiltinStrategy):
    """Nodes: whoever registers one says how it is."""

    def default(self, obj: Document) -> None:
        """Let everything that a node has be used, unless it says otherwise."""
        super().default(obj)
        spec = obj.get("spec") or {}
        if spec.get("podCIDR") and not spec.get("podCIDRs"):
            spec["podCIDRs"] = [spec["podCIDR"]]
        status = obj.get("status") or {}
        if status.get("capacity") and not status.get("allocatable"):
            obj["status"] = {**status, "allocatable": dict(status["capacity"])}

    def prepare_create(self, obj: Document, subresource: str = "") -> None:
        """Keep pods away until the node says that it is ready."""
        super().prepare_create(obj, subresource)
        taints = obj.setdefault("spec", {}).setdefault("taints", [])
        if not any(taint.get("key") == _NOT_READY and taint.get("effect") == "NoSchedule" for taint in taints):
            taints.append({"key": _NOT_READY, "effect": "NoSchedule"})

    def initial_status(self, obj: Document) -> Document:
        """Keep the status that came with the node."""
        status: Document = obj.get("status") or {}
        return status

    def fields(self, obj: Document) -> dict[str, str]:
        """Give whether pods may be placed."""
        return {"spec.unschedulable": "true" if (obj.get("spec") or {}).get("unschedulable") else "false"}

    def field_label_error(self, label: str) -> str:
        """Nodes are selected by name and by whether pods may be placed."""
        return "" if label in ("metadata.name", "spec.unschedulable") else f"field label not supported: {label}"
