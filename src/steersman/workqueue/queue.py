"""`WorkQueue`: workers wait here for keys. The rules are in ``pending`` and ``retries``; this only waits.

Everything except ``get`` and ``drain`` is immediate. Use it on one event loop.
"""

import asyncio
from collections import deque
from collections.abc import Hashable, Iterable
from typing import Generic, Protocol, TypeVar

from msgspec import Struct

from steersman.clock import Clock, Timer
from steersman.workqueue.pending import NORMAL, REPEATED, RETRY, Pending, PendingRequest, Place, WorkItem, lowered
from steersman.workqueue.retries import Retries

K = TypeVar("K", bound=Hashable)
C = TypeVar("C", bound=Hashable)


#: Up to this number of failures, retries of a key go before those of keys that failed more often.
FEW_FAILURES = 3


class QueueObserver(Protocol):
    """Notified of each step of a queue; must neither block nor raise."""

    def added(self) -> None:
        """Record that a key was added."""

    def taken(self, waited: float) -> None:
        """Record that a key was handed out after it was ready for this many seconds."""

    def finished(self, worked: float) -> None:
        """Record that the work on a key ended after this many seconds."""

    def retried(self) -> None:
        """Record that a key was added with back-off."""


class QueueStatistics(Struct, frozen=True):
    """State of a queue at one moment."""

    ready: dict[int, int]
    running: int
    delayed: int
    #: Seconds that all keys now being worked on have taken so far, together and at most.
    unfinished_seconds: float
    longest_seconds: float


class _NoObserver:
    """Counts nothing."""

    def added(self) -> None:
        pass

    def taken(self, waited: float) -> None:
        pass

    def finished(self, worked: float) -> None:
        pass

    def retried(self) -> None:
        pass


class WorkQueue(Generic[K, C]):
    """Keys for any number of workers; no two workers have the same key."""

    def __init__(
        self,
        *,
        clock: Clock,
        retries: Retries[K] | None = None,
        observer: QueueObserver | None = None,
    ) -> None:
        self._clock = clock
        self._retries = retries if retries is not None else Retries[K].default()
        #: The request of each key that waits for its retry.
        self._retried: dict[K, PendingRequest[C]] = {}
        self._observer = observer if observer is not None else _NoObserver()
        self._pending = Pending[K, C]()
        #: Waiting workers, in order of arrival. A resolved future is one permission to call ``take`` again.
        self._waiters: deque[asyncio.Future[None]] = deque()
        self._drained: list[asyncio.Future[None]] = []
        self._released = False
        #: Invariant: while something is delayed there is a timer, and it fires no later than the first is due.
        self._timer: Timer | None = None
        self._timer_at = 0.0
        self._ready_since: dict[K, float] = {}
        self._running_since: dict[K, float] = {}
        #: Seconds that each key which is being worked on was ready before.
        self._waited: dict[K, float] = {}

    def add(self, key: K, *, priority: int = NORMAL, causes: Iterable[C] = ()) -> None:
        """Add a key now; dropped after ``shut_down``."""
        if self._pending.is_closed:
            return
        self._observer.added()
        if self._pending.add(key, priority=priority, causes=causes):
            self._ready_since[key] = self._clock.monotonic()
            self._wake_one()

    def add_after(self, key: K, seconds: float, *, priority: int = NORMAL, causes: Iterable[C] = ()) -> None:
        """Add a key after some seconds; zero or less is now. The earliest of several times counts."""
        if seconds <= 0:
            self.add(key, priority=priority, causes=causes)
            return
        self._pending.add_at(key, self._clock.monotonic() + seconds, priority=priority, causes=causes)
        self._arm()

    def add_recheck(self, key: K, seconds: float, *, priority: int = NORMAL, causes: Iterable[C] = ()) -> float | None:
        """Add a key after some seconds; return when it is due if it can be cancelled: no other delay is part of it."""
        is_alone = self._pending.due_at(key) is None
        self.add_after(key, seconds, priority=priority, causes=causes)
        return self._pending.due_at(key) if is_alone else None

    def cancel(self, key: K, due: float) -> None:
        """Drop a delay by what `add_recheck` returned, unless the key was added for an earlier time since."""
        self._pending.cancel(key, due)

    def add_rate_limited(self, key: K, *, priority: int = NORMAL, causes: Iterable[C] = ()) -> float:
        """Add a key that failed, after its back-off; return the minimum seconds that it waits.

        A retry goes behind keys with new changes, and behind the first retries of other keys if it failed often.
        """
        self._observer.retried()
        if self._pending.is_closed:
            return 0.0
        seconds = self._retries.failed(key, self._clock.monotonic())
        level = RETRY if self._retries.failures(key) <= FEW_FAILURES else REPEATED
        request = self._pending.new_request(lowered(priority, level), causes)
        known = self._retried.setdefault(key, request)
        if known is not request:
            self._pending.merge(known, request)
        self._arm()
        return seconds

    def forget(self, key: K) -> None:
        """Forget the failures of a key; the key stays in the queue."""
        self._retries.forget(key)

    def failures(self, key: K) -> int:
        """Return how often a key has failed since it was last forgotten."""
        return self._retries.failures(key)

    async def get(self) -> WorkItem[K, C] | None:
        """Wait for a key; ``None`` once the queue is shut down and empty. ``done`` must follow every key."""
        while True:
            taken = self._pending.take()
            if taken is not None:
                self._note_taken(taken.key)
                return taken
            if self._pending.is_closed:
                return None
            await self._wait()

    def done(self, key: K) -> None:
        """End the work on a key; if it was added meanwhile it is ready again."""
        now = self._clock.monotonic()
        since = self._running_since.pop(key, None)
        self._waited.pop(key, None)
        if since is not None:
            self._observer.finished(now - since)
        if self._pending.done(key):
            self._ready_since[key] = now
            self._wake_one()
        self._check_drained()

    def shut_down(self) -> None:
        """Reject new keys and drop the delayed ones; ready ones are still handed out.

        Calling it again releases a ``drain`` that waits for a worker which never ends.
        """
        if self._pending.is_closed:
            self._released = True
        self._pending.close()
        self._retries.clear()
        self._retried.clear()
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        while self._waiters:
            self._wake_one()
        self._check_drained()

    def abandon(self) -> None:
        """Shut down and drop the ready keys, too: workers finish their keys and get no more."""
        self._pending.discard()
        if not self._pending.is_closed:
            self.shut_down()
        self._check_drained()

    async def drain(self) -> None:
        """Shut down, then wait until all ready keys were worked on and every worker is done."""
        if not self._pending.is_closed:
            self.shut_down()
        while not (self._pending.is_idle or self._released):
            waiter: asyncio.Future[None] = asyncio.get_running_loop().create_future()
            self._drained.append(waiter)
            try:
                await waiter
            finally:
                if waiter in self._drained:
                    self._drained.remove(waiter)

    @property
    def is_idle(self) -> bool:
        """Whether nothing is ready and nothing is being worked on; delayed keys do not count."""
        return self._pending.is_idle

    def place_of(self, key: K) -> Place | None:
        """Return the state of a key in the queue; ``None`` if it is not in the queue."""
        place = self._pending.place_of(key)
        return Place.DELAYED if place is None and key in self._retried else place

    def due_at(self, key: K) -> float | None:
        """Return the time of the clock at which a delayed key is ready again, or can be at the earliest."""
        delayed, retried = self._pending.due_at(key), self._retries.due_at(key)
        if delayed is None or retried is None:
            return retried if delayed is None else delayed
        return min(delayed, retried)

    def waited(self, key: K) -> float:
        """Return how many seconds a key that is being worked on was ready before."""
        return self._waited.get(key, 0.0)

    def statistics(self) -> QueueStatistics:
        """Return the current state of the queue."""
        now = self._clock.monotonic()
        working = [now - since for since in self._running_since.values()]
        return QueueStatistics(
            ready=self._pending.depths(),
            running=self._pending.running_count,
            delayed=self._pending.delayed_count + len(self._retried),
            unfinished_seconds=sum(working),
            longest_seconds=max(working, default=0.0),
        )

    def _note_taken(self, key: K) -> None:
        now = self._clock.monotonic()
        self._running_since[key] = now
        self._waited[key] = waited = now - self._ready_since.pop(key, now)
        self._observer.taken(waited)

    async def _wait(self) -> None:
        waiter: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiters.append(waiter)
        try:
            await waiter
        except asyncio.CancelledError:
            if waiter.done() and not waiter.cancelled():
                # Pass the permission on: it must not be lost with this worker.
                self._wake_one()
            else:
                self._waiters.remove(waiter)
            raise

    def _wake_one(self) -> None:
        while self._waiters:
            waiter = self._waiters.popleft()
            if not waiter.done():
                waiter.set_result(None)
                return

    def _arm(self) -> None:
        now = self._clock.monotonic()
        times = [at for at in (self._pending.next_due(), self._retries.next_at(now)) if at is not None]
        due = min(times, default=None)
        if due is None or (self._timer is not None and self._timer_at <= due):
            return
        if self._timer is not None:
            self._timer.cancel()
        self._timer_at = due
        self._timer = self._clock.call_later(max(due - now, 0.0), self._on_time)

    def _on_time(self) -> None:
        self._timer = None
        now = self._clock.monotonic()
        ready = self._pending.promote(now)
        for key in self._retries.release(now):
            if self._pending.request(key, self._retried.pop(key)):
                ready.append(key)
        for key in ready:
            self._observer.added()
            self._ready_since[key] = now
            self._wake_one()
        self._arm()

    def _check_drained(self) -> None:
        if self._drained and (self._pending.is_idle or self._released):
            for waiter in self._drained:
                if not waiter.done():
                    waiter.set_result(None)

    def __repr__(self) -> str:
        return f"<WorkQueue {self._pending!r} workers_waiting={len(self._waiters)}>"
