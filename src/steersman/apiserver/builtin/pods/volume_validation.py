"""Validation of a pod's volumes: each has a unique name and exactly one source."""

from collections.abc import Callable, Sequence

from steersman.apiserver.builtin.common.file_paths import backstep_errors, descending_path_errors, nfs_errors, requires
from steersman.apiserver.builtin.common.names import label_errors, required_name
from steersman.apiserver.builtin.common.quantities import parse_quantity
from steersman.apiserver.builtin.pods.environment_validation import FILE_PATHS, field_ref_errors, resource_ref_errors
from steersman.json_types import JsonObject
from steersman.validation.field_errors import Errors, duplicate, forbidden, invalid, not_supported, required

_MODE_RULE = "must be a number between 0 and 0777 (octal), both inclusive"
_MAX_MODE = 0o777
_HOST_PATH_TYPES = (
    "",
    "BlockDevice",
    "CharDevice",
    "Directory",
    "DirectoryOrCreate",
    "File",
    "FileOrCreate",
    "Socket",
)
_PULL = ("Always", "IfNotPresent", "Never")
_TOKEN_SECONDS = (600, 2**32)


def _mode_errors(mode: int | None, field: str) -> Errors:
    return [] if mode is None or 0 <= mode <= _MAX_MODE else [invalid(field, mode, _MODE_RULE)]


def _file_path_errors(text: str, field: str) -> Errors:
    errors = descending_path_errors(text, field)
    if text.startswith("..") and not text.startswith("../"):
        errors.append(invalid(field, text, "must not start with '..'"))
    return errors


def _item_errors(items: Sequence[JsonObject] | None, path: str) -> Errors:
    errors: Errors = []
    for index, item in enumerate(items or ()):
        here = f"{path}.items[{index}]"
        errors += [required(f"{here}.{name}") for name in ("key", "path") if not item.get(name)]
        errors += _file_path_errors(item.get("path") or "", f"{here}.path")
        errors += _mode_errors(item.get("mode"), f"{here}.mode")
    return errors


def _file_errors(item: JsonObject, path: str) -> Errors:
    """Validate a file of the downward API."""
    errors: Errors = [] if item.get("path") else [required(f"{path}.path")]
    errors += _file_path_errors(item.get("path") or "", f"{path}.path")
    if item.get("fieldRef") is not None:
        errors += field_ref_errors(item["fieldRef"], f"{path}.fieldRef", FILE_PATHS)
        if item.get("resourceFieldRef") is not None:
            text = "fieldRef and resourceFieldRef can not be specified simultaneously"
            errors.append(invalid(path, "resource", text))
    elif item.get("resourceFieldRef") is not None:
        errors += resource_ref_errors(item["resourceFieldRef"], f"{path}.resourceFieldRef", in_volume=True)
    else:
        errors.append(required(path, "one of fieldRef and resourceFieldRef is required"))
    return errors + _mode_errors(item.get("mode"), f"{path}.mode")


def _empty_dir(source: JsonObject, path: str) -> Errors:
    limit = source.get("sizeLimit")
    if limit is not None and parse_quantity(str(limit)).value < 0:
        return [forbidden(f"{path}.sizeLimit", "SizeLimit field must be a valid resource quantity")]
    return []


def _host_path(source: JsonObject, path: str) -> Errors:
    if not source.get("path"):
        return [required(f"{path}.path")]
    errors = backstep_errors(source["path"], f"{path}.path")
    if source.get("type") is not None and source["type"] not in _HOST_PATH_TYPES:
        errors.append(not_supported(f"{path}.type", source["type"], _HOST_PATH_TYPES))
    return errors


def _keyed(name: str) -> Callable[[JsonObject, str], Errors]:
    def check(source: JsonObject, path: str) -> Errors:
        errors = required_name(source, name, path)
        errors += _mode_errors(source.get("defaultMode"), f"{path}.defaultMode")
        return errors + _item_errors(source.get("items"), path)

    return check


def _downward(source: JsonObject, path: str) -> Errors:
    errors = _mode_errors(source.get("defaultMode"), f"{path}.defaultMode")
    for item in source.get("items") or ():
        errors += _file_errors(item, path)
    return errors


def _ephemeral(source: JsonObject, path: str) -> Errors:
    return [] if source.get("volumeClaimTemplate") is not None else [required(f"{path}.volumeClaimTemplate")]


def _image(source: JsonObject, path: str) -> Errors:
    policy = source.get("pullPolicy") or ""
    if not policy:
        return [required(f"{path}.pullPolicy")]
    return [] if policy in _PULL else [not_supported(f"{path}.pullPolicy", policy, _PULL)]


def _projected(source: JsonObject, path: str) -> Errors:
    errors = _mode_errors(source.get("defaultMode"), f"{path}.defaultMode")
    taken: set[str] = set()
    for index, part in enumerate(source.get("sources") or ()):
        here = f"{path}.sources[{index}]"
        found = [name for name in _PROJECTIONS if part.get(name) is not None]
        for name in found:
            errors += _PROJECTIONS[name](part[name], f"{here}.{name}")
            errors += _conflict_errors(part[name], name, taken, path)
        if len(found) > 1:
            errors.append(forbidden(here, "may not specify more than 1 volume type"))
    return errors


def _conflict_errors(part: JsonObject, name: str, taken: set[str], path: str) -> Errors:
    """Reject paths that two sources of a projected volume would write."""
    paths = [item.get("path") or "" for item in part.get("items") or ()] or [part.get("path") or ""]
    errors: Errors = []
    for place in paths:
        if place and place in taken:
            shown = place if name not in ("secret", "configMap") else part.get("name") or ""
            errors.append(invalid(path, shown, "conflicting duplicate paths"))
        taken.add(place)
    return errors


def _projected_map(part: JsonObject, path: str) -> Errors:
    return required_name(part, "name", path) + _item_errors(part.get("items"), path)


def _projected_downward(part: JsonObject, path: str) -> Errors:
    errors: Errors = []
    for item in part.get("items") or ():
        errors += _file_errors(item, path)
    return errors


def _projected_token(part: JsonObject, path: str) -> Errors:
    errors: Errors = []
    seconds = part.get("expirationSeconds")
    if seconds is None:
        errors.append(required(f"{path}.expirationSeconds"))
    elif seconds < _TOKEN_SECONDS[0]:
        text = "may not specify a duration less than 10 minutes"
        errors.append(invalid(f"{path}.expirationSeconds", seconds, text))
    elif seconds > _TOKEN_SECONDS[1]:
        text = "may not specify a duration larger than 2^32 seconds"
        errors.append(invalid(f"{path}.expirationSeconds", seconds, text))
    if not part.get("path"):
        errors.append(required(f"{path}.path"))
    return errors + _file_path_errors(part.get("path") or "", f"{path}.path")


def _projected_bundle(part: JsonObject, path: str) -> Errors:
    return [] if part.get("path") else [required(f"{path}.path")]


_PROJECTIONS: dict[str, Callable[[JsonObject, str], Errors]] = {
    "secret": _projected_map,
    "configMap": _projected_map,
    "downwardAPI": _projected_downward,
    "serviceAccountToken": _projected_token,
    "clusterTrustBundle": _projected_bundle,
}


def _anything(_source: JsonObject, _path: str) -> Errors:
    return []


#: In the order in which Kubernetes validates them.
_SOURCES: dict[str, Callable[[JsonObject, str], Errors]] = {
    "emptyDir": _empty_dir,
    "hostPath": _host_path,
    "gitRepo": requires("repository"),
    "gcePersistentDisk": requires("pdName"),
    "awsElasticBlockStore": requires("volumeID"),
    "secret": _keyed("secretName"),
    "nfs": nfs_errors,
    "iscsi": requires("targetPortal", "iqn"),
    "glusterfs": requires("endpoints", "path"),
    "flocker": _anything,
    "persistentVolumeClaim": requires("claimName"),
    "rbd": requires("monitors", "image"),
    "cinder": requires("volumeID"),
    "cephfs": requires("monitors"),
    "quobyte": requires("registry", "volume"),
    "downwardAPI": _downward,
    "fc": _anything,
    "flexVolume": requires("driver"),
    "configMap": _keyed("name"),
    "azureFile": requires("secretName", "shareName"),
    "vsphereVolume": requires("volumePath"),
    "photonPersistentDisk": requires("pdID"),
    "portworxVolume": requires("volumeID"),
    "azureDisk": requires("diskName", "diskURI"),
    "storageos": _anything,
    "projected": _projected,
    "scaleIO": requires("gateway", "system", "volumeName"),
    "csi": requires("driver"),
    "ephemeral": _ephemeral,
    "image": _image,
}


def _source_errors(volume: JsonObject, path: str) -> Errors:
    errors: Errors = []
    count = 0
    # Most volumes have two keys, so iterating over them is faster than over all sources.
    found = [name for name in volume if name in _SOURCES and volume[name] is not None]
    if len(found) > 1:
        found = [name for name in _SOURCES if name in found]
    for name in found:
        count += 1
        if count > 1:
            errors.append(forbidden(f"{path}.{name}", "may not specify more than 1 volume type"))
        else:
            errors += _SOURCES[name](volume[name], f"{path}.{name}")
    return errors if count else [required(path, "must specify a volume type")]


def volume_errors(volumes: Sequence[JsonObject], path: str) -> tuple[set[str], Errors]:
    """Return the names of valid volumes, which containers can mount, and the errors of the others."""
    good: set[str] = set()
    errors: Errors = []
    for index, volume in enumerate(volumes):
        here = f"{path}[{index}]"
        name = volume.get("name") or ""
        found = _source_errors(volume, here)
        found += label_errors(name, f"{here}.name") if name else [required(f"{here}.name")]
        if name in good:
            found.append(duplicate(f"{here}.name", name))
        if not found:
            good.add(name)
        errors += found
    return good, errors
