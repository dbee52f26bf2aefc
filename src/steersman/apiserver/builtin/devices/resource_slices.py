"""ResourceSlices: strategy."""

from steersman.apiserver.builtin.strategy import BuiltinStrategy
from steersman.json_types import JsonObject


class ResourceSliceStrategy(BuiltinStrategy):
    """ResourceSlices, which are selected by their node and driver."""

    def fields(self, obj: JsonObject) -> dict[str, str]:
        """Return node and driver."""
        spec = obj.get("spec") or {}
        return {"spec.nodeName": spec.get("nodeName") or "", "spec.driver": spec.get("driver") or ""}

    def field_label_error(self, label: str) -> str:
        """Return an error unless the label is the name, the node or the driver."""
        known = ("metadata.name", "spec.nodeName", "spec.driver")
        text = f"field label not supported for {self.gvk.api_version}, Kind={self.gvk.kind}: {label}"
        return "" if label in known else text
