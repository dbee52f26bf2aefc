"""`GarbageCollector`: deletes objects without existing owners, and carries out the propagation policy of deletes.

The store is the graph: it knows the dependents of every uid. What is kept here beside it are the owners that wait for
their dependents, the owners that are known to be gone, and the objects whose owners are of a kind that is not served.
"""

from enum import Enum

from steersman.apiserver.background.definitions import DEFINITIONS
from steersman.apiserver.background.internal_client import Found, InternalClient, Place, place_of
from steersman.apiserver.background.tasks import BackgroundTasks
from steersman.apiserver.storage.history import Event
from steersman.json_types import JsonObject

FOREGROUND = "foregroundDeletion"
ORPHAN = "orphan"
#: Events are never collected: they expire.
_IGNORED = frozenset({"events"})
#: How many gone owners are remembered; older ones are looked up again.
_GONE = 10_000


class _Owner(Enum):
    """The state of an owner."""

    SOLID = "there"
    DANGLING = "gone"
    WAITING = "going, after its dependents"
    UNKNOWN = "of a kind that is not served"


class GarbageCollector:
    """Deletes objects whose owners are gone, and removes owners that waited for their dependents."""

    def __init__(self, client: InternalClient, tasks: BackgroundTasks) -> None:
        self._client = client
        self._tasks = tasks
        self._store = client.objects.store
        #: Owners that wait for their dependents, by uid.
        self._waiting: dict[str, Place] = {}
        #: Uids of owners that were removed while an object referred to them, oldest first.
        self._gone: dict[str, None] = {}
        #: Objects with an owner of an unknown kind, checked again when definitions change.
        self._unresolved: dict[Place, None] = {}

    def start(self) -> None:
        """Check all objects with owners or finalizers."""
        self._waiting.clear()
        self._unresolved.clear()
        # After a snapshot was restored, an owner may exist again.
        self._gone.clear()
        for resource in self._store.resources():
            if resource in _IGNORED:
                continue
            for record in self._client.objects.records_of(resource):
                place = Place(resource, record.namespace, record.name)
                if record.is_deleting:
                    self._look_at_deleting(place)
                elif record.owner_uids:
                    self._look_at(place)

    def observe(self, event: Event) -> None:
        """Note a write."""
        if event.resource in _IGNORED:
            return
        record, previous = event.record, event.previous
        if event.type == "DELETED":
            self._observe_end(event)
        elif record.is_deleting:
            self._look_at_deleting(place_of(event))
        elif record.owner_uids and (previous is None or previous.owner_uids != record.owner_uids):
            self._look_at(place_of(event))
        if previous is not None and previous.owner_uids and self._waiting:
            self._remind(previous.owner_uids)
        if event.resource == DEFINITIONS:
            self._look_at_unresolved()

    def _remind(self, owner_uids: tuple[str, ...]) -> None:
        """Check the owners that wait for the written object."""
        for uid in owner_uids:
            if (owner := self._waiting.get(uid)) is not None:
                self._look_at(owner)

    def _look_at_unresolved(self) -> None:
        unresolved, self._unresolved = self._unresolved, {}
        for place in unresolved:
            self._look_at(place)

    def _observe_end(self, event: Event) -> None:
        uid = event.record.uid
        self._waiting.pop(uid, None)
        self._unresolved.pop(place_of(event), None)
        dependents = self._dependents(uid)
        if dependents:
            self._gone[uid] = None
            if len(self._gone) > _GONE:
                del self._gone[next(iter(self._gone))]
        for place in dependents:
            self._look_at(place)

    def _dependents(self, uid: str) -> list[Place]:
        found = self._store.dependents_of(uid)
        return [Place(name, record.namespace, record.name) for name, record in found if name not in _IGNORED]

    def _look_at(self, place: Place) -> None:
        self._tasks.add(("garbage", place), lambda: self._attempt(place))

    def _look_at_deleting(self, place: Place) -> None:
        self._tasks.add(("deleting", place), lambda: self._begin_end(place))

    def _begin_end(self, place: Place) -> None:
        """Carry out the finalizers of the collector on an object that is being deleted."""
        found = self._client.find(place)
        if found is None:
            return
        if ORPHAN in found.finalizers:
            self._orphan(found)
        elif FOREGROUND in found.finalizers:
            self._waiting[found.record.uid] = place
            for dependent in self._dependents(found.record.uid):
                self._look_at(dependent)
            self._look_at(place)

    def _orphan(self, found: Found) -> None:
        """Remove an owner from its dependents, then remove its finalizer."""
        uid = found.record.uid
        for place in self._dependents(uid):
            dependent = self._client.find(place)
            if dependent is not None:
                _drop_owners(dependent, {uid})
                self._client.update(dependent)
        self._drop_finalizer(found, ORPHAN)

    def _drop_finalizer(self, found: Found, name: str) -> None:
        kept = [finalizer for finalizer in found.finalizers if finalizer != name]
        if kept:
            found.metadata["finalizers"] = kept
        else:
            found.metadata.pop("finalizers", None)
        self._client.update(found)

    def _attempt(self, place: Place) -> None:
        """Delete an object, shorten its list of owners, or keep it."""
        found = self._client.find(place)
        if found is None:
            return
        if found.record.is_deleting:
            if FOREGROUND in found.finalizers:
                self._finish_foreground(found)
            return
        owners = self._owners(found, place)
        if owners is None:
            return
        solid = _of(owners, _Owner.SOLID)
        others = _of(owners, _Owner.DANGLING) | _of(owners, _Owner.WAITING)
        if solid:
            if others:
                _drop_owners(found, others)
                self._client.update(found)
        elif others:
            self._collect(found, place, is_awaited=bool(_of(owners, _Owner.WAITING)))

    def _collect(self, found: Found, place: Place, *, is_awaited: bool) -> None:
        """Delete an object whose owners are gone or wait for its deletion."""
        dependents = self._dependents(found.record.uid)
        if is_awaited and dependents:
            if any(self._is_waiting(dependent) for dependent in dependents):
                # Owners in a circle would wait for each other forever.
                for owner in found.metadata["ownerReferences"]:
                    owner["blockOwnerDeletion"] = False
                self._client.update(found)
                found = self._client.find(place) or found
            self._client.delete(found, "Foreground")
            return
        policies = {ORPHAN: "Orphan", FOREGROUND: "Foreground"}
        named = [policies[name] for name in found.finalizers if name in policies]
        self._client.delete(found, named[0] if named else "Background")

    def _is_waiting(self, place: Place) -> bool:
        found = self._client.find(place)
        return found is not None and found.record.is_deleting and FOREGROUND in found.finalizers

    def _finish_foreground(self, found: Found) -> None:
        """Remove the finalizer of an owner that no dependent blocks any more."""
        uid = found.record.uid
        for place in self._dependents(uid):
            dependent = self._client.find(place)
            if dependent is not None and any(
                owner["uid"] == uid and owner.get("blockOwnerDeletion")
                for owner in dependent.metadata["ownerReferences"]
            ):
                return
        self._waiting.pop(uid, None)
        self._drop_finalizer(found, FOREGROUND)

    def _owners(self, found: Found, place: Place) -> dict[str, _Owner] | None:
        """Return the states of an object's owners; ``None`` if one of them is unknown."""
        states: dict[str, _Owner] = {}
        for reference in found.metadata.get("ownerReferences") or ():
            state = self._state(reference, found)
            if state is _Owner.UNKNOWN:
                self._unresolved[place] = None
                return None
            states[reference["uid"]] = state
        return states

    def _state(self, reference: JsonObject, found: Found) -> _Owner:
        uid = reference["uid"]
        if uid in self._gone:
            return _Owner.DANGLING
        group, _, version = reference["apiVersion"].rpartition("/")
        served = self._client.catalog.find_kind(group, version, reference["kind"])
        if served is None or (served.namespaced and not found.served.namespaced):
            return _Owner.UNKNOWN
        namespace = found.record.namespace if served.namespaced else ""
        owner = self._client.find(Place(served.stored_as, namespace, reference["name"]))
        if owner is None or owner.record.uid != uid:
            return _Owner.DANGLING
        if owner.record.is_deleting and FOREGROUND in owner.finalizers:
            return _Owner.WAITING
        return _Owner.SOLID


def _of(owners: dict[str, _Owner], state: _Owner) -> set[str]:
    return {uid for uid, found in owners.items() if found is state}


def _drop_owners(found: Found, uids: set[str]) -> None:
    kept = [owner for owner in found.metadata.get("ownerReferences") or () if owner["uid"] not in uids]
    if kept:
        found.metadata["ownerReferences"] = kept
    else:
        found.metadata.pop("ownerReferences", None)
