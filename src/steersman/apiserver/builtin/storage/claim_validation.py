"""Volumes that outlive pods: PersistentVolumes, their claims, and StorageClasses."""

import math
from collections.abc import Callable, Sequence
from typing import Any

from steersman.apiserver.builtin.common.internal_form import internal_form, shown_difference
from steersman.apiserver.builtin.common.label_selectors import selector_errors
from steersman.apiserver.builtin.common.names import qualified_errors, subdomain_errors
from steersman.apiserver.builtin.common.quantities import amount_of, positive_errors
from steersman.apiserver.builtin.pods.container_validation import backstep_errors
from steersman.apiserver.builtin.pods.placement_validation import node_selector_errors
from steersman.golang.empty_values import same_content
from steersman.validation.field_errors import FieldError, forbidden, invalid, not_supported, required

Document = dict[str, Any]
Errors = list[FieldError]
_ACCESS = ("ReadOnlyMany", "ReadWriteMany", "ReadWriteOnce", "ReadWriteOncePod")
_MODES = ("Block", "Filesystem")
_RECLAIM = ("Delete", "Recycle", "Retain")
_BINDING = ("Immediate", "WaitForFirstConsumer")
_IMMUTABLE = "field is immutable"
_CLAIM_CHANGES = (
    "spec is immutable after creation except resources.requests and volumeAttributesClassName for bound claims"
)
_STORAGE = "storage"


def _access_errors(modes: Sequence[str], path: str) -> Errors:
    errors: Errors = [not_supported(path, mode, _ACCESS) for mode in modes if mode not in _ACCESS]
    if "ReadWriteOncePod" in modes and any(mode in _ACCESS[:3] for mode in modes):
        errors.append(forbidden(path, "may not use ReadWriteOncePod with other access modes"))
    return errors


def claim_spec_errors(spec: Document, path: str) -> Errors:
    """Complain about what a claim asks for."""
    modes = spec.get("accessModes") or ()
    errors: Errors = [] if modes else [required(f"{path}.accessModes", "at least 1 access mode is required")]
    errors += selector_errors(spec.get("selector"), f"{path}.selector")
    errors += _access_errors(modes, f"{path}.accessModes")
    size = ((spec.get("resources") or {}).get("requests") or {}).get(_STORAGE)
    field = f"{path}.resources[{_STORAGE}]"
    errors += [required(field)] if size is None else positive_errors(size, field)
    for name in ("storageClassName", "volumeAttributesClassName"):
        if spec.get(name):
            errors += subdomain_errors(spec[name], f"{path}.{name}")
    mode = spec.get("volumeMode")
    if mode is not None and mode not in _MODES:
        errors.append(not_supported(f"{path}.volumeMode", mode, _MODES))
    return errors


def claim_errors(obj: Document, old: Document | None, subresource: str) -> Errors:
    """Complain about a PersistentVolumeClaim."""
    if subresource == "status":
        return _claim_status_errors(obj.get("status") or {})
    spec = obj.get("spec") or {}
    if old is None:
        return claim_spec_errors(spec, "spec")
    if same_content(spec, old.get("spec")):
        return []
    return claim_spec_errors(spec, "spec") + _claim_change_errors(obj, old)


def _claim_status_errors(status: Document) -> Errors:
    errors: Errors = []
    for part in ("capacity", "allocatedResources"):
        for name, text in (status.get(part) or {}).items():
            # Parts count as whole ones, away from nothing.
            amount = math.floor(amount_of(text).value)
            if amount < 0:
                errors.append(invalid(f"status.{part}[{name}]", amount, "must be a valid resource quantity"))
    return errors


def _claim_change_errors(obj: Document, old: Document) -> Errors:
    spec, before = dict(obj.get("spec") or {}), dict(old.get("spec") or {})
    after_size, before_size = (
        ((part.get("resources") or {}).get("requests") or {}).get(_STORAGE) for part in (spec, before)
    )
    if not before.get("volumeName") and spec.get("volumeName"):
        before["volumeName"] = spec["volumeName"]
    if before.get("storageClassName") is None and spec.get("storageClassName") is not None:
        # A claim without a class is given one later, when there is a default.
        del spec["storageClassName"]
    if (obj.get("status") or {}).get("phase") == "Bound":
        _keep(spec, before, "volumeAttributesClassName")
        if (spec.get("resources") or {}).get("requests") is not None and before_size is not None:
            requests = {**spec["resources"]["requests"], _STORAGE: before_size}
            spec["resources"] = {**spec["resources"], "requests": requests}
    errors: Errors = []
    shown = [internal_form("PersistentVolumeClaimSpec", part) for part in (before, spec)]
    if shown[0] != shown[1]:
        errors.append(forbidden("spec", f"{_CLAIM_CHANGES}\n{shown_difference(*shown)}"))
    has = ((old.get("status") or {}).get("capacity") or {}).get(_STORAGE, "0")
    if _is_less(after_size, before_size) and amount_of(after_size or "0").value <= amount_of(has).value:
        text = "field can not be less than status.capacity"
        errors.append(forbidden("spec.resources.requests.storage", text))
    if spec.get("volumeMode") != before.get("volumeMode"):
        errors.append(invalid("volumeMode", spec.get("volumeMode"), _IMMUTABLE))
    return errors


def _is_less(after: str | None, before: str | None) -> bool:
    return amount_of(after or "0").value < amount_of(before or "0").value


def _keep(spec: Document, before: Document, name: str) -> None:
    spec.pop(name, None)
    if name in before:
        spec[name] = before[name]


def _host_path(source: Document, path: str) -> Errors:
    if not source.get("path"):
        return [required(f"{path}.path")]
    return backstep_errors(source["path"], f"{path}.path")


def _nfs(source: Document, path: str) -> Errors:
    errors: Errors = [required(f"{path}.{name}") for name in ("server", "path") if not source.get(name)]
    if not (source.get("path") or "").startswith("/"):
        errors.append(invalid(f"{path}.path", source.get("path") or "", "must be an absolute path"))
    return errors


def _needs(*names: str) -> Callable[[Document, str], Errors]:
    def check(source: Document, path: str) -> Errors:
        return [required(f"{path}.{name}") for name in names if not source.get(name)]

    return check


#: In the order in which Kubernetes looks at them.
_SOURCES: dict[str, Callable[[Document, str], Errors]] = {
    "hostPath": _host_path,
    "gcePersistentDisk": _needs("pdName"),
    "awsElasticBlockStore": _needs("volumeID"),
    "glusterfs": _needs("endpoints", "path"),
    "flocker": _needs(),
    "nfs": _nfs,
    "rbd": _needs("monitors", "image"),
    "quobyte": _needs("registry", "volume"),
    "cephfs": _needs("monitors"),
    "iscsi": _needs("targetPortal", "iqn"),
    "cinder": _needs("volumeID"),
    "fc": _needs(),
    "flexVolume": _needs("driver"),
    "azureFile": _needs("secretName", "shareName"),
    "vsphereVolume": _needs("volumePath"),
    "photonPersistentDisk": _needs("pdID"),
    "portworxVolume": _needs("volumeID"),
    "azureDisk": _needs("diskName", "diskURI"),
    "scaleIO": _needs("gateway", "system", "volumeName"),
    "local": _needs("path"),
    "storageos": _needs(),
    "csi": _needs("driver", "volumeHandle"),
}


def volume_errors(obj: Document, old: Document | None, subresource: str) -> Errors:
    """Complain about a PersistentVolume."""
    if subresource == "status":
        return []
    spec = obj.get("spec") or {}
    if old is not None and same_content(spec, old.get("spec")):
        return []
    modes = spec.get("accessModes") or ()
    errors: Errors = [] if modes else [required("spec.accessModes")]
    errors += _access_errors(modes, "spec.accessModes")
    errors += _capacity_errors(spec.get("capacity"))
    policy = spec.get("persistentVolumeReclaimPolicy")
    if policy and policy not in _RECLAIM:
        errors.append(not_supported("spec.persistentVolumeReclaimPolicy", policy, _RECLAIM))
    errors += _affinity_errors(spec)
    errors += _source_errors(spec)
    if spec.get("storageClassName"):
        errors += subdomain_errors(spec["storageClassName"], "spec.storageClassName")
    mode = spec.get("volumeMode")
    if mode is not None and mode not in _MODES:
        errors.append(not_supported("spec.volumeMode", mode, _MODES))
    return errors + (_volume_change_errors(spec, old.get("spec") or {}) if old is not None else [])


def _capacity_errors(capacity: Document | None) -> Errors:
    errors: Errors = [] if capacity else [required("spec.capacity")]
    if list(capacity or ()) != [_STORAGE]:
        errors.append(not_supported("spec.capacity", capacity or None, [_STORAGE]))
    for name, text in (capacity or {}).items():
        errors += positive_errors(text, f"spec.capacity[{name}]")
    return errors


def _affinity_errors(spec: Document) -> Errors:
    wanted = (spec.get("nodeAffinity") or {}).get("required")
    if wanted is not None:
        return node_selector_errors(wanted, "spec.nodeAffinity.required")
    if spec.get("nodeAffinity") is not None:
        return [required("spec.nodeAffinity.required", "must specify required node constraints")]
    if spec.get("local") is not None:
        return [required("spec.nodeAffinity", "Local volume requires node affinity")]
    return []


def _source_errors(spec: Document) -> Errors:
    found = [name for name in _SOURCES if spec.get(name) is not None]
    if not found:
        return [required("spec", "must specify a volume type")]
    errors = _SOURCES[found[0]](spec[found[0]], f"spec.{found[0]}")
    return errors + [forbidden(f"spec.{name}", "may not specify more than 1 volume type") for name in found[1:]]


def _volume_change_errors(spec: Document, old: Document) -> Errors:
    errors: Errors = []
    before, after = (internal_form("PersistentVolumeSource", part) for part in (old, spec))
    if before != after:
        field = "spec.persistentvolumesource"
        text = f"spec.persistentvolumesource is immutable after creation\n{shown_difference(before, after)}"
        errors.append(forbidden(field, text))
    if spec.get("volumeMode") != old.get("volumeMode"):
        errors.append(invalid("volumeMode", spec.get("volumeMode"), _IMMUTABLE))
    if old.get("nodeAffinity") is not None and not same_content(spec.get("nodeAffinity"), old["nodeAffinity"]):
        errors.append(invalid("spec.nodeAffinity", spec.get("nodeAffinity"), _IMMUTABLE))
    return errors


def storage_class_errors(obj: Document, old: Document | None, subresource: str) -> Errors:
    """Complain about a StorageClass."""
    del subresource
    provisioner = obj.get("provisioner") or ""
    errors = qualified_errors(provisioner.lower(), "provisioner") if provisioner else [required("provisioner")]
    errors += [required("parameters", "") for key in obj.get("parameters") or () if not key]
    for name, allowed in (("reclaimPolicy", ("Delete", "Retain")), ("volumeBindingMode", _BINDING)):
        value = obj.get(name)
        if value is None:
            errors.append(required(name))
        elif value not in allowed:
            errors.append(not_supported(name, value, allowed))
    if old is None:
        return errors
    for name, empty in (
        ("parameters", None),
        ("provisioner", ""),
        ("reclaimPolicy", None),
        ("volumeBindingMode", None),
    ):
        if not same_content(obj.get(name) or empty, old.get(name) or empty):
            errors.append(invalid(name, obj.get(name) or empty, _IMMUTABLE))
    return errors
