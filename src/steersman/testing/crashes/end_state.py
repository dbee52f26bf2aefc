"""The objects of a cluster at the end of a run, as text that can be compared with another run of the same scenario.

Values that differ between any two runs are replaced by placeholders: uids, versions, times, and what the cluster
assigned (generated names, addresses, ports, tokens). A value is replaced wherever it occurs, such as an address in the
status of another object. Events are left out, because a crashed process loses those that it had not sent yet, and so
are leases, which describe processes.
"""

import difflib
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import TypeAlias

import msgspec

from steersman.apiserver.server import ApiServer
from steersman.apiserver.storage.record import Record
from steersman.json_types import JsonObject
from steersman.testing.crashes.assigned_values import assigned_values

#: Removes from an object what differs between runs for other reasons; ``None`` leaves the object out.
Normalise: TypeAlias = Callable[[JsonObject], JsonObject | None]

#: Resources that are not compared.
LEFT_OUT = frozenset({"events", "events.events.k8s.io", "leases.coordination.k8s.io"})
_UNCOMPARED = frozenset({"managedFields", "resourceVersion", "creationTimestamp"})
_UID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")
#: The first part of a uid, which names are often made with.
_UID_BEGIN = re.compile(r"(?<![0-9a-f])[0-9a-f]{8}(?![0-9a-f])")
#: The length of the shortest text that has a part of a uid or a time in it.
_SHORTEST = 8
_TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)")


def as_it_is(document: JsonObject) -> JsonObject:
    """Return the object unchanged."""
    return document


def versions_of(server: ApiServer) -> dict[str, int]:
    """Return the resource version of every object of a server, keyed by uid."""
    return {record.uid: record.version for record in records_of(server)}


def end_state(server: ApiServer, known: Mapping[str, int], normalise: Normalise = as_it_is) -> list[str]:
    """Return every object that was created or changed since ``known``, as text, in a stable order."""
    fresh = [record for record in records_of(server) if known.get(record.uid) != record.version]
    # Each object is decoded twice, because `normalise` may change it.
    documents = (normalise(record.decode()) for record in fresh)
    return normalised_texts(filter(None, documents), [record.decode() for record in fresh])


def normalised_texts(documents: Iterable[JsonObject], present: Iterable[JsonObject]) -> list[str]:
    """Return objects as text with placeholders; ``present`` are all objects that uids and names may refer to."""
    placeholders = Placeholders(present)
    return sorted(json_text(placeholders.replace(one)) for one in documents)


def json_text(document: object) -> str:
    """Return an object as indented text, with its keys in order."""
    return msgspec.json.format(msgspec.json.encode(document, order="sorted"), indent=2).decode()


def difference(expected: list[str], found: list[str]) -> str:
    """Return a diff of two end states; empty if they are equal."""
    lines = difflib.unified_diff(_lines(expected), _lines(found), "without a crash", "with it", lineterm="", n=6)
    return "\n".join(lines)


def _lines(objects: list[str]) -> list[str]:
    return [line for one in objects for line in one.splitlines()]


def records_of(server: ApiServer) -> Iterator[Record]:
    """Yield every object of a server whose end is compared."""
    store = server.objects.store
    for resource in store.resources():
        if resource not in LEFT_OUT:
            yield from store.list(resource).records


class Placeholders:
    """Replaces values that differ between runs by placeholders."""

    def __init__(self, present: Iterable[JsonObject]) -> None:
        present = list(present)
        self._assigned: dict[str, str] = {}
        self._numbers: dict[int, str] = {}
        self._uids: dict[str, str] = {}
        self._uid_begins: dict[str, str] = {}
        for document in present:
            metadata = document["metadata"]
            if metadata.get("generateName"):
                self._assigned[metadata["name"]] = f"{metadata['generateName']}*"
        self._pattern = self._compiled()
        for document in present:
            metadata = document["metadata"]
            name = f"{document['kind']} {self.replace_text(metadata['name'])}"
            self._uids[metadata["uid"]] = f"<uid of {name}>"
            self._uid_begins[metadata["uid"][:8]] = f"<begin of uid of {name}>"
            for value, field in assigned_values(document):
                self._assigned[str(value)] = f"<{field} of {name}>"
                if isinstance(value, int):
                    self._numbers[value] = f"<{field} of {name}>"
        self._pattern = self._compiled()

    def _compiled(self) -> re.Pattern[str] | None:
        values = "|".join(sorted(map(re.escape, self._assigned), key=len, reverse=True))
        return re.compile(rf"(?<![\w-])({values})(?![\w-])") if values else None

    def replace(self, value: object) -> object:
        """Return a JSON value with everything replaced that differs between runs."""
        match value:
            case str():
                return self.replace_text(value)
            case bool():
                return value
            case int():
                return self._numbers.get(value, value)
            case list():
                return [self.replace(item) for item in value]
            case dict():
                return {
                    self.replace_text(key): self.replace(item) for key, item in value.items() if key not in _UNCOMPARED
                }
            case _:
                return value

    def replace_text(self, text: str) -> str:
        """Return a text with everything replaced that differs between runs."""
        if self._pattern is not None:
            text = self._pattern.sub(lambda found: self._assigned[found[0]], text)
        if len(text) < _SHORTEST:
            return text
        if _TIME.fullmatch(text):
            return "<time>"
        text = _UID.sub(lambda found: self._uids.get(found[0], "<uid of a deleted object>"), text)
        return _UID_BEGIN.sub(lambda found: self._uid_begins.get(found[0], found[0]), text)
