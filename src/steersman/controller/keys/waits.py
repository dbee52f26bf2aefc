"""Keys that wait for another object to appear or change (``Blocked``).

A kind that the controller watches wakes them through its cache. A kind of ``waits_for`` gets a watch of that one
object, without its content, for as long as a key waits for it. For any other object only the recheck of ``Blocked`` is
left.

What cannot be known is what the run saw: the object may have appeared or changed between its read and the registration
here. So a wait for an object that exists wakes at once; every later change wakes as long as the wait lasts. A run that
says which version it saw (``NotReady``) is woken only by a newer one, or by the deletion.

Invariant: ``KeyState.awaited`` is a target if and only if that state is among the waiting states of the target.
"""

from collections.abc import Callable, Collection

from msgspec import Struct

from steersman.controller.keys.key_state import KeyState
from steersman.controller.reports.causes import Cause, cause_of
from steersman.controller.reports.writes import Target
from steersman.informer.changes import Added, Change, Deleted
from steersman.informer.informer import Selection
from steersman.informer.informers import InformerHandle, Informers
from steersman.informer.record import Record
from steersman.informer.store import Store, is_newer
from steersman.objects.identity import ApiResource, ObjectKey
from steersman.objects.resource import KubeObject, resource_of

#: Watches of single objects that one controller may have; further waits rely on their recheck.
MAX_WATCHES = 64


class _AwaitedObject(Struct):
    """An object that keys wait for."""

    #: The waiting states, with the version of the object that each has seen; empty if that is not known.
    states: dict[ObjectKey, tuple[KeyState, str]]
    #: The watch of this one object; ``None`` if the controller watches its kind, or if there is no watch.
    handle: InformerHandle | None = None


class Waits:
    """Which keys wait for which object; each key waits for at most one."""

    def __init__(
        self,
        informers: Informers,
        name: str,
        wake: Callable[[ObjectKey, Cause], None],
        kinds: Collection[type[KubeObject]] = (),
    ) -> None:
        self._informers = informers
        self._name = name
        self._wake = wake
        #: Kinds of which single objects may be watched.
        self._kinds = frozenset(kinds)
        self._awaited: dict[Target, _AwaitedObject] = {}

    def wait(
        self, state: KeyState, kind: type[KubeObject], awaited: ObjectKey, cache: Store | None, seen: str = ""
    ) -> bool:
        """Wait for an object instead of any other; return whether a change of it will wake the key.

        ``cache`` is the store of a watched kind that shows the object, ``seen`` the version of it that the run saw.
        """
        resource = resource_of(kind)
        target = Target(resource.gvk, awaited)
        if state.awaited != target:
            self.forget(state)
            state.awaited = target
            known = self._awaited.get(target)
            if known is None:
                known = self._awaited[target] = _AwaitedObject({})
                if cache is None and kind in self._kinds:
                    known.handle = self._follow(resource, target)
            known.states[state.key] = (state, seen)
            self._catch_up(state.key, target, cache, known)
        elif seen:
            known = self._awaited[target]
            known.states[state.key] = (state, seen)
            self._catch_up(state.key, target, cache, known)
        return cache is not None or self._awaited[target].handle is not None

    def observe(self, target: Target, change: Change) -> None:
        """Wake the keys that wait for an object that changed."""
        known = self._awaited.get(target)
        if known is not None:
            cause = cause_of(target.gvk, change)
            for key, (_, seen) in list(known.states.items()):
                if isinstance(change, Deleted) or _is_news(change.new, seen):
                    self._wake(key, cause)

    def forget(self, state: KeyState) -> None:
        """Stop waiting on behalf of a key."""
        target, state.awaited = state.awaited, None
        if target is None:
            return
        known = self._awaited[target]
        del known.states[state.key]
        if not known.states:
            del self._awaited[target]
            if known.handle is not None:
                known.handle.end()

    @property
    def backlog(self) -> int:
        """Number of changes of watched single objects that were not delivered yet."""
        handles = (known.handle for known in self._awaited.values())
        return sum(handle.subscription.backlog for handle in handles if handle is not None)

    def __len__(self) -> int:
        return sum(len(known.states) for known in self._awaited.values())

    def __bool__(self) -> bool:
        return bool(self._awaited)

    def __repr__(self) -> str:
        return f"<Waits of {self._name}: {len(self)} for {len(self._awaited)} objects>"

    def _follow(self, resource: ApiResource, target: Target) -> InformerHandle | None:
        if sum(known.handle is not None for known in self._awaited.values()) >= MAX_WATCHES:
            return None
        selection = Selection(
            namespaces=(target.key.namespace,) if target.key.namespace else (),
            field_selector=f"metadata.name={target.key.name}",
            metadata_only=True,
        )
        return self._informers.follow(
            resource, lambda change: self.observe(target, change), selection, name=f"{self._name}/{target}"
        )

    def _catch_up(self, key: ObjectKey, target: Target, cache: Store | None, known: _AwaitedObject) -> None:
        """Wake a key whose object exists already: it may have appeared after the run looked for it."""
        store = known.handle.informer.store if known.handle is not None else cache
        record = store.get(target.key) if store is not None else None
        if record is not None and _is_news(record, known.states[key][1]):
            self._wake(key, cause_of(target.gvk, Added(record)))


def _is_news(record: Record, seen: str) -> bool:
    """Return whether an object may differ from the version that a run saw."""
    return not seen or is_newer(record.resource_version, seen)
