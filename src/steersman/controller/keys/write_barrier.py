"""Keys that are held back until the caches have seen what their last run wrote, each with a time limit."""

from collections.abc import Callable
from typing import TypeAlias

from msgspec import Struct

from steersman.clock import Clock, Timer
from steersman.controller.keys.expectations import Expectations, Target, Write
from steersman.controller.reports.causes import Cause
from steersman.informer.changes import Change, Deleted, record_of
from steersman.informer.informer import Informer
from steersman.objects.identity import ObjectKey
from steersman.objects.resource import KubeObject
from steersman.workqueue.pending import Taken

#: A key as it was taken from the queue, to be put back.
Wanted: TypeAlias = Taken[ObjectKey, Cause]


class _Held(Struct):
    wanted: list[Wanted]
    timer: Timer


class Holds:
    """Expectations, and the keys that wait for them. ``release`` puts a key back into the queue."""

    def __init__(self, clock: Clock, seconds: float, release: Callable[[Wanted], None]) -> None:
        self._clock = clock
        self._seconds = seconds
        self._release = release
        self._expectations = Expectations()
        self._held: dict[ObjectKey, _Held] = {}
        #: Called with the objects that were waited for in vain.
        self.on_expired: Callable[[ObjectKey, list[Target]], None] = lambda _key, _targets: None

    def wrote(self, key: ObjectKey, target: Target, write: Write, informer: Informer[KubeObject]) -> None:
        """Note what a run of a key wrote."""
        self._expectations.expect(key, target, write, informer.store)

    def observe(self, target: Target, change: Change, informer: Informer[KubeObject]) -> None:
        """Note that a cache has seen a change; let go whoever waited for nothing else."""
        if not self._expectations:
            return
        gone = record_of(change).uid if isinstance(change, Deleted) else ""
        for key in self._expectations.observe(target, informer.store, gone=gone):
            self._let_go(key)

    def hold(self, taken: Wanted) -> bool:
        """Keep a key back if it waits for something; answer whether that is so."""
        key = taken.key
        if key not in self._expectations:
            return False
        held = self._held.get(key)
        if held is None:
            timer = self._clock.call_later(self._seconds, lambda: self._expire(key))
            self._held[key] = _Held([taken], timer)
        else:
            held.wanted.append(taken)
        return True

    def forget(self, key: ObjectKey) -> None:
        """Wait for nothing any more on behalf of a key."""
        self._expectations.forget(key)
        self._let_go(key)

    def close(self) -> None:
        """Stop all timers and put nothing back."""
        for held in self._held.values():
            held.timer.cancel()
        self._held.clear()

    def __len__(self) -> int:
        return len(self._held)

    def _let_go(self, key: ObjectKey) -> None:
        held = self._held.pop(key, None)
        if held is not None:
            held.timer.cancel()
            for taken in held.wanted:
                self._release(taken)

    def _expire(self, key: ObjectKey) -> None:
        missing = self._expectations.unmet(key)
        self.forget(key)
        self.on_expired(key, missing)
