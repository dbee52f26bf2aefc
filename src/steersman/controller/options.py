"""`ControllerOptions`: what the manager gives to a controller."""

from datetime import datetime
from typing import Any, Literal, Protocol, TypeAlias

from msgspec import Struct, field

from steersman.client.client import Client
from steersman.clock import Clock
from steersman.controller.reports.failures import FailureListener, ignore_failure
from steersman.controller.run.external_writes import CarryOut, carry_out_at_once
from steersman.controller.shards import ShardAccess
from steersman.history.history import History
from steersman.history.recordings import Recordings
from steersman.history.records import ObjectName, Reconcile
from steersman.history.redaction import SecretMemory
from steersman.informer.informers import Informers
from steersman.objects.resource import KubeObject, Unstructured
from steersman.protocol.http import WriteFence
from steersman.transport.services import HttpServices
from steersman.workqueue.queue import QueueObserver

EventKind: TypeAlias = Literal["Normal", "Warning"]


class Events(Protocol):
    """Record Kubernetes events about objects."""

    def record(self, obj: KubeObject | Unstructured, type_: EventKind, reason: str, note: str) -> None:
        """Record an event; must neither block nor raise."""


class RunTracer(Protocol):
    """Makes a span of each run."""

    def begin(self, name: ObjectName, started: datetime) -> Any:
        """Begin the span of a run, as the current one of this task; return what ``end`` needs."""

    def end(self, run: Any, record: Reconcile | None) -> None:
        """End the span of a run by its record; ``None`` if that could not be made."""


class ControllerOptions(Struct, frozen=True, kw_only=True):
    """The cluster, the clock and the settings of a controller; its reconciles use the same."""

    #: Client with the operator's own field manager; fenced by leader election.
    client: Client
    informers: Informers
    events: Events
    clock: Clock
    #: HTTP services that reconcilers call (``ctx.http``).
    services: HttpServices
    #: Checked right before each write to another system; ``None`` without leader election.
    fence: WriteFence | None = None
    #: The shards that the operator is divided into; ``None`` if one process works on all objects.
    shards: ShardAccess | None = None
    #: Carries out writes to other systems.
    carry_out: CarryOut = carry_out_at_once
    #: The namespaces to watch; empty for all.
    namespaces: tuple[str, ...] = ()
    #: Name of the cluster.
    cluster: str = ""
    #: Where each reconcile is recorded.
    history: History = field(default_factory=History)
    #: Makes a span of each run; ``None`` makes none.
    tracer: RunTracer | None = None
    #: Recognises the contents of Secrets in texts; shared by all controllers of a process.
    secrets: SecretMemory = field(default_factory=SecretMemory)
    #: Where each reconcile is recorded with all that it reads and sends; ``None`` records nothing.
    recordings: Recordings | None = None
    #: The operator as ``module:name``, for recordings.
    target: str = ""
    #: Notified of each exception that an author's function raises unexpectedly.
    on_failure: FailureListener = ignore_failure
    queue_observer: QueueObserver | None = None
