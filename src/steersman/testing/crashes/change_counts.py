"""`ChangeCounts`: how often each object was created, updated and deleted in a run of a scenario.

Two runs may end in the same state although one of them created an object twice, or deleted one that was in use. Creates
and deletes are counted as the server carried them out. An update counts if it changed more than the status, versions
and times: a status reports intermediate states, and a restarted operator may see different ones. A write that changes
nothing is not counted.

Nor is a child that was created after its owner was deleted. The events of two kinds reach an operator in any order, so
it may see that the child is gone before it sees that the owner is; what it then creates is garbage at once, whether or
not there was a crash.
"""

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Literal, TypeAlias

from steersman.apiserver.server import ApiServer
from steersman.apiserver.storage.history import Event
from steersman.json_types import JsonObject
from steersman.testing.crashes.end_state import LEFT_OUT, Normalise, Placeholders

Verb: TypeAlias = Literal["created", "updated", "deleted"]
#: The number of writes by verb and object; a generated name is shown as ``web-*``.
Counts: TypeAlias = Mapping[tuple[Verb, str], int]

_VERBS: dict[str, Verb] = {"ADDED": "created", "MODIFIED": "updated", "DELETED": "deleted"}
#: Metadata that follows from other changes.
_CONSEQUENCES = frozenset({"generation", "managedFields", "resourceVersion"})


class ChangeCounts:
    """Counts the writes that a server carries out after this counter was created."""

    def __init__(self, server: ApiServer, normalise: Normalise) -> None:
        self._normalise = normalise
        self._events: list[Event] = []
        server.objects.observers.append(self._note)

    def __repr__(self) -> str:
        return f"<ChangeCounts events={len(self._events)}>"

    def _note(self, event: Event) -> None:
        if event.resource not in LEFT_OUT:
            self._events.append(event)

    def counts(self) -> Counts:
        """Return the counts so far."""
        last = {event.record.uid: event.record for event in self._events}
        placeholders = Placeholders([record.decode() for record in last.values()])
        counted: Counter[tuple[Verb, str]] = Counter()
        too_late = self._created_too_late()
        for event in self._events:
            if event.record.uid in too_late:
                continue
            document = self._normalise(event.record.decode())
            if document is None or (event.type == "MODIFIED" and not self._is_update(event, document, placeholders)):
                continue
            metadata = document["metadata"]
            place = f"{metadata['namespace']}/" if metadata.get("namespace") else ""
            counted[_VERBS[event.type], f"{document['kind']} {place}{placeholders.replace_text(metadata['name'])}"] += 1
        return counted

    def _created_too_late(self) -> set[str]:
        """Return the uids of objects all of whose owners were deleted before they were created."""
        deleted: set[str] = set()
        found: set[str] = set()
        for event in self._events:
            if event.type == "DELETED":
                deleted.add(event.record.uid)
            elif event.type == "ADDED":
                owners = {owner["uid"] for owner in event.record.decode()["metadata"].get("ownerReferences") or ()}
                if owners and owners <= deleted:
                    found.add(event.record.uid)
        return found

    def _is_update(self, event: Event, document: JsonObject, placeholders: Placeholders) -> bool:
        before = self._normalise(event.previous.decode()) if event.previous is not None else None
        return before is None or placeholders.replace(_intent(before)) != placeholders.replace(_intent(document))


def _intent(document: JsonObject) -> JsonObject:
    """Return an object without its status and without what follows from changes."""
    metadata = {key: value for key, value in document["metadata"].items() if key not in _CONSEQUENCES}
    return {**{key: value for key, value in document.items() if key != "status"}, "metadata": metadata}


def excess(expected: Counts, found: Counts, verbs: frozenset[Verb] = frozenset(_VERBS.values())) -> Iterator[str]:
    """Yield what happened more often than expected. Less often is harmless: where it matters, the end states differ."""
    for (verb, name), count in sorted(found.items()):
        wanted = expected.get((verb, name), 0)
        if verb in verbs and count > wanted:
            yield f"{name} was {verb} {_times(count)}, without a crash {_times(wanted)}"


def _times(count: int) -> str:
    return {0: "never", 1: "once", 2: "twice"}.get(count, f"{count} times")
