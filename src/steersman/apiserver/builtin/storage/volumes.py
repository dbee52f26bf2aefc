"""PersistentVolumes: defaults and strategy."""

from steersman.apiserver.builtin.common.defaults import set_default
from steersman.apiserver.builtin.strategy import BuiltinStrategy
from steersman.apiserver.resources.request_context import RequestContext
from steersman.json_types import JsonObject

_PHASE_TIME = "lastPhaseTransitionTime"


def default_volume(obj: JsonObject) -> None:
    """Set the defaults of a PersistentVolume."""
    spec = obj["spec"]
    set_default(spec, persistentVolumeReclaimPolicy="Retain", volumeMode="Filesystem")
    if spec.get("hostPath") is not None:
        set_default(spec["hostPath"], type="")
    if spec.get("iscsi") is not None:
        set_default(spec["iscsi"], iscsiInterface="default")
    if spec.get("rbd") is not None:
        set_default(spec["rbd"], pool="rbd", user="admin", keyring="/etc/ceph/keyring")


class VolumeStrategy(BuiltinStrategy):
    """PersistentVolumes, which a finalizer protects while they are bound."""

    answers_delete_with_object = True

    def default(self, obj: JsonObject) -> None:
        """Set the defaults, and the phase ``Pending`` where none is given."""
        super().default(obj)
        obj["status"] = {"phase": "Pending", **(obj.get("status") or {})}

    def initial_status(self, obj: JsonObject) -> JsonObject:
        """Return the phase ``Pending``."""
        return {"phase": "Pending", _PHASE_TIME: obj["metadata"]["creationTimestamp"]}

    def prepare_create(self, obj: JsonObject, subresource: str, context: RequestContext) -> None:
        """Add the finalizer that protects a bound volume."""
        super().prepare_create(obj, subresource, context)
        finalizers = obj["metadata"].setdefault("finalizers", [])
        if "kubernetes.io/pv-protection" not in finalizers:
            finalizers.append("kubernetes.io/pv-protection")

    def prepare_update(self, obj: JsonObject, old: JsonObject, subresource: str, context: RequestContext) -> None:
        """Keep the time of the last phase, or set it when the phase changes and the client sets no time."""
        super().prepare_update(obj, old, subresource, context)
        if subresource == "status":
            _set_phase_time(obj.setdefault("status", {}), old.get("status") or {}, context.now)


def _set_phase_time(status: JsonObject, old: JsonObject, now: str) -> None:
    before = old.get(_PHASE_TIME)
    if status.get("phase") == old.get("phase"):
        if status.get(_PHASE_TIME) is None and before is not None:
            status[_PHASE_TIME] = before
    elif status.get(_PHASE_TIME) in (None, before):
        status[_PHASE_TIME] = now
