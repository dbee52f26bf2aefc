"""Endpoints and EndpointSlices: defaults and strategy."""

from steersman.apiserver.builtin.common.defaults import set_default
from steersman.apiserver.builtin.strategy import BuiltinStrategy
from steersman.json_types import JsonObject


def default_endpoints(obj: JsonObject) -> None:
    """Set the default protocol of the ports of Endpoints."""
    for subset in obj.get("subsets") or ():
        for port in subset.get("ports") or ():
            set_default(port, protocol="TCP")


def default_endpoint_slice(obj: JsonObject) -> None:
    """Set the defaults of the ports of an EndpointSlice."""
    for port in obj.get("ports") or ():
        set_default(port, name="", protocol="TCP")


class EndpointSliceStrategy(BuiltinStrategy):
    """EndpointSlices, whose generation counts changes of labels, too."""

    def is_new_generation(self, obj: JsonObject, old: JsonObject) -> bool:
        """Return whether the content or a label changed."""
        before, after = old["metadata"].get("labels") or {}, obj["metadata"].get("labels") or {}
        return before != after or super().is_new_generation(obj, old)
