"""The values of the history. All are frozen, hold no object of a cluster, and can be written as JSON or MessagePack.

A record is made once, when its reconcile has ended, and never changes. Texts in it are bounded and free of secrets: the
recorder masks them before it makes the record, because a record is kept, shown and exported without another look.
"""

from datetime import datetime
from enum import StrEnum
from typing import NamedTuple

from msgspec import Struct

from steersman.objects.identity import ObjectKey


class ObjectName(NamedTuple):
    """An object as people call it: its kind, namespace and name; the group tells equal kinds of two groups apart."""

    kind: str
    namespace: str
    name: str
    group: str = ""

    @property
    def key(self) -> ObjectKey:
        """Namespace and name without the kind."""
        return ObjectKey(self.namespace, self.name)

    def within(self, namespace: str) -> str:
        """Return the kind and name as written in a text about that namespace: the namespace only if it differs."""
        place = f"{self.namespace}/" if self.namespace and self.namespace != namespace else ""
        return f"{self.kind} {place}{self.name}"

    def __str__(self) -> str:
        return f"{self.kind} {self.key}"


class FieldChange(NamedTuple):
    """One field that differs between two states of an object. Values are short texts; empty means absent."""

    path: str
    before: str
    after: str

    def __str__(self) -> str:
        if not self.before:
            return f"{self.path} {self.after}"
        return f"{self.path} {self.before} → {self.after or 'removed'}"


class CauseType(StrEnum):
    """What led to a reconcile."""

    #: The object existed when the controller started.
    EXISTS = "exists"
    CREATED = "created"
    CHANGED = "changed"
    DELETED = "deleted"
    RESYNC = "resync"
    #: The run asked for it: ``ctx.requeue_after``, or the recheck of ``Blocked``.
    TIMER = "timer"
    RETRY = "retry"
    #: A function from ``ctx.waker()`` was called, or a person asked for it.
    REQUESTED = "requested"


class CauseRecord(Struct, frozen=True, omit_defaults=True):
    """One reason for a reconcile."""

    type: CauseType
    #: The object it happened to; ``None`` for timers, retries and requests.
    object: ObjectName | None = None
    #: The parts of it that changed, such as ``spec`` or ``labels``, or the reason of a retry.
    detail: str = ""
    #: The fields of its spec that changed, as far as they were compared.
    changes: tuple[FieldChange, ...] = ()
    #: The resource version of the object after what happened to it.
    version: str = ""

    def __str__(self) -> str:
        subject = "" if self.object is None else f"{self.object} "
        return f"{subject}{self.type}{f' ({self.detail})' if self.detail else ''}"


class Read(Struct, frozen=True, omit_defaults=True):
    """Objects of one kind that a reconcile read together."""

    kind: str
    count: int
    #: The object, if it was read by name; ``None`` for a list.
    object: ObjectName | None = None
    #: The resource version of a single object; empty if it was absent.
    version: str = ""
    #: Seconds since the cache last heard from the server; ``None`` for a read from the server itself.
    age: float | None = None
    #: Of a request to the server: when it was sent, in seconds after the run began, and how long it took.
    at: float = 0.0
    seconds: float = 0.0


class Verb(StrEnum):
    """What a write did."""

    CREATED = "created"
    CHANGED = "changed"
    #: Created or changed: the kind is not cached, so it is not known whether the object was there.
    APPLIED = "applied"
    UNCHANGED = "unchanged"
    DELETED = "deleted"
    STATUS = "status"
    FAILED = "failed"


class WriteRecord(Struct, frozen=True, omit_defaults=True):
    """One request that changes an object, and its answer."""

    verb: Verb
    object: ObjectName
    version: str = ""
    #: The fields that it changed; empty for a kind whose content is confidential.
    changes: tuple[FieldChange, ...] = ()
    #: Number of changed fields beyond those in ``changes``.
    more_changes: int = 0
    #: Why it failed.
    error: str = ""
    #: When it was sent, in seconds after the run began, and how long it took.
    at: float = 0.0
    seconds: float = 0.0


class WriteResult(StrEnum):
    """Result of a write to another system."""

    SUCCEEDED = "succeeded"
    #: It raised: it may or may not have been carried out.
    FAILED = "failed"
    #: It was cancelled while under way: it may or may not have been carried out.
    INTERRUPTED = "interrupted"
    #: This process does not lead any more: it was not sent.
    REFUSED = "refused"


class ExternalWriteRecord(Struct, frozen=True, omit_defaults=True):
    """One write to another system, such as a database. It holds nothing of what was written."""

    system: str
    description: str
    result: WriteResult
    seconds: float
    #: When it began, in seconds after the run did.
    at: float = 0.0


class EventRecord(Struct, frozen=True, omit_defaults=True):
    """One Kubernetes Event that a reconcile recorded."""

    type: str
    reason: str
    message: str = ""


#: The status of a condition that was removed.
REMOVED = "removed"


class ConditionRecord(Struct, frozen=True, omit_defaults=True):
    """One condition of the status that a reconcile changed."""

    type: str
    status: str
    reason: str = ""
    message: str = ""

    def __str__(self) -> str:
        if self.status == REMOVED:
            return f"{self.type} removed"
        return f"{self.type}={self.status}{f' ({self.reason})' if self.reason else ''}"


#: The reason of an object that does not decode: it was not reconciled, and is given up until it changes.
MALFORMED = "Malformed"


class Result(StrEnum):
    """How a reconcile ended."""

    DONE = "done"
    RETRY = "retry"
    CONFLICT = "conflict"
    GAVE_UP = "gave up"
    WAITING = "waiting"
    FAILED = "failed"
    PAUSED = "paused"
    STOPPED = "stopped"


class Next(Struct, frozen=True, omit_defaults=True):
    """When an object is reconciled again, if nothing else changes."""

    #: The moment of the next run; ``None`` if there is none.
    at: datetime | None = None
    #: The object whose next change starts a run, beside changes of the reconciled object and what it owns.
    waits_for: ObjectName | None = None


class Reconcile(Struct, frozen=True, omit_defaults=True, kw_only=True):
    """One run of a reconciler or of its cleanup for one object."""

    controller: str
    object: ObjectName
    uid: str
    generation: int = 0
    #: The number of this run among those of its object, and how many runs before it failed in a row.
    number: int
    failures_before: int = 0
    is_cleanup: bool = False
    started: datetime
    seconds: float
    #: Seconds that the key waited in the queue.
    queued: float = 0.0
    causes: tuple[CauseRecord, ...] = ()
    #: Number of causes beyond those in ``causes``.
    more_causes: int = 0
    reads: tuple[Read, ...] = ()
    writes: tuple[WriteRecord, ...] = ()
    external_writes: tuple[ExternalWriteRecord, ...] = ()
    events: tuple[EventRecord, ...] = ()
    conditions: tuple[ConditionRecord, ...] = ()
    result: Result = Result.DONE
    #: The reason of a result other than ``done``, and its text.
    reason: str = ""
    message: str = ""
    next: Next = Next()
    #: Seconds until the next run that the author asked for: ``ctx.requeue_after``, ``Retry``, the end of a pause.
    again_after: float | None = None
    #: Whether it ran although the caches did not show in time what the run before it had written.
    is_stale: bool = False
    #: Whether it exceeded its time limit, and whether it ended in an exception that would end a program.
    is_timeout: bool = False
    is_panic: bool = False
    #: Whether details are missing, because there were too many to keep.
    is_cut: bool = False

    @property
    def is_failure(self) -> bool:
        """Whether it ended in an exception, or gave up."""
        return self.result in (Result.FAILED, Result.GAVE_UP)


class ReconcileEnd(Struct, frozen=True, gc=False):
    """How a run ended that simply succeeded: what counters need of its record. Fields are those of `Reconcile`."""

    controller: str
    seconds: float
    again_after: float | None
    is_stale: bool

    @property
    def result(self) -> Result:
        """Success."""
        return Result.DONE


class WebhookCall(Struct, frozen=True, omit_defaults=True, kw_only=True):
    """One review that the API server sent to a webhook of the operator. It holds nothing of the reviewed object."""

    #: The path of the webhook.
    webhook: str
    started: datetime
    seconds: float
    #: The HTTP status of the response; 499 if the API server closed the connection before. A denial has status 200.
    status: int
    #: What the API server wanted to know, and about which object; empty if the review could not be read.
    operation: str = ""
    object: ObjectName | None = None
    #: Whether the request was allowed; ``None`` for conversions and failures. ``message`` says why not.
    is_allowed: bool | None = None
    message: str = ""
    #: The W3C trace context that the API server sent (``traceparent``), if any.
    trace: str = ""


class LeadershipChange(Struct, frozen=True, omit_defaults=True, kw_only=True):
    """This process began or ceased to lead."""

    at: datetime
    is_leader: bool
    lease: str
    identity: str = ""
    reason: str = ""


class KeyPhase(StrEnum):
    """Where the key of an object is on its way through the controller."""

    IDLE = "idle"
    QUEUED = "queued"
    RUNNING = "running"
    #: It waits until the caches show what its last run wrote.
    HELD = "held"
    #: It failed, and waits before the next try.
    BACKING_OFF = "backing off"
    #: It triggers itself, and is slowed down.
    SLOWED_DOWN = "slowed down"
    #: It is not retried until the object changes.
    GAVE_UP = "gave up"
    WAITING = "waiting"
    PAUSED = "paused"


class KeyState(Struct, frozen=True, omit_defaults=True):
    """The state of a key at one moment."""

    phase: KeyPhase = KeyPhase.IDLE
    #: When it is reconciled next, if that is known.
    until: datetime | None = None
    #: The object that it waits for, if it waits for one.
    waits_for: ObjectName | None = None
    #: What it waits for, in words.
    detail: str = ""
    #: Objects that it names and that do not exist: it is reconciled when one of them is created.
    missing: tuple[ObjectName, ...] = ()


class ReplicaRecord(Struct, frozen=True, omit_defaults=True, kw_only=True):
    """The process that has answered, as one of the replicas that share a Lease."""

    lease: str
    identity: str = ""
    #: Whether it reconciles the object now: it leads, or works on the object's shard.
    is_working: bool = False
    #: The shard of the object, and the number of shards; ``None`` and 0 if the operator has none.
    shard: int | None = None
    shards: int = 0


class ObjectView(Struct, frozen=True, omit_defaults=True, kw_only=True):
    """All that an operator knows of one object at one moment: its state, and what was done about it."""

    object: ObjectName
    #: Whether the cache of the operator has it.
    exists: bool = True
    is_deleting: bool = False
    generation: int = 0
    observed_generation: int | None = None
    conditions: tuple[ConditionRecord, ...] = ()
    state: KeyState = KeyState()
    reconciles: tuple[Reconcile, ...] = ()
    #: Reviews of the object by webhooks of the operator.
    reviews: tuple[WebhookCall, ...] = ()
    #: When the process began and ceased to lead, from the last change before the first run or review.
    leadership: tuple[LeadershipChange, ...] = ()
    #: The API server of the object.
    cluster: str = ""
    #: Which replica this is; ``None`` if the operator runs without an election.
    replica: ReplicaRecord | None = None

    @property
    def ready(self) -> ConditionRecord | None:
        """The condition that says whether the object is ready; ``None`` if its status has none."""
        return next((one for one in self.conditions if one.type == "Ready"), None)
