"""What is true of a running operator at one moment, and how views ask for it.

Views (``steer why``, the web view, ``steer dev``) know `Introspection` only: they work the same on a live operator, on
a recording, and in tests.
"""

from datetime import datetime
from typing import Protocol

from msgspec import Struct

from steersman.history.history import History
from steersman.history.recordings import Recording
from steersman.history.records import ConditionRecord, KeyPhase, ObjectName, ObjectView, Result


class CacheState(Struct, frozen=True, omit_defaults=True, kw_only=True):
    """One cache: the replica of the objects of one kind."""

    kind: str
    api_version: str
    #: The namespaces that it covers; none of them means all.
    namespaces: tuple[str, ...] = ()
    selector: str = ""
    is_metadata_only: bool = False
    objects: int = 0
    bytes: int = 0
    #: Seconds since it last heard from the server; ``None`` before the first answer.
    age: float | None = None
    is_synced: bool = False
    #: Why it is not synced.
    reason: str = ""


class ControllerState(Struct, frozen=True, omit_defaults=True, kw_only=True):
    """One controller, and the number of its keys in each phase."""

    name: str
    kind: str
    api_version: str
    plural: str
    workers: int
    keys: dict[KeyPhase, int] = {}
    #: Objects whose last run failed.
    failing: int = 0
    #: Runs since the operator started, and how many of them failed.
    runs: int = 0
    failures: int = 0


class LeadershipState(Struct, frozen=True, omit_defaults=True):
    """Whether this process leads, by which Lease."""

    is_leader: bool
    lease: str = ""
    identity: str = ""
    #: Since when, and why it does not lead any more.
    since: datetime | None = None
    reason: str = ""
    #: The shards that it works on, and the number of all shards; 0 if the operator has none.
    shards: tuple[int, ...] = ()
    shard_count: int = 0


class WebhookState(Struct, frozen=True, omit_defaults=True, kw_only=True):
    """One webhook, by its remembered reviews."""

    webhook: str
    reviews: int = 0
    denied: int = 0
    #: Reviews that had no answer of the author's function: it raised, or the API server did not wait for it.
    failed: int = 0
    slowest: float = 0.0
    last: datetime


class Overview(Struct, frozen=True, omit_defaults=True, kw_only=True):
    """The state of a whole operator process."""

    operators: tuple[str, ...]
    version: str
    #: The address of the API server.
    cluster: str
    namespaces: tuple[str, ...] = ()
    started: datetime
    now: datetime
    leadership: LeadershipState | None = None
    #: Number of processes that this is about: the replicas that share a Lease, put together.
    replicas: int = 1
    controllers: tuple[ControllerState, ...] = ()
    caches: tuple[CacheState, ...] = ()
    webhooks: tuple[WebhookState, ...] = ()
    #: Reconciles that are remembered, and their size.
    remembered: int = 0
    remembered_bytes: int = 0


class ObjectSummary(Struct, frozen=True, omit_defaults=True, kw_only=True):
    """One reconciled object in a list."""

    object: ObjectName
    ready: ConditionRecord | None = None
    is_deleting: bool = False
    phase: KeyPhase = KeyPhase.IDLE
    #: When it is reconciled next, if that is known.
    until: datetime | None = None
    last: datetime | None = None
    result: Result = Result.DONE
    message: str = ""
    #: Runs that failed in a row.
    failures: int = 0
    #: Whether another replica reconciles it: the one that leads, or that works on its shard.
    is_foreign: bool = False


class TreeNode(Struct, frozen=True, omit_defaults=True, kw_only=True):
    """An object with the objects that it owns."""

    object: ObjectName
    #: ``True``, ``False``, ``Unknown``, or empty if it has no such condition.
    ready: str = ""
    detail: str = ""
    children: tuple["TreeNode", ...] = ()


class Introspection(Protocol):
    """A running operator, as views see it. Nothing here waits or changes anything; callable from any thread."""

    @property
    def history(self) -> History:
        """What the operator did."""

    def overview(self) -> Overview:
        """Return the state of the whole."""

    def summaries(self) -> list[ObjectSummary]:
        """Return every reconciled object."""

    def view(self, name: ObjectName) -> ObjectView:
        """Return all that is known of one object; one that is not there has ``exists`` false."""

    def recordings(self, name: ObjectName) -> list[Recording] | None:
        """Return what the newest reconciles of an object read and sent; ``None`` if that is not recorded."""

    def tree(self, name: ObjectName) -> TreeNode | None:
        """Return an object and what it owns, as far as the caches show it; ``None`` if it is not there."""
