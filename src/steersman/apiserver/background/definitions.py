"""`DefinitionCleaner`: removes a deleted definition after the last of its objects."""

from collections.abc import Callable

from steersman.apiserver.background.tasks import BackgroundTasks
from steersman.apiserver.resources.object_store import ObjectStore
from steersman.apiserver.resources.served_resource import ServedResource
from steersman.apiserver.storage.history import Event
from steersman.json_types import JsonObject

DEFINITIONS = "customresourcedefinitions.apiextensions.k8s.io"


class DefinitionCleaner:
    """Checks a definition that is being deleted whenever one of its objects is removed."""

    def __init__(
        self,
        objects: ObjectStore,
        served: ServedResource,
        tasks: BackgroundTasks,
        clean: Callable[[JsonObject, JsonObject], None],
    ) -> None:
        self._objects = objects
        self._served = served
        self._tasks = tasks
        #: Deletes what is left of a definition; called with its current and its former state.
        self._clean = clean
        self._terminating: set[str] = set()

    def start(self) -> None:
        """Check every definition."""
        self._terminating.clear()
        for record in self._objects.records_of(DEFINITIONS):
            if record.is_deleting:
                self._terminating.add(record.name)
                self._look_at(record.name)

    def observe(self, event: Event) -> None:
        """Note a write."""
        if event.resource == DEFINITIONS:
            if event.type == "DELETED":
                self._terminating.discard(event.record.name)
            elif event.record.is_deleting:
                self._terminating.add(event.record.name)
        elif event.type == "DELETED" and event.resource in self._terminating:
            self._look_at(event.resource)

    def _look_at(self, name: str) -> None:
        self._tasks.add(("definition", name), lambda: self._finish(name))

    def _finish(self, name: str) -> None:
        record = self._objects.get(self._served, "", name)
        if record is not None and record.is_deleting and not self._objects.store.count(name):
            crd = self._objects.document(self._served, record)
            self._clean(crd, crd)
