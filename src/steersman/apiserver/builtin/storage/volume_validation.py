"""Validation of PersistentVolumes."""

from collections.abc import Callable

from steersman.apiserver.builtin.common.file_paths import backstep_errors, nfs_errors, requires
from steersman.apiserver.builtin.common.internal_form import difference_text, internal_form
from steersman.apiserver.builtin.common.names import subdomain_errors
from steersman.apiserver.builtin.common.node_selectors import node_selector_errors
from steersman.apiserver.builtin.common.quantities import positive_errors
from steersman.apiserver.builtin.storage.claim_validation import CLASS_ANNOTATION, VOLUME_MODES, access_mode_errors
from steersman.golang.empty_values import same_content
from steersman.golang.text import GoStruct
from steersman.json_types import JsonObject
from steersman.validation.field_errors import Errors, forbidden, invalid, not_supported, required, too_long
from steersman.validation.names import subdomain_faults

_MOUNT_OPTIONS = "volume.beta.kubernetes.io/mount-options"
_RECLAIM = ("Delete", "Recycle", "Retain")
_IMMUTABLE = "field is immutable"
_STORAGE = "storage"
_LONGEST_DRIVER = 63
_CSI_SECRETS = (
    "controllerPublishSecretRef",
    "controllerExpandSecretRef",
    "nodePublishSecretRef",
    "nodeExpandSecretRef",
)
#: Labels of nodes that may be replaced by their successors in the affinity of an existing volume.
_RENAMED_LABELS = {
    "failure-domain.beta.kubernetes.io/zone": "topology.kubernetes.io/zone",
    "failure-domain.beta.kubernetes.io/region": "topology.kubernetes.io/region",
    "beta.kubernetes.io/instance-type": "node.kubernetes.io/instance-type",
    "beta.kubernetes.io/os": "kubernetes.io/os",
    "beta.kubernetes.io/arch": "kubernetes.io/arch",
}


def _host_path(source: JsonObject, path: str) -> Errors:
    if not source.get("path"):
        return [required(f"{path}.path")]
    return backstep_errors(source["path"], f"{path}.path")


def _csi(source: JsonObject, path: str) -> Errors:
    driver = source.get("driver") or ""
    errors: Errors = [] if driver else [required(f"{path}.driver")]
    if len(driver) > _LONGEST_DRIVER:
        errors.append(too_long(f"{path}.driver", _LONGEST_DRIVER))
    errors += [invalid(f"{path}.driver", driver, fault) for fault in subdomain_faults(driver.lower())]
    if not source.get("volumeHandle"):
        errors.append(required(f"{path}.volumeHandle"))
    for name in _CSI_SECRETS:
        if (secret := source.get(name)) is not None:
            errors += requires("name", "namespace")(secret, f"{path}.{name}")
    return errors


#: In the order in which Kubernetes validates them.
_SOURCES: dict[str, Callable[[JsonObject, str], Errors]] = {
    "hostPath": _host_path,
    "gcePersistentDisk": requires("pdName"),
    "awsElasticBlockStore": requires("volumeID"),
    "glusterfs": requires("endpoints", "path"),
    "flocker": requires(),
    "nfs": nfs_errors,
    "rbd": requires("monitors", "image"),
    "quobyte": requires("registry", "volume"),
    "cephfs": requires("monitors"),
    "iscsi": requires("targetPortal", "iqn"),
    "cinder": requires("volumeID"),
    "fc": requires(),
    "flexVolume": requires("driver"),
    "azureFile": requires("secretName", "shareName"),
    "vsphereVolume": requires("volumePath"),
    "photonPersistentDisk": requires("pdID"),
    "portworxVolume": requires("volumeID"),
    "azureDisk": requires("diskName", "diskURI"),
    "scaleIO": requires("gateway", "system", "volumeName"),
    "local": requires("path"),
    "storageos": requires(),
    "csi": _csi,
}


def volume_errors(obj: JsonObject, old: JsonObject | None, subresource: str) -> Errors:
    """Validate a PersistentVolume."""
    if subresource == "status":
        return []
    spec = obj.get("spec") or {}
    if old is not None and same_content(spec, old.get("spec")):
        return []
    modes = spec.get("accessModes") or ()
    errors: Errors = [] if modes else [required("spec.accessModes")]
    errors += access_mode_errors(modes, "spec.accessModes")
    errors += _capacity_errors(spec.get("capacity"))
    policy = spec.get("persistentVolumeReclaimPolicy")
    if policy and policy not in _RECLAIM:
        errors.append(not_supported("spec.persistentVolumeReclaimPolicy", policy, _RECLAIM))
    errors += _affinity_errors(spec)
    errors += _source_errors(spec)
    if spec.get("storageClassName"):
        errors += subdomain_errors(spec["storageClassName"], "spec.storageClassName")
    mode = spec.get("volumeMode")
    if mode is not None and mode not in VOLUME_MODES:
        errors.append(not_supported("spec.volumeMode", mode, VOLUME_MODES))
    return errors + (_immutable_field_errors(spec, old.get("spec") or {}) if old is not None else [])


def _capacity_errors(capacity: JsonObject | None) -> Errors:
    errors: Errors = [] if capacity else [required("spec.capacity")]
    if list(capacity or ()) != [_STORAGE]:
        errors.append(not_supported("spec.capacity", capacity, [_STORAGE]))
    for name, text in (capacity or {}).items():
        errors += positive_errors(text, f"spec.capacity[{name}]")
    return errors


def _affinity_errors(spec: JsonObject) -> Errors:
    wanted = (spec.get("nodeAffinity") or {}).get("required")
    if wanted is not None:
        return node_selector_errors(wanted, "spec.nodeAffinity.required")
    if spec.get("nodeAffinity") is not None:
        return [required("spec.nodeAffinity.required", "must specify required node constraints")]
    return []


def _source_errors(spec: JsonObject) -> Errors:
    found = [name for name in _SOURCES if spec.get(name) is not None]
    if not found:
        return [required("spec", "must specify a volume type")]
    errors = _SOURCES[found[0]](spec[found[0]], f"spec.{found[0]}")
    if found[0] == "local" and spec.get("nodeAffinity") is None:
        errors.append(required("spec.nodeAffinity", "Local volume requires node affinity"))
    return errors + [forbidden(f"spec.{name}", "may not specify more than 1 volume type") for name in found[1:]]


def _immutable_field_errors(spec: JsonObject, old: JsonObject) -> Errors:
    errors: Errors = []
    before, after = (internal_form("PersistentVolumeSource", part) for part in (old, spec))
    if before != after:
        field = "spec.persistentvolumesource"
        text = f"spec.persistentvolumesource is immutable after creation\n{difference_text(before, after)}"
        errors.append(forbidden(field, text))
    if spec.get("volumeMode") != old.get("volumeMode"):
        errors.append(invalid("volumeMode", spec.get("volumeMode"), _IMMUTABLE))
    return errors + _changed_affinity_errors(spec.get("nodeAffinity"), old.get("nodeAffinity"))


def _changed_affinity_errors(affinity: JsonObject | None, old: JsonObject | None) -> Errors:
    """Reject a change of an existing affinity, except from a beta label to its successor."""
    if old is None or same_content(affinity, old) or same_content(affinity, _with_new_labels(old)):
        return []
    return [invalid("nodeAffinity", _shown(affinity), f"{_IMMUTABLE}, except for updating from beta label to GA")]


def _shown(affinity: JsonObject | None) -> GoStruct | None:
    if affinity is None:
        return None
    wanted = affinity.get("required")
    return GoStruct(Required=None if wanted is None else internal_form("NodeSelector", wanted))


def _with_new_labels(affinity: JsonObject) -> JsonObject:
    terms = (affinity.get("required") or {}).get("nodeSelectorTerms") or ()
    renamed = [
        {
            **term,
            "matchExpressions": [
                {**need, "key": _RENAMED_LABELS.get(need.get("key", ""), need.get("key", ""))}
                for need in term.get("matchExpressions") or ()
            ],
        }
        for term in terms
    ]
    return {"required": {"nodeSelectorTerms": renamed}}


def volume_warnings(obj: JsonObject, old: JsonObject | None) -> list[str]:
    """Return warnings about deprecated annotations and policies of a PersistentVolume."""
    del old
    annotations = obj["metadata"].get("annotations") or {}
    notes = {
        CLASS_ANNOTATION: 'deprecated since v1.8; use "storageClassName" attribute instead',
        _MOUNT_OPTIONS: 'deprecated since v1.31; use "mountOptions" attribute instead',
    }
    warnings = [f"metadata.annotations[{name}]: {text}" for name, text in notes.items() if name in annotations]
    if (obj.get("spec") or {}).get("persistentVolumeReclaimPolicy") == "Recycle":
        text = "Instead, the recommended approach is to use dynamic provisioning."
        warnings.append(f"spec.persistentVolumeReclaimPolicy: The Recycle reclaim policy is deprecated. {text}")
    return warnings
