"""Validation of environment variables, and of the pod fields that the downward API exposes."""

import re
from collections.abc import Callable, Collection, Sequence

from steersman.apiserver.builtin.common.names import (
    config_key_faults,
    env_name_errors,
    qualified_errors,
    subdomain_errors,
)
from steersman.json_types import JsonObject
from steersman.validation.field_errors import Errors, invalid, not_supported, required

#: All fields of the downward API; not each is allowed everywhere.
_KNOWN_PATHS = frozenset(
    {
        "metadata.annotations",
        "metadata.labels",
        "metadata.name",
        "metadata.namespace",
        "metadata.uid",
        "spec.nodeName",
        "spec.restartPolicy",
        "spec.serviceAccountName",
        "spec.schedulerName",
        "status.phase",
        "status.hostIP",
        "status.hostIPs",
        "status.podIP",
        "status.podIPs",
    }
)
_ENV_PATHS = (
    "metadata.name",
    "metadata.namespace",
    "metadata.uid",
    "spec.nodeName",
    "spec.serviceAccountName",
    "status.hostIP",
    "status.hostIPs",
    "status.podIP",
    "status.podIPs",
)
#: Fields that are allowed in files.
FILE_PATHS = ("metadata.annotations", "metadata.labels", "metadata.name", "metadata.namespace", "metadata.uid")
_RESOURCES = (
    "limits.cpu",
    "limits.ephemeral-storage",
    "limits.memory",
    "requests.cpu",
    "requests.ephemeral-storage",
    "requests.memory",
)
_HUGE = ("requests.hugepages-", "limits.hugepages-")
_SUBSCRIPT = re.compile(r"(.*)\['(.*)'\]").fullmatch


def field_ref_errors(source: JsonObject, path: str, allowed: Collection[str] = _ENV_PATHS) -> Errors:
    """Validate a reference to a field of the pod."""
    if not source.get("apiVersion"):
        return [required(f"{path}.apiVersion")]
    field = source.get("fieldPath") or ""
    if not field:
        return [required(f"{path}.fieldPath")]
    subscripted = _SUBSCRIPT(field)
    base = subscripted[1] if subscripted else field
    if base not in _KNOWN_PATHS:
        why = f"error converting fieldPath: field label not supported: {field}"
        return [invalid(f"{path}.fieldPath", field, why)]
    if subscripted:
        return _subscript_errors(base, subscripted[2], path)
    return [] if base in allowed else [not_supported(f"{path}.fieldPath", base, sorted(allowed))]


def _subscript_errors(base: str, key: str, path: str) -> Errors:
    if base == "metadata.annotations":
        return qualified_errors(key.lower(), path)
    if base == "metadata.labels":
        return qualified_errors(key, path)
    return [invalid(path, base, "does not support subscript")]


def resource_ref_errors(source: JsonObject, path: str, *, in_volume: bool = False) -> Errors:
    """Validate a reference to a request or limit of a container."""
    resource = source.get("resource") or ""
    if in_volume and not source.get("containerName"):
        return [required(f"{path}.containerName")]
    if not resource:
        return [required(f"{path}.resource")]
    if resource in _RESOURCES or resource.startswith(_HUGE):
        return []
    return [not_supported(f"{path}.resource", resource, _RESOURCES)]


def _key_ref_errors(source: JsonObject, path: str) -> Errors:
    errors = subdomain_errors(source.get("name") or "", f"{path}.name")
    key = source.get("key") or ""
    if not key:
        return [*errors, required(f"{path}.key")]
    return [*errors, *(invalid(f"{path}.key", key, fault) for fault in config_key_faults(key))]


def _file_ref_errors(source: JsonObject, path: str) -> Errors:
    errors: Errors = [required(f"{path}.{name}") for name in ("volumeName", "path", "key") if not source.get(name)]
    return errors


_SOURCES: dict[str, Callable[[JsonObject, str], Errors]] = {
    "fieldRef": field_ref_errors,
    "resourceFieldRef": resource_ref_errors,
    "configMapKeyRef": _key_ref_errors,
    "secretKeyRef": _key_ref_errors,
    "fileKeyRef": _file_ref_errors,
}
_NO_SOURCE = "must specify one of: `fieldRef`, `resourceFieldRef`, `configMapKeyRef`, `secretKeyRef` or `fileKeyRef`"
_TWO_SOURCES = "may not have more than one field specified at a time"


def _source_errors(variable: JsonObject, path: str) -> Errors:
    source = variable["valueFrom"]
    found = [name for name in _SOURCES if source.get(name) is not None]
    errors: Errors = []
    for name in found:
        errors += _SOURCES[name](source[name], f"{path}.{name}")
    if not found:
        errors.append(invalid(path, "", _NO_SOURCE))
    elif variable.get("value"):
        errors.append(invalid(path, "", "may not be specified when `value` is not empty"))
    elif len(found) > 1:
        errors.append(invalid(path, "", _TWO_SOURCES))
    return errors


def env_errors(variables: Sequence[JsonObject], path: str) -> Errors:
    """Validate ``env``."""
    errors: Errors = []
    for index, variable in enumerate(variables):
        name = variable.get("name") or ""
        if not name:
            errors.append(required(f"{path}[{index}].name"))
        else:
            errors += env_name_errors(name, f"{path}[{index}].name")
        if variable.get("valueFrom") is not None:
            errors += _source_errors(variable, f"{path}[{index}].valueFrom")
    return errors


def env_from_errors(sources: Sequence[JsonObject], path: str) -> Errors:
    """Validate ``envFrom``."""
    errors: Errors = []
    for index, source in enumerate(sources):
        here = f"{path}[{index}]"
        if source.get("prefix"):
            errors += env_name_errors(source["prefix"], f"{here}.prefix")
        found = [name for name in ("configMapRef", "secretRef") if source.get(name) is not None]
        errors += [required(f"{here}.{name}.name") for name in found if not source[name].get("name")]
        if not found:
            errors.append(invalid(path, "", "must specify one of: `configMapRef` or `secretRef`"))
        elif len(found) > 1:
            errors.append(invalid(path, "", _TWO_SOURCES))
    return errors
