"""The actions of a pod's life cycle as values: the node carries them out and reports the results."""

from dataclasses import dataclass
from typing import Literal, TypeAlias

from steersman.localcluster.process_node.lifecycle.probe_watch import ProbeKind


@dataclass(frozen=True, slots=True)
class Start:
    """Start a container; answered by `ContainerLifecycle.started` or `start_failed`."""

    container: str


@dataclass(frozen=True, slots=True)
class RunProbe:
    """Run a probe; its result goes to `ContainerLifecycle.probed`."""

    container: str
    kind: ProbeKind
    timeout: float


@dataclass(frozen=True, slots=True)
class RunHook:
    """Run what a container wants done after it starts or before it stops; see `ContainerLifecycle.hook_done`."""

    container: str
    hook: Literal["postStart", "preStop"]


@dataclass(frozen=True, slots=True)
class SendSignal:
    """Send a signal to every process of a container; their end is reported by `ContainerLifecycle.exited`."""

    container: str
    #: Its name, such as ``SIGTERM``.
    signal: str


@dataclass(frozen=True, slots=True)
class EmitEvent:
    """Emit an Event."""

    reason: str
    note: str
    is_warning: bool = False


Action: TypeAlias = Start | RunProbe | RunHook | SendSignal | EmitEvent
