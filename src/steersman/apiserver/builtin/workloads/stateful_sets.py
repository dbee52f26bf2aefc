"""StatefulSets: defaults and strategy."""

from steersman.apiserver.builtin.common.defaults import set_default
from steersman.apiserver.builtin.pods.defaults import default_template
from steersman.apiserver.builtin.strategy import BuiltinStrategy
from steersman.json_types import JsonObject
from steersman.validation.object_meta import label_name_faults


def default_stateful_set(obj: JsonObject) -> None:
    """Set the defaults of a StatefulSet."""
    spec = obj["spec"]
    set_default(spec, podManagementPolicy="OrderedReady", replicas=1, revisionHistoryLimit=10)
    update = spec.setdefault("updateStrategy", {})
    set_default(update, type="RollingUpdate")
    if update["type"] == "RollingUpdate":
        set_default(update, rollingUpdate={})
        set_default(update["rollingUpdate"], partition=0)
    if spec.get("persistentVolumeClaimRetentionPolicy") is None:
        spec["persistentVolumeClaimRetentionPolicy"] = {}
    set_default(spec["persistentVolumeClaimRetentionPolicy"], whenDeleted="Retain", whenScaled="Retain")
    for claim in spec.get("volumeClaimTemplates") or ():
        claim["kind"] = "PersistentVolumeClaim"
        claim["apiVersion"] = "v1"
        set_default(claim.setdefault("spec", {}), volumeMode="Filesystem")
        claim.setdefault("status", {})["phase"] = "Pending"
    default_template(spec.get("template"))


class StatefulSetStrategy(BuiltinStrategy):
    """StatefulSets, whose names are the start of host names."""

    def name_faults(self, name: str, prefix: bool) -> list[str]:
        """Return an error unless the name is a DNS label."""
        return label_name_faults(name, prefix)
