"""The options of a process node."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any


@dataclass(frozen=True, slots=True, kw_only=True)
class ProcessNodeOptions:
    """How a process node runs pods."""

    #: Image or pattern → program, command line or `Image`; as in ``[tool.steersman.images]``.
    images: Mapping[str, Any] = field(default_factory=dict)
    #: Base of relative paths of programs; the current directory by default.
    root: Path | None = None
    #: The node's own directory: logs, volumes, claims. It is created if necessary, and only its user can read it.
    data: Path
    name: str = "process"
    #: Seconds before the second restart of a container that keeps ending; each later wait is twice as long.
    restart_seconds: float = 10.0
    #: Seconds that containers have to end when the node itself is stopped.
    stop_seconds: float = 5.0
