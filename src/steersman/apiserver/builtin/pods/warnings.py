"""Warnings about pods and pod templates: deprecated fields, and settings that contradict each other."""

from collections.abc import Iterator
from typing import Any

from steersman.apiserver.builtin.common.quantities import parse_quantity
from steersman.json_types import JsonObject
from steersman.validation.names import label_faults

SURPRISING = "which can result in surprising behavior; a DNS label is recommended"
_LABELS = {
    "beta.kubernetes.io/arch": 'deprecated since v1.14; use "kubernetes.io/arch" instead',
    "beta.kubernetes.io/os": 'deprecated since v1.14; use "kubernetes.io/os" instead',
    "failure-domain.beta.kubernetes.io/region": 'deprecated since v1.17; use "topology.kubernetes.io/region" instead',
    "failure-domain.beta.kubernetes.io/zone": 'deprecated since v1.17; use "topology.kubernetes.io/zone" instead',
    "beta.kubernetes.io/instance-type": 'deprecated since v1.17; use "node.kubernetes.io/instance-type" instead',
    "node-role.kubernetes.io/master": 'use "node-role.kubernetes.io/control-plane" instead',
}
_ANNOTATIONS = {
    "scheduler.alpha.kubernetes.io/critical-pod": 'non-functional in v1.16+; use the "priorityClassName" field instead',
    "security.alpha.kubernetes.io/sysctls": 'non-functional in v1.11+; use the "sysctls" field instead',
    "security.alpha.kubernetes.io/unsafe-sysctls": 'non-functional in v1.11+; use the "sysctls" field instead',
}
_VOLUMES = {
    "photonPersistentDisk": "deprecated in v1.11, non-functional in v1.16+",
    "gitRepo": "deprecated in v1.11, and disabled by default in v1.33+",
    "scaleIO": "deprecated in v1.16, non-functional in v1.22+",
    "flocker": "deprecated in v1.22, non-functional in v1.25+",
    "storageos": "deprecated in v1.22, non-functional in v1.25+",
    "quobyte": "deprecated in v1.22, non-functional in v1.25+",
    "glusterfs": "deprecated in v1.25, non-functional in v1.26+",
    "cephfs": "deprecated in v1.28, non-functional in v1.31+",
    "rbd": "deprecated in v1.28, non-functional in v1.31+",
}
_SECCOMP = 'non-functional in v1.27+; use the "seccompProfile" field instead'
_SECCOMP_POD = "seccomp.security.alpha.kubernetes.io/pod"
_SECCOMP_CONTAINER = "container.seccomp.security.alpha.kubernetes.io/"
_BYTES = ("memory", "ephemeral-storage")
#: Limits of the search for conflicts: ports with one number that are compared, and conflicts that are returned.
_MOST_PORTS, _MOST_CONFLICTS = 100, 1_000
_NO_POD = "a null labelSelector results in matching no pod"
_REQUIRED, _PREFERRED = (
    "requiredDuringSchedulingIgnoredDuringExecution",
    "preferredDuringSchedulingIgnoredDuringExecution",
)


def new_pod_warnings(obj: JsonObject, old: JsonObject | None) -> list[str]:
    """Return warnings about a new pod; updates have none, because mostly controllers write them."""
    if old is not None:
        return []
    faults = label_faults(obj["metadata"].get("name") or "")
    named = [f"metadata.name: this is used in the Pod's hostname, {SURPRISING}: [{' '.join(faults)}]"] if faults else []
    return [*named, *pod_warnings(obj, "")]


def pod_template_warnings(obj: JsonObject, old: JsonObject | None) -> list[str]:
    """Return warnings about a PodTemplate."""
    return template_warnings(obj, old, ("template",))


def template_warnings(obj: JsonObject, old: JsonObject | None, path: tuple[str, ...]) -> list[str]:
    """Return warnings about the template at a path, unless an update left the generation as it was."""
    if old is not None and old["metadata"].get("generation") == obj["metadata"].get("generation"):
        return []
    template = obj
    for name in path:
        template = template.get(name) or {}
    return pod_warnings(template, f"{'.'.join(path)}.")


def pod_warnings(pod: JsonObject, path: str) -> list[str]:
    """Return warnings about a pod or template at a path; the path ends with a dot unless it is empty."""
    spec, annotations = pod.get("spec") or {}, (pod.get("metadata") or {}).get("annotations") or {}
    here = f"{path}spec"
    return [
        *_placement_warnings(spec, here),
        *(f"{path}metadata.annotations[{key}]: {text}" for key, text in _ANNOTATIONS.items() if key in annotations),
        *_volume_warnings(spec, here),
        *_repeated(spec.get("hostAliases"), "ip", f"{here}.hostAliases"),
        *_secret_warnings(spec, here),
        *_fraction_warnings({"overhead": spec.get("overhead")}, here),
        *_seccomp_warnings(spec, annotations, path),
        *_container_warnings(spec, here),
        *port_warnings(spec, here),
        *_grace_warnings(spec, here),
        *_affinity_warnings(spec.get("affinity") or {}, f"{here}.affinity"),
    ]


def _placement_warnings(spec: JsonObject, path: str) -> list[str]:
    warnings = [
        f"{path}.nodeSelector[{key}]: {_LABELS[key]}" for key in spec.get("nodeSelector") or () if key in _LABELS
    ]
    for index, constraint in enumerate(spec.get("topologySpreadConstraints") or ()):
        here, key = f"{path}.topologySpreadConstraints[{index}]", constraint.get("topologyKey") or ""
        if key in _LABELS:
            warnings.append(f"{here}.topologyKey: {key} is {_LABELS[key]}")
        if constraint.get("labelSelector") is None:
            warnings.append(f"{here}.labelSelector: {_NO_POD}")
    return warnings


def _affinity_warnings(affinity: JsonObject, path: str) -> list[str]:
    """Return warnings about affinity terms without a label selector, which match no pod."""
    warnings: list[str] = []
    for kind in ("podAffinity", "podAntiAffinity"):
        terms = affinity.get(kind) or {}
        warnings += [
            f"{path}.{kind}.{_REQUIRED}[{index}].labelSelector: {_NO_POD}"
            for index, term in enumerate(terms.get(_REQUIRED) or ())
            if term.get("labelSelector") is None
        ]
        warnings += [
            f"{path}.{kind}.{_PREFERRED}[{index}].podAffinityTerm.labelSelector: {_NO_POD}"
            for index, term in enumerate(terms.get(_PREFERRED) or ())
            if (term.get("podAffinityTerm") or {}).get("labelSelector") is None
        ]
    return warnings


def _volume_warnings(spec: JsonObject, path: str) -> list[str]:
    return [
        f"{path}.volumes[{index}].{'storageOS' if name == 'storageos' else name}: {text}"
        for index, volume in enumerate(spec.get("volumes") or ())
        for name, text in _VOLUMES.items()
        if volume.get(name) is not None
    ]


def _repeated(items: list[JsonObject] | None, name: str, path: str) -> list[str]:
    warnings, seen = [], set()
    for index, item in enumerate(items or ()):
        value = item.get(name) or ""
        if value in seen:
            warnings.append(f'{path}[{index}].{name}: duplicate {name} "{value}"')
        seen.add(value)
    return warnings


def _secret_warnings(spec: JsonObject, path: str) -> list[str]:
    secrets, here = spec.get("imagePullSecrets") or [], f"{path}.imagePullSecrets"
    nameless = [
        f'{here}[{index}].name: invalid empty name ""' for index, one in enumerate(secrets) if not one.get("name")
    ]
    return [*_repeated(secrets, "name", here), *nameless]


def _seccomp_warnings(spec: JsonObject, annotations: JsonObject, path: str) -> list[str]:
    """Return warnings about seccomp profiles that are given by annotations only."""
    warnings = []
    if _SECCOMP_POD in annotations and not (spec.get("securityContext") or {}).get("seccompProfile"):
        warnings.append(f"{path}metadata.annotations[{_SECCOMP_POD}]: {_SECCOMP}")
    for container, _ in _numbered(spec, path):
        key = f"{_SECCOMP_CONTAINER}{container.get('name') or ''}"
        if key in annotations and not (container.get("securityContext") or {}).get("seccompProfile"):
            warnings.append(f"{path}metadata.annotations[{key}]: {_SECCOMP}")
    return warnings


def _container_warnings(spec: JsonObject, path: str) -> list[str]:
    warnings: list[str] = []
    for container, here in _numbered(spec, path):
        warnings += _fraction_warnings(container.get("resources") or {}, f"{here}.resources")
        warnings += _variable_warnings(container, here)
    return warnings


def _fraction_warnings(resources: JsonObject, path: str) -> list[str]:
    return [
        f'{path}.{part}[{name}]: fractional byte value "{text}" is invalid, must be an integer'
        for part in ("limits", "requests", "overhead")
        for name, text in (resources.get(part) or {}).items()
        if name in _BYTES and parse_quantity(text).value % 1
    ]


def _variable_warnings(container: JsonObject, path: str) -> list[str]:
    """Return warnings about variables that hide an earlier one, unless they refer to it."""
    warnings, seen = [], set()
    for index, variable in enumerate(container.get("env") or ()):
        name, value = variable.get("name", ""), variable.get("value") or ""
        reference = f"$({name})"
        is_made_of_it = reference in value and value != reference and variable.get("valueFrom") is None
        if name in seen and not is_made_of_it:
            text = f'hides previous definition of "{name}", which may be dropped when using apply'
            warnings.append(f"{path}.env[{index}]: {text}")
        seen.add(name)
    return warnings


def port_warnings(spec: JsonObject, path: str) -> list[str]:
    """Return warnings about ports that conflict."""
    warnings: list[str] = []
    seen: dict[tuple[Any, Any], list[tuple[str, JsonObject]]] = {}
    names: dict[str, str] = {}
    named: list[str] = []
    for port, place in _ports(spec, path):
        others = seen.setdefault((port.get("containerPort"), port.get("protocol")), [])
        if len(warnings) < _MOST_CONFLICTS:
            for where, other in others:
                if word := _conflict(port, other):
                    warnings.append(f"{place}: {word} port definition with {where}")
        if len(others) < _MOST_PORTS:
            others.append((place, port))
        name = port.get("name")
        if name and name in names:
            first = names[name]
            named.append(
                f'{place}: duplicate port name "{name}" with {first}, services and probes that select ports '
                f"by name will use {first}"
            )
        elif name:
            names[name] = place
    return [*warnings, *named]


def _conflict(port: JsonObject, other: JsonObject) -> str:
    """Return how two ports with the same number relate; empty when they do not conflict."""
    own, its = ((one.get("hostPort") or 0, one.get("hostIP") or "") for one in (port, other))
    if own == its:
        return "duplicate"
    if not own[0] or not its[0]:
        return "overlapping"
    return "dangerously ambiguous" if own[0] == its[0] and bool(own[1]) != bool(its[1]) else ""


def _ports(spec: JsonObject, path: str) -> Iterator[tuple[JsonObject, str]]:
    for container, here in _numbered(spec, path):
        for index, port in enumerate(container.get("ports") or ()):
            yield port, f"{here}.ports[{index}]"


def _grace_warnings(spec: JsonObject, path: str) -> list[str]:
    if (spec.get("terminationGracePeriodSeconds") or 0) >= 0:
        return []
    return [f"{path}.terminationGracePeriodSeconds: must be >= 0; negative values are invalid and will be treated as 1"]


def _numbered(spec: JsonObject, path: str) -> Iterator[tuple[JsonObject, str]]:
    for kind in ("initContainers", "containers", "ephemeralContainers"):
        for index, container in enumerate(spec.get(kind) or ()):
            yield container, f"{path}.{kind}[{index}]"
