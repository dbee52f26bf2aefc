"""Columns of claims, volumes, classes and drivers."""

from datetime import datetime
from typing import Any

from steersman.apiserver.builtin.common.cells import AGE, UNSET, at, column, field, joined
from steersman.apiserver.resources.columns import NAME, Column
from steersman.json_types import JsonObject

_MODES = {
    "ReadWriteOnce": "RWO",
    "ReadOnlyMany": "ROX",
    "ReadWriteMany": "RWX",
    "ReadWriteOncePod": "RWOP",
}


def _access_modes(modes: Any) -> str:
    return ",".join(short for long, short in _MODES.items() if long in (modes or ()))


def _claim_status(obj: JsonObject, _now: datetime) -> str:
    return "Terminating" if at(obj, "metadata", "deletionTimestamp") else at(obj, "status", "phase", default="")


def _claim_capacity(obj: JsonObject, _now: datetime) -> str:
    bound = at(obj, "spec", "volumeName")
    text: str = at(obj, "status", "capacity", "storage", default="0") if bound else ""
    return text


def _claim_modes(obj: JsonObject, _now: datetime) -> str:
    return _access_modes(at(obj, "status", "accessModes")) if at(obj, "spec", "volumeName") else ""


def _volume_modes(obj: JsonObject, _now: datetime) -> str:
    return _access_modes(at(obj, "spec", "accessModes"))


def _volume_claim(obj: JsonObject, _now: datetime) -> str:
    reference = at(obj, "spec", "claimRef")
    return f"{reference.get('namespace', '')}/{reference.get('name', '')}" if reference else ""


def _class_name(obj: JsonObject, _now: datetime) -> str:
    is_default = at(obj, "metadata", "annotations", "storageclass.kubernetes.io/is-default-class") == "true"
    return f"{obj['metadata']['name']} (default)" if is_default else str(obj["metadata"]["name"])


PERSISTENT_VOLUME_CLAIM = (
    NAME,
    column("Status", _claim_status),
    column("Volume", field("spec", "volumeName")),
    column("Capacity", _claim_capacity),
    column("Access Modes", _claim_modes),
    column("StorageClass", field("spec", "storageClassName")),
    column("VolumeAttributesClass", field("spec", "volumeAttributesClassName", default=UNSET)),
    AGE,
    column("VolumeMode", field("spec", "volumeMode", default=UNSET), wide=True),
)
PERSISTENT_VOLUME = (
    NAME,
    column("Capacity", field("spec", "capacity", "storage")),
    column("Access Modes", _volume_modes),
    column("Reclaim Policy", field("spec", "persistentVolumeReclaimPolicy")),
    column("Status", _claim_status),
    column("Claim", _volume_claim),
    column("StorageClass", field("spec", "storageClassName")),
    column("VolumeAttributesClass", field("spec", "volumeAttributesClassName", default=UNSET)),
    column("Reason", field("status", "reason")),
    AGE,
    column("VolumeMode", field("spec", "volumeMode", default=UNSET), wide=True),
)
STORAGE_CLASS = (
    Column("Name", _class_name, format="name", description=NAME.description),
    column("Provisioner", field("provisioner")),
    column("ReclaimPolicy", field("reclaimPolicy")),
    column("VolumeBindingMode", field("volumeBindingMode")),
    column("AllowVolumeExpansion", field("allowVolumeExpansion", default=False)),
    AGE,
)


def _audiences(obj: JsonObject, _now: datetime) -> str:
    found = at(obj, "spec", "tokenRequests")
    return UNSET if found is None else ",".join(item.get("audience", "") for item in found)


CSI_DRIVER = (
    NAME,
    column("AttachRequired", field("spec", "attachRequired", default=True), type_="boolean"),
    column("PodInfoOnMount", field("spec", "podInfoOnMount", default=False), type_="boolean"),
    column("StorageCapacity", field("spec", "storageCapacity", default=False), type_="boolean"),
    column("TokenRequests", _audiences),
    column("RequiresRepublish", field("spec", "requiresRepublish", default=False), type_="boolean"),
    column("Modes", joined("spec", "volumeLifecycleModes")),
    AGE,
)
VOLUME_ATTRIBUTES_CLASS = (NAME, column("DriverName", field("driverName")), AGE)
