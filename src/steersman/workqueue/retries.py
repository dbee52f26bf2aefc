"""Retries of failed keys: each after its own back-off, limited overall, and none delayed much by the others.

The overall limit is applied when retries are handed out, not when they are requested. A key that reserved its place
when it failed would wait for all that failed before it: with 10,000 failing objects, the single retry of a healthy one
came 1,000 s later. Promises instead:

- No retry comes before the key's own back-off is over.
- Of the retries that are due, the keys with the fewest failures go first, and of those the one that failed last: a
  healthy object with one failure does not wait for many objects that have been failing for long.
- Other keys delay a key by no more than its patience: a second after the first failure, doubled with each further one.
  Many keys may exceed the overall limit for that; each of them then waits longer by itself.

Pure: the caller passes the time as a number.
"""

import heapq
from collections.abc import Hashable
from typing import Any, Generic, TypeVar

from msgspec import Struct

from steersman.workqueue.backoff import Backoff, Bucket, Exponential

K = TypeVar("K", bound=Hashable)

#: Seconds that other keys may delay a retry, by the number of failures of its key.
PATIENCE = Exponential(base=1.0, limit=1000.0)


class _Retry(Struct):
    """A waiting key; heap entries with another serial are stale and skipped."""

    serial: int
    failures: int
    due: float
    latest: float


class Retries(Generic[K]):
    """Decide when each failed key is retried. Without a bucket only the back-off of the key counts."""

    def __init__(
        self, backoff: Backoff[K] | None = None, bucket: Bucket | None = None, patience: Exponential = PATIENCE
    ) -> None:
        self._backoff = backoff if backoff is not None else Backoff[K]()
        self._bucket = bucket
        self._patience = patience
        self._waiting: dict[K, _Retry] = {}
        self._serial = 0
        #: (due, serial, key) of keys whose back-off is not over.
        self._early: list[tuple[float, int, K]] = []
        #: (failures, -due, serial, key) of keys that are due.
        self._due: list[tuple[int, float, int, K]] = []
        #: (latest, serial, key) of keys that are due.
        self._latest: list[tuple[float, int, K]] = []

    @classmethod
    def default(cls) -> "Retries[K]":
        """Return retries with client-go's settings."""
        return cls(Backoff(), Bucket())

    def failed(self, key: K, now: float) -> float:
        """Schedule the retry of a failed key; return the remaining seconds of its own back-off."""
        seconds = self._backoff.failed(key, now)
        due = now + seconds
        known = self._waiting.get(key)
        if known is not None and known.due <= due:
            return seconds
        failures = self._backoff.failures(key)
        self._serial += 1
        self._waiting[key] = _Retry(self._serial, failures, due, due + self._patience.after(failures - 1))
        heapq.heappush(self._early, (due, self._serial, key))
        self._shrink()
        return seconds

    def due_at(self, key: K) -> float | None:
        """Return the time at which the back-off of a key ends; ``None`` if it waits for no retry."""
        waiting = self._waiting.get(key)
        return None if waiting is None else waiting.due

    def release(self, now: float) -> list[K]:
        """Return the keys to retry now, and remove them."""
        self._admit(now)
        released = []
        while (key := self._next_latest(now)) is not None:
            released.append(key)
        while (key := self._next_due(now)) is not None:
            released.append(key)
        return released

    def next_at(self, now: float) -> float | None:
        """Return the time at which ``release`` will next have something to do."""
        self._drop_stale()
        times = [heap[0][0] for heap in (self._early, self._latest) if heap]
        if self._due:
            times.append(now if self._bucket is None else self._bucket.next_at(now))
        return min(times, default=None)

    def forget(self, key: K) -> None:
        """Forget the failures of a key; a scheduled retry stays."""
        self._backoff.forget(key)

    def failures(self, key: K) -> int:
        """Return the failures of a key since it was last forgotten."""
        return self._backoff.failures(key)

    def clear(self) -> None:
        """Drop all scheduled retries."""
        self._waiting.clear()
        self._drop_stale()

    def __len__(self) -> int:
        return len(self._waiting)

    def __contains__(self, key: K) -> bool:
        return key in self._waiting

    def _admit(self, now: float) -> None:
        """Move the keys whose back-off is over to those that are due."""
        while self._early and self._early[0][0] <= now:
            _, serial, key = heapq.heappop(self._early)
            if (retry := self._current(key, serial)) is not None:
                heapq.heappush(self._due, (retry.failures, -retry.due, serial, key))
                heapq.heappush(self._latest, (retry.latest, serial, key))

    def _next_latest(self, now: float) -> K | None:
        while self._latest and self._latest[0][0] <= now:
            _, serial, key = heapq.heappop(self._latest)
            if self._current(key, serial) is not None:
                del self._waiting[key]
                return key
        return None

    def _next_due(self, now: float) -> K | None:
        self._drop_stale()
        if not self._due or (self._bucket is not None and not self._bucket.try_take(now)):
            return None
        key = heapq.heappop(self._due)[-1]
        del self._waiting[key]
        return key

    def _current(self, key: K, serial: int) -> _Retry | None:
        retry = self._waiting.get(key)
        return retry if retry is not None and retry.serial == serial else None

    def _drop_stale(self) -> None:
        """Drop stale entries from the top of the heaps."""
        heaps: tuple[list[Any], ...] = (self._early, self._due, self._latest)
        for heap in heaps:
            while heap and self._current(heap[0][-1], heap[0][-2]) is None:
                heapq.heappop(heap)

    def _shrink(self) -> None:
        """Drop stale entries once they are the majority: a key that left one heap is still in another."""
        if len(self._latest) > 2 * len(self._waiting) + 64:
            self._latest = [entry for entry in self._latest if self._current(entry[-1], entry[-2]) is not None]
            heapq.heapify(self._latest)

    def __repr__(self) -> str:
        return f"<Retries waiting={len(self._waiting)}>"
