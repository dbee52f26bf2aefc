"""Read your own writes: what a reconcile wrote and the cache has not seen yet.

Pure: it compares what was written with what a store has, and holds a key back until they agree. It never puts answers
of the server into a store: only the watch does that.
"""

from typing import NamedTuple

from msgspec import Struct

from steersman.informer.store import Store
from steersman.objects.identity import GroupVersionKind, ObjectKey


class Target(NamedTuple):
    """One object that was written."""

    gvk: GroupVersionKind
    key: ObjectKey

    def __str__(self) -> str:
        return f"{self.gvk.kind} {self.key}"


class Write(Struct, frozen=True):
    """What a write left behind on the server."""

    uid: str
    #: The version that the write gave it; empty when its deletion was asked for.
    version: str
    #: Whether the write left nothing behind: the object is gone, and only its absence shows that.
    is_end: bool = False


class Expectations:
    """Writes by the key whose reconcile made them, until the store of their kind has them."""

    def __init__(self) -> None:
        #: Invariant: the two say the same, once by the reconciled key and once by what was written.
        self._by_owner: dict[ObjectKey, dict[Target, Write]] = {}
        self._by_target: dict[Target, dict[ObjectKey, None]] = {}

    def expect(self, owner: ObjectKey, target: Target, write: Write, store: Store) -> None:
        """Hold a key back until the store has a write; a later write of the same object replaces an earlier one."""
        if _has(store, target.key, write):
            self._drop(owner, target)
            return
        self._by_owner.setdefault(owner, {})[target] = write
        self._by_target.setdefault(target, {})[owner] = None

    def observe(self, target: Target, store: Store, *, gone: str = "") -> list[ObjectKey]:
        """Look again after an object changed in the store; give the keys that wait for nothing more.

        ``gone`` is its uid when it was deleted: nothing that was written to it can be seen any more.
        """
        owners = self._by_target.get(target)
        if not owners:
            return []
        free = []
        for owner in list(owners):
            write = self._by_owner[owner][target]
            if write.uid == gone or _has(store, target.key, write):
                self._drop(owner, target)
                if owner not in self._by_owner:
                    free.append(owner)
        return free

    def unmet(self, owner: ObjectKey) -> list[Target]:
        """Give the objects whose writes a key still waits to see."""
        return list(self._by_owner.get(owner, ()))

    def forget(self, owner: ObjectKey) -> None:
        """Wait for nothing any more on behalf of a key."""
        for target in self.unmet(owner):
            self._drop(owner, target)

    def __contains__(self, owner: ObjectKey) -> bool:
        return owner in self._by_owner

    def __len__(self) -> int:
        return len(self._by_owner)

    def _drop(self, owner: ObjectKey, target: Target) -> None:
        writes = self._by_owner.get(owner, {})
        writes.pop(target, None)
        if not writes:
            self._by_owner.pop(owner, None)
        owners = self._by_target.get(target, {})
        owners.pop(owner, None)
        if not owners:
            self._by_target.pop(target, None)


def _has(store: Store, key: ObjectKey, write: Write) -> bool:
    if write.version:
        return store.has_seen(key, write.uid, write.version)
    record = store.get(key)
    return record is None or record.uid != write.uid or (record.is_deleting and not write.is_end)
