"""`KeyState`: everything that a controller remembers about one key between runs, in one object.

The key of a deleted object is forgotten in one place, ``Controller._forget``: it drops the state and releases what the
state refers to (timers, watches, entries in the indexes by target). Two things are not here on purpose: the back-off of
a key is the work queue's, because retries of all keys compete there; and the versions that a controller wrote are kept
for all keys together (``self_triggers``), because one key's write can trigger another key.

Invariants: ``unseen`` and ``awaited`` agree with the indexes of `WriteBarrier` and `Waits`; a key is ``held`` only
while ``unseen`` is not empty.
"""

from collections.abc import Callable
from typing import Any, NamedTuple, TypeAlias, TypeVar

from msgspec import Struct, field

from steersman.clock import Timer
from steersman.controller.reports.causes import Cause
from steersman.controller.reports.writes import Target, Write
from steersman.history.records import ObjectName
from steersman.informer.changes import Change
from steersman.informer.informer import Selection
from steersman.informer.informers import InformerHandle
from steersman.informer.record import Record
from steersman.objects.identity import GroupVersionKind, ObjectKey
from steersman.workqueue.pending import WorkItem

T = TypeVar("T")

#: A key as it was taken from the queue, with its priority and causes.
ReconcileRequest: TypeAlias = WorkItem[ObjectKey, Cause]
#: What a dynamic watch is about.
WatchedSelection: TypeAlias = tuple[GroupVersionKind, Selection]
#: Called with each change of a dynamically watched kind.
ChangeHandler: TypeAlias = Callable[[Change], None]


class ObjectRevision(NamedTuple):
    """What must differ before an object that was given up is reconciled again."""

    uid: str
    #: The generation; the resource version for kinds that have no generation.
    revision: int | str


def revision_of(record: Record) -> ObjectRevision:
    """Return the revision of a cached object."""
    return ObjectRevision(record.uid, record.generation or record.resource_version)


class ObjectMemory(Struct):
    """The author's ``ctx.memory`` of one object; an object that is created later under the same name gets its own."""

    uid: str
    value: Any


class HeldKey(Struct):
    """Requests for a key that wait until the caches show its writes, and the timer that ends the wait."""

    requests: list[ReconcileRequest]
    timer: Timer


class WriteStreak(Struct):
    """Consecutive runs that wrote objects because of their own writes."""

    #: Number of such runs in a row, for each object that they wrote.
    writes: dict[Target, int] = field(default_factory=dict)
    #: Time of the last of these runs.
    at: float = float("-inf")
    #: Fields that changed in each object, as last seen.
    fields: dict[Target, tuple[str, ...]] = field(default_factory=dict)


class DynamicWatch(Struct, eq=False):
    """A watch of ``ctx.follow``. Each run replaces the handler."""

    on_change: ChangeHandler
    handle: InformerHandle | None = None

    def __call__(self, change: Change) -> None:
        """Call the current handler."""
        self.on_change(change)


class KeyState(Struct, eq=False):
    """What is remembered about one key."""

    key: ObjectKey
    #: The name of the object in records, once there is one: all records refer to the same.
    name: ObjectName | None = None
    #: Runs since the controller started.
    runs: int = 0
    #: Failed runs in a row, including those that asked for a retry.
    failures: int = 0
    #: Conflicts in a row.
    conflicts: int = 0
    #: The revision that no run can help, after ``Permanent`` or a decoding error.
    given_up: ObjectRevision | None = None
    memory: ObjectMemory | None = None
    #: Why the last run did not call the author's function: the object is paused.
    paused: str = ""
    #: When the queue releases it for the recheck of a wait, or at the end of a pause; the author asked for neither.
    recheck_due: float | None = None
    #: Writes of its runs that the caches do not show yet (`WriteBarrier`).
    unseen: dict[Target, Write] = field(default_factory=dict)
    held: HeldKey | None = None
    #: Whether it was released before the caches showed its writes, so that its next run may read what is outdated.
    is_stale: bool = False
    #: Its own writes that caused its runs (`SelfTriggers`), and until when it is slowed down for that.
    streak: WriteStreak | None = None
    cool_until: float | None = None
    #: The object that it waits for (`Waits`).
    awaited: Target | None = None
    #: Its dynamic watches (`DynamicWatches`); ``None`` without any.
    watches: dict[WatchedSelection, DynamicWatch] | None = None

    def remember(self, uid: str, make: Callable[[], T]) -> T:
        """Return the memory of the object with that uid, created by ``make`` on first use."""
        memory = self.memory
        if memory is None or memory.uid != uid:
            memory = self.memory = ObjectMemory(uid, make())
        value: T = memory.value
        return value


class KeyStates:
    """The states of all keys of one controller."""

    def __init__(self) -> None:
        self._states: dict[ObjectKey, KeyState] = {}

    def of(self, key: ObjectKey) -> KeyState:
        """Return the state of a key, created on first use."""
        state = self._states.get(key)
        if state is None:
            state = self._states[key] = KeyState(key)
        return state

    def find(self, key: ObjectKey) -> KeyState | None:
        """Return the state of a key, if there is one."""
        return self._states.get(key)

    def known(self) -> list[ObjectKey]:
        """Return all keys with a state."""
        return list(self._states)

    def drop(self, key: ObjectKey) -> KeyState | None:
        """Remove the state of a key and return it, if there was one."""
        return self._states.pop(key, None)

    def __len__(self) -> int:
        return len(self._states)

    def __repr__(self) -> str:
        return f"<KeyStates {len(self._states)}>"
