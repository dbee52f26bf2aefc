"""What reconciled objects follow beyond the kinds that their reconciler declares: what is known only at run time.

An object says in each run what it follows. What a run that succeeded did not ask for any more ends, and all of it ends
with the object.
"""

from collections.abc import Callable
from typing import Any, TypeAlias

from msgspec.structs import replace

from steersman.informer.changes import Change
from steersman.informer.informer import Informer, Selection
from steersman.informer.informers import Following, Informers
from steersman.objects.identity import ApiResource, GroupVersionKind, ObjectKey

#: Told of each change of what is followed.
Told: TypeAlias = Callable[[Change], None]
#: What is followed.
Followed: TypeAlias = tuple[GroupVersionKind, Selection]


class _Ear:
    """Hears for an object; who listens may change while it hears."""

    def __init__(self, told: Told) -> None:
        self.told = told

    def __call__(self, change: Change) -> None:
        self.told(change)


class DynamicWatches:
    """Everything that the objects of one controller follow."""

    def __init__(self, informers: Informers, name: str, namespaces: tuple[str, ...] = ()) -> None:
        self._informers = informers
        self._name = name
        #: What an operator that is limited to some namespaces sees where none are named.
        self._namespaces = namespaces
        self._ears: dict[ObjectKey, dict[Followed, tuple[_Ear, Following]]] = {}

    def follow(self, key: ObjectKey, resource: ApiResource, selection: Selection, told: Told) -> Informer[Any]:
        """Follow for an object; if it does already, only who is told is changed."""
        ears = self._ears.setdefault(key, {})
        what = (resource.gvk, selection)
        known = ears.get(what)
        if known is None:
            ear = _Ear(told)
            if resource.namespaced and not selection.namespaces:
                selection = replace(selection, namespaces=self._namespaces)
            following = self._informers.follow(resource, ear, selection, name=f"{self._name}/{key}/{resource.plural}")
            known = ears[what] = (ear, following)
        known[0].told = told
        return known[1].informer

    def keep(self, key: ObjectKey, wanted: set[Followed]) -> None:
        """End what an object follows, but for what it still wants."""
        ears = self._ears.get(key)
        if ears is None:
            return
        for what in [what for what in ears if what not in wanted]:
            _, following = ears.pop(what)
            following.end()
        if not ears:
            del self._ears[key]

    @property
    def backlog(self) -> int:
        """How many changes wait to be told."""
        return sum(following.subscription.backlog for ears in self._ears.values() for _, following in ears.values())

    def __repr__(self) -> str:
        return f"<DynamicWatches of {self._name}: {sum(map(len, self._ears.values()))}>"
