"""Pods and pod templates: containers, ports, volumes and what refers to them."""

from collections.abc import Iterator, Sequence
from typing import Any

from steersman.schema.field_errors import ErrorType, FieldError, duplicate, forbidden, invalid, not_supported, required
from steersman.schema.names import label_faults

Document = dict[str, Any]
_POLICIES = ("Always", "IfNotPresent", "Never")
_PROTOCOLS = ("SCTP", "TCP", "UDP")
_RESTART = ("Always", "Never", "OnFailure")
_PORT_RULE = "must be between 1 and 65535, inclusive"


def _not_found(field: str, value: Any) -> FieldError:
    return FieldError(ErrorType.NOT_FOUND, field, value)


def port_errors(value: Any, field: str) -> list[FieldError]:
    """Complain about a number that is no port."""
    return [] if 1 <= value <= 65535 else [invalid(field, value, _PORT_RULE)]  # noqa: PLR2004 - the range of ports


def _volume_errors(volumes: Sequence[Document], path: str) -> Iterator[FieldError]:
    seen: set[str] = set()
    for index, volume in enumerate(volumes):
        here = f"{path}[{index}]"
        name = volume.get("name", "")
        if not name:
            yield required(f"{here}.name")
        else:
            yield from (invalid(f"{here}.name", name, fault) for fault in label_faults(name))
            if name in seen:
                yield duplicate(f"{here}.name", name)
        seen.add(name)
        kinds = [key for key in _volume_kinds(volume) if key in volume]
        if not kinds:
            yield required(here, "must specify a volume type")
        for kind in kinds[1:]:
            yield forbidden(f"{here}.{kind}", "may not specify more than 1 volume type")
        yield from _source_errors(volume, here)


#: In the order in which Kubernetes looks at them.
_VOLUME_ORDER = (
    "emptyDir",
    "hostPath",
    "gitRepo",
    "gcePersistentDisk",
    "awsElasticBlockStore",
    "secret",
    "nfs",
    "iscsi",
    "glusterfs",
    "flocker",
    "persistentVolumeClaim",
    "rbd",
    "cinder",
    "cephfs",
    "quobyte",
    "downwardAPI",
    "fc",
    "flexVolume",
    "configMap",
    "azureFile",
    "vsphereVolume",
    "photonPersistentDisk",
    "portworxVolume",
    "azureDisk",
    "storageos",
    "projected",
    "scaleIO",
    "csi",
    "ephemeral",
    "image",
)


def _volume_kinds(volume: Document) -> Iterator[str]:
    yield from (kind for kind in _VOLUME_ORDER if kind in volume)


#: Source → the field that it cannot do without.
_SOURCE_NEEDS = {
    "secret": "secretName",
    "configMap": "name",
    "hostPath": "path",
    "persistentVolumeClaim": "claimName",
}


def _source_errors(volume: Document, here: str) -> Iterator[FieldError]:
    kinds = list(_volume_kinds(volume))
    for kind in kinds[:1]:
        needed = _SOURCE_NEEDS.get(kind)
        if needed is not None and not (volume[kind] or {}).get(needed):
            yield required(f"{here}.{kind}.{needed}")


def _port_list_errors(ports: Sequence[Document], path: str) -> Iterator[FieldError]:
    names: set[str] = set()
    for index, port in enumerate(ports):
        here = f"{path}[{index}]"
        name = port.get("name", "")
        if name:
            if name in names:
                yield duplicate(f"{here}.name", name)
            names.add(name)
        number = port.get("containerPort", 0)
        if not number:
            yield required(f"{here}.containerPort")
        else:
            yield from port_errors(number, f"{here}.containerPort")
        if port.get("hostPort"):
            yield from port_errors(port["hostPort"], f"{here}.hostPort")
        if port.get("protocol") not in _PROTOCOLS:
            yield not_supported(f"{here}.protocol", port.get("protocol", ""), _PROTOCOLS)


def _env_errors(variables: Sequence[Document], path: str) -> Iterator[FieldError]:
    for index, variable in enumerate(variables):
        here = f"{path}[{index}]"
        if not variable.get("name"):
            yield required(f"{here}.name")
        source = variable.get("valueFrom")
        if source is None:
            continue
        if variable.get("value"):
            yield invalid(f"{here}.valueFrom", "", "may not be specified when `value` is not empty")
        if not source:
            text = "must specify one of: `fieldRef`, `resourceFieldRef`, `configMapKeyRef` or `secretKeyRef`"
            yield invalid(f"{here}.valueFrom", "", text)
        elif len(source) > 1:
            yield invalid(f"{here}.valueFrom", "", "may not have more than one field specified at a time")


def _mount_errors(mounts: Sequence[Document], volumes: set[str], path: str) -> Iterator[FieldError]:
    places: set[str] = set()
    for index, mount in enumerate(mounts):
        here = f"{path}[{index}]"
        name = mount.get("name", "")
        if not name:
            yield required(f"{here}.name")
        if name not in volumes:
            yield _not_found(f"{here}.name", name)
        place = mount.get("mountPath", "")
        if not place:
            yield required(f"{here}.mountPath")
        elif place in places:
            yield invalid(f"{here}.mountPath", place, "must be unique")
        places.add(place)


def _container_errors(container: Document, volumes: set[str], here: str) -> Iterator[FieldError]:
    name = container.get("name", "")
    if not name:
        yield required(f"{here}.name")
    else:
        yield from (invalid(f"{here}.name", name, fault) for fault in label_faults(name))
    image = container.get("image", "")
    if not image:
        yield required(f"{here}.image")
    elif image.strip() != image:
        yield invalid(f"{here}.image", image, "must not have leading or trailing whitespace")
    yield from _port_list_errors(container.get("ports") or (), f"{here}.ports")
    yield from _env_errors(container.get("env") or (), f"{here}.env")
    yield from _mount_errors(container.get("volumeMounts") or (), volumes, f"{here}.volumeMounts")
    if container.get("imagePullPolicy") not in _POLICIES:
        yield not_supported(f"{here}.imagePullPolicy", container.get("imagePullPolicy", ""), _POLICIES)


def pod_spec_errors(spec: Document, path: str) -> list[FieldError]:
    """Complain about a pod's spec."""
    volumes = spec.get("volumes") or ()
    errors = list(_volume_errors(volumes, f"{path}.volumes"))
    # A volume with an error of its own is not there for those who mount it.
    bad = {error.field.removeprefix(f"{path}.volumes[").partition("]")[0] for error in errors}
    names = {volume.get("name", "") for index, volume in enumerate(volumes) if str(index) not in bad}
    seen: set[str] = set()
    if not spec.get("containers"):
        errors.append(required(f"{path}.containers"))
    for kind in ("containers", "initContainers"):
        for index, container in enumerate(spec.get(kind) or ()):
            here = f"{path}.{kind}[{index}]"
            errors += _container_errors(container, names, here)
            name = container.get("name", "")
            if name and name in seen:
                errors.append(duplicate(f"{here}.name", name))
            seen.add(name)
    if spec.get("restartPolicy") not in _RESTART:
        errors.append(not_supported(f"{path}.restartPolicy", spec.get("restartPolicy", ""), _RESTART))
    grace = spec.get("terminationGracePeriodSeconds", 0)
    if grace < 0:
        errors.append(invalid(f"{path}.terminationGracePeriodSeconds", grace, "must be greater than or equal to 0"))
    return errors


def port_warnings(spec: Document, path: str) -> list[str]:
    """Warn about ports that stand in each other's way."""
    warnings = []
    seen: dict[tuple[Any, ...], str] = {}
    names: dict[str, str] = {}
    for container, here in _numbered(spec, path):
        for index, port in enumerate(container.get("ports") or ()):
            place = f"{here}.ports[{index}]"
            key = (port.get("containerPort"), port.get("protocol"), port.get("hostPort"), port.get("hostIP"))
            if key in seen:
                warnings.append(f"{place}: duplicate port definition with {seen[key]}")
            else:
                seen[key] = place
            name = port.get("name")
            if name and name in names and not names[name].startswith(f"{here}."):
                warnings.append(
                    f'{place}: duplicate port name "{name}" with {names[name]}, services and probes that select ports '
                    f"by name will use {names[name]}"
                )
            elif name:
                names.setdefault(name, place)
    return warnings


def _numbered(spec: Document, path: str) -> Iterator[tuple[Document, str]]:
    for index, container in enumerate(spec.get("containers") or ()):
        yield container, f"{path}.containers[{index}]"


def env_warnings(spec: Document, path: str) -> list[str]:
    """Warn about variables that hide each other."""
    warnings = []
    for container, here in _numbered(spec, path):
        seen: set[str] = set()
        for index, variable in enumerate(container.get("env") or ()):
            name = variable.get("name", "")
            if name in seen:
                text = f'hides previous definition of "{name}", which may be dropped when using apply'
                warnings.append(f"{here}.env[{index}]: {text}")
            seen.add(name)
    return warnings


def pod_update_errors(obj: Document, old: Document) -> list[FieldError]:
    """Complain about changes to a pod that only a new pod can have."""
    new_spec, old_spec = obj["spec"], old["spec"]
    for kind in ("containers", "initContainers"):
        if len(new_spec.get(kind) or ()) != len(old_spec.get(kind) or ()):
            return [forbidden(f"spec.{kind}", "pod updates may not add or remove containers")]
    kept = [_timeless(item) for item in new_spec.get("tolerations") or ()]
    if any(_timeless(item) not in kept for item in old_spec.get("tolerations") or ()):
        text = "existing toleration can not be modified except its tolerationSeconds"
        return [forbidden("spec.tolerations", text)]
    return []


def _timeless(toleration: Document) -> Document:
    return {key: value for key, value in toleration.items() if key != "tolerationSeconds"}
