"""Registration of PersistentVolumes, their claims, and the classes and drivers that provide them."""

from steersman.apiserver.builtin.common.strategies import ReturnsDeletedObject, StatusKeepsMetadata
from steersman.apiserver.builtin.kind import BuiltinKind
from steersman.apiserver.builtin.storage.claims import ClaimStrategy, default_claim
from steersman.apiserver.builtin.storage.csi_drivers import default_csi_driver
from steersman.apiserver.builtin.storage.storage_classes import VolumeAttributesClassStrategy, default_storage_class
from steersman.apiserver.builtin.storage.volumes import VolumeStrategy, default_volume

_STORAGE = "storage.k8s.io"
KINDS = (
    BuiltinKind(
        "",
        "PersistentVolumeClaim",
        strategy=ClaimStrategy,
        defaults=default_claim,
        validation="storage.claim_validation:claim_errors",
        warnings="storage.claim_validation:claim_warnings",
        columns="storage.columns:PERSISTENT_VOLUME_CLAIM",
    ),
    BuiltinKind(
        "",
        "PersistentVolume",
        strategy=VolumeStrategy,
        defaults=default_volume,
        validation="storage.volume_validation:volume_errors",
        warnings="storage.volume_validation:volume_warnings",
        columns="storage.columns:PERSISTENT_VOLUME",
    ),
    BuiltinKind(
        _STORAGE,
        "StorageClass",
        strategy=ReturnsDeletedObject,
        defaults=default_storage_class,
        validation="storage.storage_class_validation:storage_class_errors",
        columns="storage.columns:STORAGE_CLASS",
    ),
    BuiltinKind(
        _STORAGE,
        "VolumeAttributesClass",
        strategy=VolumeAttributesClassStrategy,
        validation="storage.storage_class_validation:volume_attributes_class_errors",
        columns="storage.columns:VOLUME_ATTRIBUTES_CLASS",
    ),
    BuiltinKind(
        _STORAGE,
        "VolumeAttachment",
        strategy=StatusKeepsMetadata,
    ),
    BuiltinKind(
        _STORAGE,
        "CSIDriver",
        defaults=default_csi_driver,
        columns="storage.columns:CSI_DRIVER",
    ),
    BuiltinKind(_STORAGE, "CSINode"),
    BuiltinKind(_STORAGE, "CSIStorageCapacity"),
)
