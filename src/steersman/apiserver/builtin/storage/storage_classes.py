"""StorageClasses and VolumeAttributesClasses: defaults and strategy."""

from steersman.apiserver.builtin.common.defaults import set_default
from steersman.apiserver.builtin.strategy import BuiltinStrategy
from steersman.apiserver.resources.request_context import RequestContext
from steersman.json_types import JsonObject


def default_storage_class(obj: JsonObject) -> None:
    """Set the defaults of a StorageClass."""
    set_default(obj, reclaimPolicy="Delete", volumeBindingMode="Immediate")


class VolumeAttributesClassStrategy(BuiltinStrategy):
    """VolumeAttributesClasses, which a finalizer protects while volumes use them."""

    def prepare_create(self, obj: JsonObject, subresource: str, context: RequestContext) -> None:
        """Add the finalizer that protects a class that volumes use."""
        super().prepare_create(obj, subresource, context)
        finalizers = obj["metadata"].setdefault("finalizers", [])
        if "kubernetes.io/vac-protection" not in finalizers:
            finalizers.append("kubernetes.io/vac-protection")
