"""Validation of security contexts, and of fields that depend on the operating system."""

import re
from collections.abc import Iterator
from typing import Any

from steersman.apiserver.builtin.common.internal_form import internal_form
from steersman.apiserver.builtin.common.numbers import MAX_INT32, range_errors
from steersman.json_types import JsonObject
from steersman.validation.field_errors import Errors, duplicate, forbidden, invalid, not_supported, required

_SYSCTL = r"^([a-z0-9]([-_a-z0-9]*[a-z0-9])?[\./])*[a-z0-9]([-_a-z0-9]*[a-z0-9])?$"
_SYSCTL_LIMIT = 253
_PROFILES = ("Localhost", "RuntimeDefault", "Unconfined")
_FS_POLICIES = ("Always", "OnRootMismatch")
_GROUP_POLICIES = ("Merge", "Strict")
_PROC_MOUNTS = ("Default", "Unmasked")


def _profile_errors(profile: JsonObject, path: str, kind: str) -> Errors:
    type_, local = profile.get("type") or "", profile.get("localhostProfile")
    errors: Errors = []
    if not type_:
        errors.append(required(f"{path}.type", f"type is required when {path.rpartition('.')[2]} is set"))
    elif type_ not in _PROFILES:
        errors.append(not_supported(f"{path}.type", type_, _PROFILES))
    if type_ == "Localhost" and not local:
        errors.append(required(f"{path}.localhostProfile", f"must be set when {kind} type is Localhost"))
    elif type_ != "Localhost" and local is not None:
        text = f"can only be set when {kind} type is Localhost"
        errors.append(invalid(f"{path}.localhostProfile", local, text))
    return errors


def _profiles_errors(context: JsonObject, path: str) -> Errors:
    errors: Errors = []
    if context.get("seccompProfile") is not None:
        errors += _profile_errors(context["seccompProfile"], f"{path}.seccompProfile", "seccomp")
    if context.get("appArmorProfile") is not None:
        errors += _profile_errors(context["appArmorProfile"], f"{path}.appArmorProfile", "AppArmor")
    return errors


def _identity_errors(context: JsonObject, names: tuple[str, ...], path: str) -> Errors:
    errors: Errors = []
    for name in names:
        errors += range_errors(context.get(name), f"{path}.{name}", 0, MAX_INT32)
    return errors


def container_security_errors(context: JsonObject, path: str) -> Errors:
    """Validate the security context of a container."""
    errors = _identity_errors(context, ("runAsUser", "runAsGroup"), path)
    mount = context.get("procMount")
    if mount is not None and mount not in _PROC_MOUNTS:
        errors.append(not_supported(f"{path}.procMount", mount, _PROC_MOUNTS))
    errors += _profiles_errors(context, path)
    if context.get("allowPrivilegeEscalation") is False:
        shown = internal_form("SecurityContext", context)
        if context.get("privileged"):
            text = "cannot set `allowPrivilegeEscalation` to false and `privileged` to true"
            errors.append(invalid(path, shown, text))
        if "CAP_SYS_ADMIN" in ((context.get("capabilities") or {}).get("add") or ()):
            text = "cannot set `allowPrivilegeEscalation` to false and `capabilities.Add` CAP_SYS_ADMIN"
            errors.append(invalid(path, shown, text))
    return errors


def pod_security_errors(context: JsonObject, path: str) -> Errors:
    """Validate the security context of a pod."""
    errors = _identity_errors(context, ("fsGroup", "runAsUser", "runAsGroup"), path)
    for index, group in enumerate(context.get("supplementalGroups") or ()):
        errors += range_errors(group, f"{path}.supplementalGroups[{index}]", 0, MAX_INT32)
    errors += _sysctl_errors(context.get("sysctls") or (), f"{path}.sysctls")
    for name, allowed in (("fsGroupChangePolicy", _FS_POLICIES), ("supplementalGroupsPolicy", _GROUP_POLICIES)):
        if context.get(name) is not None and context[name] not in allowed:
            errors.append(not_supported(f"{path}.{name}", context[name], allowed))
    return errors + _profiles_errors(context, path)


def _sysctl_errors(sysctls: Any, path: str) -> Errors:
    errors: Errors = []
    names: set[str] = set()
    for index, sysctl in enumerate(sysctls):
        name, field = sysctl.get("name") or "", f"{path}[{index}].name"
        if not name:
            errors.append(required(field))
        elif len(name) > _SYSCTL_LIMIT or not re.match(_SYSCTL, name):
            text = f"must have at most {_SYSCTL_LIMIT} characters and match regex {_SYSCTL}"
            errors.append(invalid(field, name, text))
        elif name in names:
            errors.append(duplicate(field, name))
        names.add(name)
    return errors


#: Fields that exist only on Linux, in the order in which Kubernetes validates them.
_LINUX_POD = (
    "appArmorProfile",
    "seLinuxOptions",
    "hostUsers",
    "hostPID",
    "hostIPC",
    "seccompProfile",
    "fsGroup",
    "fsGroupChangePolicy",
    "sysctls",
    "shareProcessNamespace",
    "runAsUser",
    "runAsGroup",
    "supplementalGroups",
    "supplementalGroupsPolicy",
    "seLinuxChangePolicy",
)
_ON_SPEC = frozenset({"hostUsers", "hostPID", "hostIPC", "shareProcessNamespace"})
_LINUX_CONTAINER = (
    "appArmorProfile",
    "seLinuxOptions",
    "seccompProfile",
    "capabilities",
    "readOnlyRootFilesystem",
    "privileged",
    "allowPrivilegeEscalation",
    "procMount",
    "runAsUser",
    "runAsGroup",
)


def operating_system_errors(spec: JsonObject, path: str) -> Errors:
    """Validate the operating system, and reject fields that do not exist on it."""
    name = spec["os"].get("name") or ""
    if not name:
        return [required(f"{path}.os.name")]
    if name not in ("linux", "windows"):
        return [not_supported(f"{path}.os", name, ["linux", "windows"])]
    if name == "linux":
        text = "windows options cannot be set for a linux pod"
        return [
            forbidden(f"{where}.windowsOptions", text)
            for context, where in _contexts(spec, path)
            if context.get("windowsOptions") is not None
        ]
    return _windows_errors(spec, path)


def _windows_errors(spec: JsonObject, path: str) -> Errors:
    text = "cannot be set for a windows pod"
    context = spec.get("securityContext") or {}
    errors: Errors = []
    for name in _LINUX_POD:
        holder = spec if name in _ON_SPEC else context
        if holder.get(name) not in (None, False, []):
            where = path if name in _ON_SPEC else f"{path}.securityContext"
            errors.append(forbidden(f"{where}.{name}", text))
    for own, where in list(_contexts(spec, path))[1:]:
        errors += [forbidden(f"{where}.{name}", text) for name in _LINUX_CONTAINER if own.get(name) is not None]
    return errors


def _contexts(spec: JsonObject, path: str) -> Iterator[tuple[JsonObject, str]]:
    """Yield the security contexts of a pod: first its own, then those of the containers."""
    yield spec.get("securityContext") or {}, f"{path}.securityContext"
    for kind in ("initContainers", "containers", "ephemeralContainers"):
        for index, container in enumerate(spec.get(kind) or ()):
            yield container.get("securityContext") or {}, f"{path}.{kind}[{index}].securityContext"
