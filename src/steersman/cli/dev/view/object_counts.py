"""How many objects of each resource there are, and how many of them are ready, counted as they are written."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from steersman.cli.dev.view.readiness import is_ready

if TYPE_CHECKING:
    from steersman.apiserver.resources.object_store import ObjectStore
    from steersman.apiserver.storage.history import Event


@dataclass(frozen=True, slots=True)
class Count:
    """Objects of one resource; ``ready`` of the ``judged`` ones are ready; the readiness of the others is unknown."""

    total: int = 0
    judged: int = 0
    ready: int = 0

    def __str__(self) -> str:
        return f"{self.ready}/{self.total}" if self.judged else str(self.total)


class ObjectCounts:
    """Follows a server's writes. A resource is read in full when it is first asked for, and followed from then on."""

    def __init__(self, objects: "ObjectStore", on_change: Callable[[], None]) -> None:
        self._objects = objects
        self._on_change = on_change
        self._known: dict[str, dict[str, bool | None]] = {}
        objects.observers.append(self._observe)

    def count(self, resource: str) -> Count:
        """Return the number of objects of a resource (``pods``, ``deployments.apps``)."""
        known = self._known.get(resource)
        if known is None:
            known = {record.path: is_ready(record.decode()) for record in self._objects.records_of(resource)}
            self._known[resource] = known
        return _count(known.values())

    def _observe(self, event: "Event") -> None:
        known = self._known.get(event.resource)
        if known is None:
            return
        if event.type == "DELETED":
            known.pop(event.record.path, None)
        else:
            known[event.record.path] = is_ready(event.record.decode())
        self._on_change()


def _count(states: Iterable[bool | None]) -> Count:
    listed = list(states)
    return Count(len(listed), sum(state is not None for state in listed), sum(state is True for state in listed))
