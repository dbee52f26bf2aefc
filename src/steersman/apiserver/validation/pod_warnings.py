"""What is accepted but deserves a word: ports and variables of pods that stand in each other's way."""

from collections.abc import Iterator
from typing import Any

from steersman.apiserver.validation.quantities import amount_of

Document = dict[str, Any]
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
    "seccomp.security.alpha.kubernetes.io/pod": 'non-functional in v1.27+; use the "seccompProfile" field instead',
}
_BYTES = ("memory", "ephemeral-storage")


def pod_warnings(pod: Document, path: str) -> list[str]:
    """Warn about a pod or template; ``path`` is where it stands, with a dot at its end."""
    spec = pod.get("spec") or {}
    warnings = [
        f"{path}spec.nodeSelector[{key}]: {_LABELS[key]}" for key in spec.get("nodeSelector") or () if key in _LABELS
    ]
    warnings += [
        f"{path}spec.topologySpreadConstraints[{index}].labelSelector: a null labelSelector results in matching no pod"
        for index, constraint in enumerate(spec.get("topologySpreadConstraints") or ())
        if constraint.get("labelSelector") is None
    ]
    annotations = (pod.get("metadata") or {}).get("annotations") or ()
    warnings += [
        f"{path}metadata.annotations[{key}]: {_ANNOTATIONS[key]}" for key in annotations if key in _ANNOTATIONS
    ]
    for container, here in _numbered(spec, f"{path}spec"):
        if container.get("resources"):
            warnings += _fraction_warnings(container["resources"], f"{here}.resources")
    return [*warnings, *env_warnings(spec, f"{path}spec"), *port_warnings(spec, f"{path}spec")]


def _fraction_warnings(resources: Document, path: str) -> list[str]:
    return [
        f'{path}.{part}[{name}]: fractional byte value "{text}" is invalid, must be an integer'
        for part in ("limits", "requests")
        for name, text in (resources.get(part) or {}).items()
        if name in _BYTES and amount_of(text).value % 1
    ]


def port_warnings(spec: Document, path: str) -> list[str]:
    """Warn about ports that stand in each other's way."""
    warnings: list[str] = []
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
    warnings: list[str] = []
    for container, here in _numbered(spec, path):
        seen: set[str] = set()
        for index, variable in enumerate(container.get("env") or ()):
            name = variable.get("name", "")
            if name in seen:
                text = f'hides previous definition of "{name}", which may be dropped when using apply'
                warnings.append(f"{here}.env[{index}]: {text}")
            seen.add(name)
    return warnings
