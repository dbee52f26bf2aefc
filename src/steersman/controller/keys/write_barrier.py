"""Read your own writes: a key does not run again until the caches show what its last run wrote.

Without it a run that follows quickly reads a cache from before its own writes: it creates a child a second time, or
repeats an update on an old version. Only the watch changes a cache, the answers of the server never do; so the barrier
compares the version that a write returned with the version that the cache has.

Order::

    run writes ──▶ expect (in KeyState.unseen) ──▶ key is queued ──▶ hold ──▶ cache shows the last write ──▶ released
                                                                      │
                                                                      ├─ half of the time limit ──▶ watches are doubted
                                                                      └─ time limit ──▶ released, and reported

1. A write is registered while the run still works, before its key can be queued again by the event of that write.
2. The cache may be faster than the answer of the server: a write that the cache shows already is not waited for.
3. The worker calls ``hold`` with a key before it runs. A held key leaves the queue; its requests, with their causes and
   priorities, are put back when the last of its writes is seen.

What the barrier cannot know: whether an event is still to come. The watch may be behind, or dead while its connection
and its server live. So after half of the time the watches of the missing objects are doubted: a quiet one is replaced,
and the new one brings what the old one missed. A server whose watches do not work at all would hold a key forever,
hence the time limit; after it the key runs with the cache as it is. The deletion of an object ends every wait for it,
because its earlier versions cannot be seen any more.

Invariant: ``by_target`` contains exactly the targets of ``KeyState.unseen``, for each the states that wait for it.
"""

from collections.abc import Callable, Collection

from steersman.clock import Clock
from steersman.controller.keys.key_state import HeldKey, KeyState, ReconcileRequest
from steersman.controller.reports.writes import Target, Write
from steersman.informer.changes import Change, Deleted, record_of
from steersman.informer.store import Store
from steersman.objects.identity import ObjectKey


class Expectations:
    """The writes that caches do not show yet. Pure: it compares writes with stores and waits for nothing."""

    def __init__(self) -> None:
        #: The states that wait for each object, by their keys.
        self.by_target: dict[Target, dict[ObjectKey, KeyState]] = {}

    def expect(self, state: KeyState, target: Target, write: Write, store: Store) -> None:
        """Wait until the store has a write; a later write of the same object replaces an earlier one."""
        if _shows(store, target.key, write):
            self._remove(state, target)
            return
        state.unseen[target] = write
        self.by_target.setdefault(target, {})[state.key] = state

    def observe(self, target: Target, store: Store, *, deleted_uid: str = "") -> list[KeyState]:
        """Compare again after an object changed in the store; return the states that wait for nothing more.

        ``deleted_uid`` is the uid of a deleted object: none of its versions can be seen any more.
        """
        states = self.by_target.get(target)
        if not states:
            return []
        free = []
        for state in list(states.values()):
            write = state.unseen[target]
            if write.uid == deleted_uid or _shows(store, target.key, write):
                self._remove(state, target)
                if not state.unseen:
                    free.append(state)
        return free

    def forget(self, state: KeyState) -> None:
        """Stop waiting for the writes of a key."""
        for target in list(state.unseen):
            self._remove(state, target)

    def __len__(self) -> int:
        return len(self.by_target)

    def _remove(self, state: KeyState, target: Target) -> None:
        state.unseen.pop(target, None)
        states = self.by_target.get(target)
        if states is not None:
            states.pop(state.key, None)
            if not states:
                del self.by_target[target]


def _shows(store: Store, key: ObjectKey, write: Write) -> bool:
    if write.version:
        return store.has_seen(key, write.uid, write.version)
    record = store.get(key)
    return record is None or record.uid != write.uid or (record.is_deleting and not write.is_end)


class WriteBarrier:
    """Hold keys back while the caches do not show their writes, each for at most ``seconds``.

    ``release`` puts a request back into the queue. ``on_late`` and ``on_expired`` are called with the objects that are
    not seen after half of the time, and after all of it.
    """

    def __init__(
        self,
        clock: Clock,
        seconds: float,
        *,
        release: Callable[[ReconcileRequest], None],
        on_late: Callable[[list[Target]], None],
        on_expired: Callable[[ObjectKey, list[Target]], None],
    ) -> None:
        self._clock = clock
        self._seconds = seconds
        self._release = release
        self._on_late = on_late
        self._on_expired = on_expired
        self._expectations = Expectations()
        #: Objects whose writes are not seen yet. Often empty: then no change of a cache needs to be observed.
        self.unseen: Collection[Target] = self._expectations.by_target
        #: The states with a ``held`` key.
        self._held: dict[ObjectKey, KeyState] = {}

    def wrote(self, state: KeyState, target: Target, write: Write, store: Store) -> None:
        """Register a write of a run of this key."""
        self._expectations.expect(state, target, write, store)

    def observe(self, target: Target, change: Change, store: Store) -> None:
        """Release the keys that waited only for this change of a cache."""
        deleted_uid = record_of(change).uid if isinstance(change, Deleted) else ""
        for state in self._expectations.observe(target, store, deleted_uid=deleted_uid):
            self._let_go(state)

    def hold(self, state: KeyState, request: ReconcileRequest) -> bool:
        """Hold a key back if its writes are not seen yet; return whether it is held."""
        if not state.unseen:
            return False
        if state.held is None:
            timer = self._clock.call_later(self._seconds / 2, lambda: self._doubt(state))
            state.held = HeldKey([request], timer)
            self._held[state.key] = state
        else:
            state.held.requests.append(request)
        return True

    def forget(self, state: KeyState) -> None:
        """Stop waiting for the writes of a key, and release it."""
        self._expectations.forget(state)
        self._let_go(state)

    def close(self) -> None:
        """Stop all timers and release nothing."""
        for state in self._held.values():
            if state.held is not None:
                state.held.timer.cancel()
                state.held = None
        self._held.clear()

    def __len__(self) -> int:
        return len(self._held)

    def _let_go(self, state: KeyState) -> None:
        held, state.held = state.held, None
        if held is not None:
            del self._held[state.key]
            held.timer.cancel()
            for request in held.requests:
                self._release(request)

    def _doubt(self, state: KeyState) -> None:
        if state.held is not None:
            state.held.timer = self._clock.call_later(self._seconds / 2, lambda: self._expire(state))
            self._on_late(list(state.unseen))

    def _expire(self, state: KeyState) -> None:
        missing = list(state.unseen)
        self.forget(state)
        self._on_expired(state.key, missing)
