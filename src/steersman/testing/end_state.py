"""What a cluster holds in the end, told so that two runs of the same story can be compared.

What differs between any two runs is taken out: uids, versions, times, and what the cluster assigned: generated names,
addresses, ports, tokens. A value stands for its object wherever it is found, such as an address in the status of
another. Left out are events, because a process that ends takes those with it that it had not sent yet, and leases,
which tell of processes.
"""

import difflib
import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, TypeAlias

from steersman.apiserver.server import ApiServer
from steersman.apiserver.storage.record import Record
from steersman.testing.assigned_values import Document, assigned_values

#: Takes out of an object what differs between runs for reasons of its own; ``None`` leaves the object out.
Normalise: TypeAlias = Callable[[Document], Document | None]

#: Resources that are not compared.
LEFT_OUT = frozenset({"events", "events.events.k8s.io", "leases.coordination.k8s.io"})
_UNCOMPARED = frozenset({"managedFields", "resourceVersion", "creationTimestamp"})
_UID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")
#: What names are often made with: the first part of a uid.
_UID_BEGIN = re.compile(r"(?<![0-9a-f])[0-9a-f]{8}(?![0-9a-f])")
_TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)")


def as_it_is(document: Document) -> Document:
    """Take nothing more out."""
    return document


def versions_of(server: ApiServer) -> dict[str, int]:
    """Give the version of every object that a server has, by its uid."""
    return {record.uid: record.version for record in _records(server)}


def end_state(server: ApiServer, known: Mapping[str, int], normalise: Normalise = as_it_is) -> list[str]:
    """Tell every object that came or changed since ``known`` was true, as text, in an order that does not change."""
    fresh = [record for record in _records(server) if known.get(record.uid) != record.version]
    # Each is decoded twice: to normalise one may change it.
    documents = (normalise(record.decode()) for record in fresh)
    return told(filter(None, documents), [record.decode() for record in fresh])


def told(documents: Iterable[Document], present: Iterable[Document]) -> list[str]:
    """Tell objects without what differs between runs; ``present`` are all that uids and names may point at."""
    wording = Wording(present)
    return sorted(json.dumps(wording.of(one), indent=2, sort_keys=True, ensure_ascii=False) for one in documents)


def difference(expected: list[str], found: list[str]) -> str:
    """Tell line by line where two ends differ; empty if they do not."""
    lines = difflib.unified_diff(_lines(expected), _lines(found), "without a crash", "with it", lineterm="", n=6)
    return "\n".join(lines)


def _lines(objects: list[str]) -> list[str]:
    return [line for one in objects for line in one.splitlines()]


def _records(server: ApiServer) -> Iterator[Record]:
    store = server.objects.store
    for resource in store.resources():
        if resource not in LEFT_OUT:
            yield from store.list(resource).records


class Wording:
    """How values are told that no two runs share."""

    def __init__(self, present: Iterable[Document]) -> None:
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
            name = f"{document['kind']} {self.text(metadata['name'])}"
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

    def of(self, value: Any) -> Any:
        """Return a JSON value with everything replaced that differs between runs."""
        match value:
            case str():
                return self.text(value)
            case bool():
                return value
            case int():
                return self._numbers.get(value, value)
            case list():
                return [self.of(item) for item in value]
            case dict():
                return {self.text(key): self.of(item) for key, item in value.items() if key not in _UNCOMPARED}
            case _:
                return value

    def text(self, text: str) -> str:
        """Return a text with everything replaced that differs between runs."""
        if _TIME.fullmatch(text):
            return "<time>"
        if self._pattern is not None:
            text = self._pattern.sub(lambda found: self._assigned[found[0]], text)
        text = _UID.sub(lambda found: self._uids.get(found[0], "<uid of something gone>"), text)
        return _UID_BEGIN.sub(lambda found: self._uid_begins.get(found[0], found[0]), text)
