"""The state of a container as its node reports it. Pure data; `pod_status` builds a pod's status from it."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import TypeAlias

#: The reason of a container that has not started, if no better one is known.
CREATING, INITIALIZING = "ContainerCreating", "PodInitializing"


@dataclass(frozen=True, slots=True)
class Waiting:
    """Not running yet, or not again yet."""

    #: Empty without a special reason: the status then says whether the pod is being initialized or created.
    reason: str = ""
    message: str = ""


@dataclass(frozen=True, slots=True)
class Running:
    """Running."""

    since: datetime


@dataclass(frozen=True, slots=True)
class Terminated:
    """Ended, by itself or not."""

    exit_code: int
    started_at: datetime | None = None
    finished_at: datetime | None = None
    #: Empty for what follows from the exit code.
    reason: str = ""
    message: str = ""
    #: Which run it was, as ``<runtime>://<id>``.
    container_id: str = ""

    @property
    def is_success(self) -> bool:
        """Whether it ended as it should."""
        return self.exit_code == 0


ContainerPhase: TypeAlias = Waiting | Running | Terminated


@dataclass(frozen=True, slots=True, kw_only=True)
class ContainerReport:
    """The state of one container of a pod."""

    state: ContainerPhase = Waiting()
    #: How its run before this one ended.
    last: Terminated | None = None
    restarts: int = 0
    #: Whether its startup probe succeeded, or it has none. Counts only while it runs.
    is_started: bool = True
    #: Whether its readiness probe succeeds, or it has none. Counts only while it runs and is started.
    is_ready: bool = True
    #: Which run it is, as ``<runtime>://<id>``.
    container_id: str = ""
    image_id: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class PodReport:
    """How a pod stands on its node."""

    #: By name, init containers as well; a missing one is waiting.
    containers: Mapping[str, ContainerReport] = field(default_factory=dict)
    #: When the node took the pod on.
    started_at: datetime | None = None
    host_ip: str = ""
    #: Empty before the pod has an address.
    pod_ip: str = ""
    #: Whether everything is there that its containers need: address and volumes. Taken away again at the very end.
    is_set_up: bool = True
    #: Whether nothing of it will run again: its node is done with it, or it is being deleted and has ended.
    is_over: bool = False
    #: Why the pod failed as a whole, such as ``DeadlineExceeded``, whatever its containers report.
    failure: str = ""
    message: str = ""
