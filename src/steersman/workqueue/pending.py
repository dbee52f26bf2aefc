"""The rules of the work queue, without waiting: which key is worked on next, and why.

Promises: a key is in the queue at most once and never worked on twice at the same time; a request for a key that is
being worked on is not lost; keys of one priority are handed out in order of arrival; no priority starves another
forever. The caller passes the time as a number.
"""

import heapq
from collections import OrderedDict
from collections.abc import Hashable, Iterable
from enum import StrEnum
from typing import Generic, TypeVar

from msgspec import Struct

K = TypeVar("K", bound=Hashable)
C = TypeVar("C", bound=Hashable)

#: The default priority.
NORMAL = 0
#: The priority of retries, and of retries of keys that failed often: they never keep a change waiting.
RETRY, REPEATED = -10, -20
#: The priority of the initial list and of resyncs: changes that happen now go first.
LOW = -100
#: Distance between two ranks that an author gives to keys: more than any difference between the priorities above.
RANK = 1000


def ranked(rank: int, priority: int) -> int:
    """Return a priority among keys of a rank: every key of a higher rank goes first."""
    return rank * RANK + priority


def lowered(priority: int, limit: int) -> int:
    """Return a priority of the same rank that is at most ``limit`` within it."""
    rank = (priority + RANK // 2) // RANK
    return ranked(rank, min(priority - rank * RANK, limit))


class PendingRequest(Struct, Generic[C]):
    """The union of all requests for a key: the highest priority and all causes."""

    priority: int
    #: Distinct, in the order of their first appearance.
    causes: tuple[C, ...] = ()
    #: Number of causes that were not kept.
    dropped: int = 0

    def merge(self, other: "PendingRequest[C]", keep: int) -> None:
        """Add another request; at most ``keep`` causes are kept."""
        self.priority = max(self.priority, other.priority)
        self.dropped += other.dropped
        fresh = [cause for cause in other.causes if cause not in self.causes]
        if fresh:
            room = max(keep - len(self.causes), 0)
            self.causes += tuple(fresh[:room])
            self.dropped += len(fresh[room:])


class Place(StrEnum):
    """Where a key is in the queue."""

    READY = "ready"
    RUNNING = "running"
    DELAYED = "delayed"


class WorkItem(Struct, Generic[K, C], frozen=True):
    """A key that was handed out; ``done`` must follow."""

    key: K
    priority: int
    causes: tuple[C, ...]
    dropped_causes: int


class Pending(Generic[K, C]):
    """Keys that are ready, keys that are being worked on, and keys that will be ready later."""

    def __init__(self, *, keep_causes: int = 16, patience: int = 64) -> None:
        if keep_causes < 1 or patience < 1:
            raise ValueError(f"need keep_causes ≥ 1 and patience ≥ 1, got {keep_causes} and {patience}")
        self._keep = keep_causes
        #: How often in a row a priority may be passed over.
        self._patience = patience
        #: How often each priority was passed over since a key of it was taken.
        self._passed_over: dict[int, int] = {}
        #: The requests for each key. Invariant: ready ⊆ requested, and requested - ready ⊆ running.
        self._requested: dict[K, PendingRequest[C]] = {}
        #: Keys to hand out, by priority, oldest first. Invariant: no priority is empty; ready ∩ running = ∅.
        self._ready: dict[int, OrderedDict[K, None]] = {}
        #: Keys handed out and not done.
        self._running: set[K] = set()
        #: When each delayed key is due, and its requests. Invariant: each has an entry of that time in the heap.
        self._delayed: dict[K, tuple[float, PendingRequest[C]]] = {}
        #: (time, serial, key); entries that no longer agree with ``_delayed`` are stale and skipped.
        self._heap: list[tuple[float, int, K]] = []
        self._serial = 0
        self._closed = False

    def add(self, key: K, *, priority: int = NORMAL, causes: Iterable[C] = ()) -> bool:
        """Add a key now; return whether there is one more key to hand out."""
        if self._closed:
            return False
        return self.request(key, self.new_request(priority, causes))

    def add_at(self, key: K, when: float, *, priority: int = NORMAL, causes: Iterable[C] = ()) -> None:
        """Add a key at a time; of several times for one key the earliest counts."""
        if self._closed:
            return
        request = self.new_request(priority, causes)
        known = self._delayed.get(key)
        if known is not None:
            known[1].merge(request, self._keep)
            if known[0] <= when:
                return
            request = known[1]
        self._delayed[key] = (when, request)
        self._serial += 1
        heapq.heappush(self._heap, (when, self._serial, key))
        self._shrink_heap()

    def cancel(self, key: K, when: float) -> None:
        """Drop the delayed request of a key, if it is due at exactly that time: an earlier one is another caller's."""
        if self.due_at(key) == when:
            del self._delayed[key]
            self._shrink_heap()

    def promote(self, now: float) -> list[K]:
        """Make every delayed key ready whose time has come; return those that can now be handed out."""
        more: list[K] = []
        while self._heap and self._heap[0][0] <= now:
            when, _, key = heapq.heappop(self._heap)
            known = self._delayed.get(key)
            if known is None or known[0] != when:
                continue
            del self._delayed[key]
            if self.request(key, known[1]):
                more.append(key)
        return more

    def next_due(self) -> float | None:
        """Return the time at which ``promote`` will next have something to do."""
        while self._heap:
            when, _, key = self._heap[0]
            known = self._delayed.get(key)
            if known is not None and known[0] == when:
                return when
            heapq.heappop(self._heap)
        return None

    def take(self) -> WorkItem[K, C] | None:
        """Return the next key, if there is one, and mark it as being worked on."""
        if not self._ready:
            return None
        level = self._next_level()
        keys = self._ready[level]
        key, _ = keys.popitem(last=False)
        if not keys:
            del self._ready[level]
        request = self._requested.pop(key)
        self._running.add(key)
        return WorkItem(key, request.priority, request.causes, request.dropped)

    def done(self, key: K) -> bool:
        """End the work on a key; return whether it was requested again, so that there is one more key to hand out."""
        self._running.discard(key)
        request = self._requested.get(key)
        if request is None or self._is_ready(key, request):
            return False
        self._enqueue(key, request)
        return True

    def close(self) -> None:
        """Reject new keys and drop delayed ones; ready keys are still handed out."""
        self._closed = True
        self._delayed.clear()
        self._heap.clear()

    def discard(self) -> None:
        """Drop every key that was not handed out, and requests for keys that were."""
        self._ready.clear()
        self._requested.clear()

    @property
    def is_closed(self) -> bool:
        """Whether new keys are rejected."""
        return self._closed

    @property
    def is_idle(self) -> bool:
        """Whether nothing is ready and nothing is being worked on."""
        return not self._ready and not self._running

    def place_of(self, key: K) -> Place | None:
        """Return the state of a key; ``None`` if it neither waits nor runs. A running key may be queued again."""
        if key in self._running:
            return Place.RUNNING
        if key in self._requested:
            return Place.READY
        return Place.DELAYED if key in self._delayed else None

    def due_at(self, key: K) -> float | None:
        """Return the time until which a key is delayed."""
        delayed = self._delayed.get(key)
        return None if delayed is None else delayed[0]

    def depths(self) -> dict[int, int]:
        """Return the number of ready keys, by priority."""
        return {level: len(keys) for level, keys in sorted(self._ready.items())}

    @property
    def ready_count(self) -> int:
        """Number of keys that can be handed out now."""
        return sum(map(len, self._ready.values()))

    @property
    def running_count(self) -> int:
        """Number of keys that are being worked on."""
        return len(self._running)

    @property
    def delayed_count(self) -> int:
        """Number of keys that will be ready later."""
        return len(self._delayed)

    def new_request(self, priority: int, causes: Iterable[C]) -> PendingRequest[C]:
        """Return a request for a key, with as many causes as are kept."""
        distinct = tuple(dict.fromkeys(causes))
        return PendingRequest(priority, distinct[: self._keep], max(len(distinct) - self._keep, 0))

    def merge(self, known: PendingRequest[C], request: PendingRequest[C]) -> None:
        """Add a request for a key to an earlier one."""
        known.merge(request, self._keep)

    def request(self, key: K, request: PendingRequest[C]) -> bool:
        """Add a request for a key now; return whether there is one more key to hand out."""
        known = self._requested.get(key)
        if known is None:
            self._requested[key] = request
            if key in self._running:
                return False
            self._enqueue(key, request)
            return True
        before = known.priority
        known.merge(request, self._keep)
        if known.priority > before and key not in self._running:
            # A higher priority: it goes last in its new priority, as if it had just arrived.
            self._remove(key, before)
            self._enqueue(key, known)
        return False

    def _is_ready(self, key: K, request: PendingRequest[C]) -> bool:
        return key in self._ready.get(request.priority, ())

    def _enqueue(self, key: K, request: PendingRequest[C]) -> None:
        level = self._ready.get(request.priority)
        if level is None:
            level = self._ready[request.priority] = OrderedDict()
        level[key] = None

    def _remove(self, key: K, level: int) -> None:
        keys = self._ready[level]
        del keys[key]
        if not keys:
            del self._ready[level]

    def _next_level(self) -> int:
        if len(self._ready) == 1:
            if self._passed_over:
                self._passed_over = {}
            return next(iter(self._ready))
        passed = {level: self._passed_over.get(level, 0) for level in self._ready}
        starved = max(passed, key=lambda level: (passed[level], -level))
        level = starved if passed[starved] >= self._patience else max(passed)
        self._passed_over = {other: count + 1 for other, count in passed.items() if other != level}
        return level

    def _shrink_heap(self) -> None:
        """Drop stale entries once they are the majority, so that endless re-scheduling needs no memory."""
        if len(self._heap) > 2 * len(self._delayed) + 64:
            self._heap = [(when, n, key) for n, (key, (when, _)) in enumerate(self._delayed.items())]
            self._serial = len(self._heap)
            heapq.heapify(self._heap)

    def __repr__(self) -> str:
        closed = " closed" if self._closed else ""
        return f"<Pending ready={self.ready_count} running={self.running_count} delayed={self.delayed_count}{closed}>"
