"""What is accepted but deserves a word: ports and variables of pods that stand in each other's way."""

from collections.abc import Iterator
from typing import Any

Document = dict[str, Any]


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
