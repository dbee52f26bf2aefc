"""Reconciled objects that wait for another object to appear or change (``Blocked``).

A kind that the controller watches wakes them through its cache. A kind of ``waits_for`` gets a watch of that one
object, without its content, for as long as something waits for it. For any other object there is only the recheck of
``Blocked``.

What cannot be known is what the run saw: the object may have appeared or changed between its read and the registration
here. So a wait that finds an existing object wakes at once; every later change wakes as long as the wait lasts.
"""

from collections.abc import Callable, Collection

from msgspec import Struct

from steersman.controller.keys.expectations import Target
from steersman.controller.reports.causes import Cause, cause_of
from steersman.informer.changes import Added, Change
from steersman.informer.informer import Selection
from steersman.informer.informers import Following, Informers
from steersman.informer.store import Store
from steersman.objects.identity import ApiResource, ObjectKey
from steersman.objects.resource import KubeObject, resource_of

#: Watches of single objects that one controller may have; further waits rely on their recheck.
MAX_WATCHES = 64


class _Awaited(Struct):
    """An object that is waited for."""

    keys: dict[ObjectKey, None]
    #: The watch of this one object; ``None`` for a kind that the controller watches, or if there is no watch.
    following: Following | None = None


class Waits:
    """Which keys wait for which object; one object for each key."""

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
        #: Kinds that single objects may be watched of.
        self._kinds = frozenset(kinds)
        #: Invariant: a key is in ``_targets`` if and only if it is among the keys of that target in ``_awaited``.
        self._targets: dict[ObjectKey, Target] = {}
        self._awaited: dict[Target, _Awaited] = {}

    def wait(self, key: ObjectKey, kind: type[KubeObject], awaited: ObjectKey, cache: Store | None) -> bool:
        """Let a key wait for an object, instead of for any other; return whether a change of it will wake the key.

        ``cache`` is the store of a watched kind that shows the object.
        """
        resource = resource_of(kind)
        target = Target(resource.gvk, awaited)
        if self._targets.get(key) != target:
            self.forget(key)
            self._targets[key] = target
            known = self._awaited.get(target)
            if known is None:
                known = self._awaited[target] = _Awaited({})
                if cache is None and kind in self._kinds:
                    known.following = self._follow(resource, target)
            known.keys[key] = None
            self._catch_up(key, target, cache, known.following)
        return cache is not None or self._awaited[target].following is not None

    def observe(self, target: Target, change: Change) -> None:
        """Wake the keys that wait for an object that changed."""
        known = self._awaited.get(target)
        if known is not None:
            cause = cause_of(target.gvk.kind, change)
            for key in list(known.keys):
                self._wake(key, cause)

    def forget(self, key: ObjectKey) -> None:
        """Wait for nothing any more on behalf of a key."""
        target = self._targets.pop(key, None)
        if target is None:
            return
        known = self._awaited[target]
        del known.keys[key]
        if not known.keys:
            del self._awaited[target]
            if known.following is not None:
                known.following.end()

    @property
    def backlog(self) -> int:
        """Number of changes of watched single objects that were not delivered yet."""
        followings = (known.following for known in self._awaited.values())
        return sum(following.subscription.backlog for following in followings if following is not None)

    def __len__(self) -> int:
        return len(self._targets)

    def __repr__(self) -> str:
        return f"<Waits of {self._name}: {len(self._targets)} for {len(self._awaited)} objects>"

    def _follow(self, resource: ApiResource, target: Target) -> Following | None:
        if sum(known.following is not None for known in self._awaited.values()) >= MAX_WATCHES:
            return None
        selection = Selection(
            namespaces=(target.key.namespace,) if target.key.namespace else (),
            field_selector=f"metadata.name={target.key.name}",
            metadata_only=True,
        )
        return self._informers.follow(
            resource, lambda change: self.observe(target, change), selection, name=f"{self._name}/{target}"
        )

    def _catch_up(self, key: ObjectKey, target: Target, cache: Store | None, following: Following | None) -> None:
        """Wake a key whose object exists already: it may have appeared after the run looked for it."""
        store = following.informer.store if following is not None else cache
        record = store.get(target.key) if store is not None else None
        if record is not None:
            self._wake(key, cause_of(target.gvk.kind, Added(record)))
