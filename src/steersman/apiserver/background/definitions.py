"""`DefinitionCleaner`: a definition that waits for its last objects goes when they are gone."""

from collections.abc import Callable
from typing import Any

from steersman.apiserver.background.tasks import BackgroundTasks
from steersman.apiserver.resources.object_store import ObjectStore
from steersman.apiserver.resources.served_resource import ServedResource
from steersman.apiserver.storage.history import Event

Document = dict[str, Any]
DEFINITIONS = "customresourcedefinitions.apiextensions.k8s.io"


class DefinitionCleaner:
    """Looks at a definition that is to go whenever one of its objects went."""

    def __init__(
        self,
        objects: ObjectStore,
        served: ServedResource,
        tasks: BackgroundTasks,
        clean: Callable[[Document, Document], None],
    ) -> None:
        self._objects = objects
        self._served = served
        self._tasks = tasks
        #: Deletes what is left of a definition, given as it is and as it was.
        self._clean = clean
        self._terminating: set[str] = set()

    def start(self) -> None:
        """Look at every definition."""
        self._terminating.clear()
        for record in self._objects.records_of(DEFINITIONS):
            if record.is_deleting:
                self._terminating.add(record.name)
                self._look_at(record.name)

    def observe(self, event: Event) -> None:
        """Take note of a write."""
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
