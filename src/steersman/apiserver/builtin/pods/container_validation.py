"""Validation of containers: ports, mounts, devices and policies."""

from collections.abc import Collection, Iterator, Sequence

from steersman.apiserver.builtin.common.file_paths import backstep_errors, descending_path_errors
from steersman.apiserver.builtin.common.names import label_errors, port_name_faults
from steersman.apiserver.builtin.common.numbers import PROTOCOLS, port_errors, protocol_errors
from steersman.apiserver.builtin.common.quantities import requirements_errors
from steersman.apiserver.builtin.pods.environment_validation import env_errors, env_from_errors
from steersman.apiserver.builtin.pods.probe_validation import no_probe_errors, probe_errors
from steersman.apiserver.builtin.pods.security_validation import container_security_errors
from steersman.json_types import JsonObject
from steersman.validation.field_errors import (
    Errors,
    ErrorType,
    FieldError,
    duplicate,
    forbidden,
    invalid,
    not_supported,
    required,
)

_PULL = ("Always", "IfNotPresent", "Never")
_MESSAGES = ("File", "FallbackToLogsOnError")
_PROPAGATIONS = ("Bidirectional", "HostToContainer", "None")
_RESTARTS = ("Always", "Never", "OnFailure")


def _port_list_errors(ports: Sequence[JsonObject], path: str) -> Errors:
    errors: Errors = []
    names: set[str] = set()
    for index, port in enumerate(ports):
        here = f"{path}[{index}]"
        name = port.get("name") or ""
        if name:
            faults = port_name_faults(name)
            errors += [invalid(f"{here}.name", name, fault) for fault in faults]
            if not faults and name in names:
                errors.append(duplicate(f"{here}.name", name))
            names.add(name)
        number = port.get("containerPort") or 0
        errors += port_errors(number, f"{here}.containerPort") if number else [required(f"{here}.containerPort")]
        if port.get("hostPort"):
            errors += port_errors(port["hostPort"], f"{here}.hostPort")
        if port.get("protocol") not in PROTOCOLS:
            errors += protocol_errors(port.get("protocol") or "", f"{here}.protocol")
    return errors


def host_port_errors(containers: Sequence[tuple[JsonObject, str]]) -> Errors:
    """Reject host ports that two containers use."""
    errors: Errors = []
    taken: set[str] = set()
    for container, path in containers:
        for index, port in enumerate(container.get("ports") or ()):
            if port.get("hostPort"):
                key = f"{port.get('protocol', '')}/{port.get('hostIP', '')}/{port['hostPort']}"
                if key in taken:
                    errors.append(duplicate(f"{path}.ports[{index}].hostPort", key))
                taken.add(key)
    return errors


def _mount_errors(container: JsonObject, volumes: Collection[str], path: str) -> Errors:
    errors: Errors = []
    places: set[str] = set()
    devices = {device.get("name"): device.get("devicePath") for device in container.get("volumeDevices") or ()}
    for index, mount in enumerate(container.get("volumeMounts") or ()):
        here = f"{path}[{index}]"
        name, place = mount.get("name") or "", mount.get("mountPath") or ""
        if not name:
            errors.append(required(f"{here}.name"))
        if name not in volumes:
            errors.append(FieldError(ErrorType.NOT_FOUND, f"{here}.name", name))
        if not place:
            errors.append(required(f"{here}.mountPath"))
        if place in places:
            errors.append(invalid(f"{here}.mountPath", place, "must be unique"))
        places.add(place)
        if name in devices:
            errors.append(invalid(f"{here}.name", name, "must not already exist in volumeDevices"))
        errors += _sub_path_errors(mount, here, path)
        if mount.get("mountPropagation") is not None:
            errors += _propagation_errors(mount["mountPropagation"], container, f"{path}.mountPropagation")
    return errors


def _sub_path_errors(mount: JsonObject, here: str, path: str) -> Errors:
    errors: Errors = []
    if mount.get("subPath"):
        errors += descending_path_errors(mount["subPath"], f"{path}.subPath")
    if mount.get("subPathExpr"):
        if mount.get("subPath"):
            text = "subPathExpr and subPath are mutually exclusive"
            errors.append(invalid(f"{here}.subPathExpr", mount["subPathExpr"], text))
        errors += descending_path_errors(mount["subPathExpr"], f"{path}.subPathExpr")
    return errors


def _propagation_errors(mode: str, container: JsonObject, field: str) -> Errors:
    if mode not in _PROPAGATIONS:
        return [not_supported(field, mode, _PROPAGATIONS)]
    if mode == "Bidirectional" and not (container.get("securityContext") or {}).get("privileged"):
        return [forbidden(field, "Bidirectional mount propagation is available only to privileged containers")]
    return []


def _device_errors(container: JsonObject, volumes: Collection[str], path: str) -> Errors:
    errors: Errors = []
    seen: set[str] = set()
    for index, device in enumerate(container.get("volumeDevices") or ()):
        here = f"{path}[{index}]"
        name, place = device.get("name") or "", device.get("devicePath") or ""
        if not name:
            errors.append(required(f"{here}.name"))
        elif name in seen:
            errors.append(invalid(f"{here}.name", name, "must be unique"))
        if name and name not in volumes:
            errors.append(FieldError(ErrorType.NOT_FOUND, f"{here}.name", name))
        if not place:
            errors.append(required(f"{here}.devicePath"))
        else:
            errors += backstep_errors(place, f"{here}.devicePath")
        seen.add(name)
    return errors


def _policy_errors(container: JsonObject, path: str) -> Errors:
    errors: Errors = []
    for name, allowed in (("terminationMessagePolicy", _MESSAGES), ("imagePullPolicy", _PULL)):
        value = container.get(name) or ""
        if not value:
            errors.append(required(f"{path}.{name}"))
        elif value not in allowed:
            errors.append(not_supported(f"{path}.{name}", value, allowed))
    return errors


def _common_errors(container: JsonObject, volumes: Collection[str], path: str) -> Errors:
    name, image = container.get("name") or "", container.get("image") or ""
    errors: Errors = label_errors(name, f"{path}.name") if name else [required(f"{path}.name")]
    if not image:
        errors.append(required(f"{path}.image"))
    if container.get("terminationMessagePolicy") not in _MESSAGES or container.get("imagePullPolicy") not in _PULL:
        errors += _policy_errors(container, path)
    for key, check in _LISTS:
        if container.get(key):
            errors += check(container[key], f"{path}.{key}")
    if container.get("volumeMounts"):
        errors += _mount_errors(container, volumes, f"{path}.volumeMounts")
    if container.get("volumeDevices"):
        errors += _device_errors(container, volumes, f"{path}.volumeDevices")
    return errors


_LISTS = (
    ("ports", _port_list_errors),
    ("env", env_errors),
    ("envFrom", env_from_errors),
    ("resources", requirements_errors),
    ("securityContext", container_security_errors),
)


def container_list_errors(spec: JsonObject, volumes: Collection[str], path: str, grace: int) -> Errors:
    """Validate the containers of a pod."""
    containers = spec.get("containers") or ()
    if not containers:
        return [required(f"{path}.containers")]
    errors: Errors = []
    names: set[str] = set()
    placed = list(numbered(containers, f"{path}.containers"))
    for container, here in placed:
        errors += _common_errors(container, volumes, here)
        name = container.get("name") or ""
        if name in names:
            errors.append(duplicate(f"{here}.name", name))
        names.add(name)
        errors += probe_errors(container, here, grace)
        if container.get("restartPolicy") is not None:
            errors += _restart_errors(container["restartPolicy"], f"{here}.restartPolicy")
    return errors + host_port_errors(placed)


def _restart_errors(policy: str, field: str) -> Errors:
    return [] if policy in _RESTARTS else [not_supported(field, policy, _RESTARTS)]


def init_container_errors(spec: JsonObject, volumes: Collection[str], path: str, grace: int) -> Errors:
    """Validate init containers."""
    errors: Errors = []
    names = {container.get("name") or "" for container in spec.get("containers") or ()}
    for container, here in numbered(spec["initContainers"], f"{path}.initContainers"):
        errors += _common_errors(container, volumes, here)
        name, policy = container.get("name") or "", container.get("restartPolicy")
        if policy is not None:
            errors += _restart_errors(policy, f"{here}.restartPolicy")
        if name in names:
            errors.append(duplicate(f"{here}.name", name))
        elif name:
            names.add(name)
        errors += host_port_errors([(container, here)])
        errors += probe_errors(container, here, grace) if policy == "Always" else no_probe_errors(container, here)
    return errors


_FORBIDDEN_TO_EPHEMERAL = ("ports", "livenessProbe", "readinessProbe", "startupProbe", "lifecycle", "resources")


def ephemeral_container_errors(spec: JsonObject, volumes: Collection[str], path: str) -> Errors:
    """Validate ephemeral containers."""
    errors: Errors = []
    others = [*(spec.get("containers") or ()), *(spec.get("initContainers") or ())]
    known = {container.get("name") or "" for container in others}
    names = set(known)
    for container, here in numbered(spec["ephemeralContainers"], f"{path}.ephemeralContainers"):
        errors += _common_errors(container, volumes, here)
        name = container.get("name") or ""
        if name in names:
            errors.append(duplicate(f"{here}.name", name))
        names.add(name)
        target = container.get("targetContainerName")
        if target and target not in known:
            errors.append(FieldError(ErrorType.NOT_FOUND, f"{here}.targetContainerName", target))
        errors += [
            forbidden(f"{here}.{field}", "cannot be set for an Ephemeral Container")
            for field in _FORBIDDEN_TO_EPHEMERAL
            if container.get(field)
        ]
    return errors


def numbered(items: Sequence[JsonObject], path: str) -> Iterator[tuple[JsonObject, str]]:
    """Yield each item with its path."""
    for index, item in enumerate(items):
        yield item, f"{path}[{index}]"


def whitespace_errors(spec: JsonObject, path: str) -> Errors:
    """Reject whitespace around the names of images; templates are exempt."""
    errors: Errors = []
    for kind in ("containers", "initContainers"):
        for container, here in numbered(spec.get(kind) or (), f"{path}.{kind}"):
            image = container.get("image") or ""
            if image and image.strip() != image:
                text = "must not have leading or trailing whitespace"
                errors.append(invalid(f"{here}.image", image, text))
    return errors
