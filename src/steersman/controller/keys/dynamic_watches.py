"""Watches that reconciled objects ask for at run time (``ctx.follow``), beyond the kinds that a reconciler declares.

Each run names all watches of its object. A watch that a successful run did not name ends; all of them end with the
object. After a failed run they stay, because it may not have got as far as naming them.
"""

from typing import Any

from msgspec.structs import replace

from steersman.controller.keys.key_state import ChangeHandler, DynamicWatch, KeyState, WatchedSelection
from steersman.informer.informer import Informer, Selection
from steersman.informer.informers import Informers
from steersman.objects.identity import ApiResource, ObjectKey


class DynamicWatches:
    """The dynamic watches of the objects of one controller."""

    def __init__(self, informers: Informers, name: str, namespaces: tuple[str, ...] = ()) -> None:
        self._informers = informers
        self._name = name
        #: The namespaces that the operator is limited to; they count where a selection names none.
        self._namespaces = namespaces
        #: The states that have watches.
        self._watching: dict[ObjectKey, KeyState] = {}

    def follow(
        self, state: KeyState, resource: ApiResource, selection: Selection, on_change: ChangeHandler
    ) -> Informer[Any]:
        """Watch a resource for an object; a watch that exists already only gets the new handler."""
        if state.watches is None:
            state.watches = {}
            self._watching[state.key] = state
        watch = state.watches.get((resource.gvk, selection))
        if watch is None:
            watch = state.watches[resource.gvk, selection] = DynamicWatch(on_change)
        watch.on_change = on_change
        if watch.handle is None:
            if resource.namespaced and not selection.namespaces:
                selection = replace(selection, namespaces=self._namespaces)
            name = f"{self._name}/{state.key}/{resource.plural}"
            watch.handle = self._informers.follow(resource, watch, selection, name=name)
        return watch.handle.informer

    def keep(self, state: KeyState, wanted: set[WatchedSelection]) -> None:
        """End the watches of an object that are not wanted any more."""
        if state.watches is None:
            return
        for watched in [watched for watched in state.watches if watched not in wanted]:
            handle = state.watches.pop(watched).handle
            if handle is not None:
                handle.end()
        if not state.watches:
            state.watches = None
            del self._watching[state.key]

    def forget(self, state: KeyState) -> None:
        """End all watches of an object."""
        self.keep(state, set())

    @property
    def backlog(self) -> int:
        """Number of changes that were not delivered yet."""
        return sum(
            watch.handle.subscription.backlog
            for state in self._watching.values()
            for watch in (state.watches or {}).values()
            if watch.handle is not None
        )

    def __repr__(self) -> str:
        return f"<DynamicWatches of {self._name}: {sum(len(state.watches or ()) for state in self._watching.values())}>"
