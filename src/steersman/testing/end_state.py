"""What a cluster holds in the end, told so that two runs of the same story can be compared.

What differs between any two runs is taken out: uids, versions, times, and names that the server made up. Left out are
events, because a process that ends takes those with it that it had not sent yet, and leases, which tell of processes.
"""

import difflib
import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from copy import deepcopy
from typing import Any, TypeAlias

from steersman.apiserver.server import ApiServer
from steersman.apiserver.storage.record import Record

Document: TypeAlias = dict[str, Any]
#: Takes out of an object what differs between runs for reasons of its own; ``None`` leaves the object out.
Normalise: TypeAlias = Callable[[Document], Document | None]

_LEFT_OUT = frozenset({"events", "events.events.k8s.io", "leases.coordination.k8s.io"})
_UNCOMPARED = frozenset({"managedFields", "resourceVersion", "creationTimestamp"})
_UID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")
_TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)")


def as_it_is(document: Document) -> Document:
    """Take nothing more out."""
    return document


def versions_of(server: ApiServer) -> dict[str, int]:
    """Give the version of every object that a server has, by its uid."""
    return {record.uid: record.version for record in _records(server)}


def end_state(server: ApiServer, known: Mapping[str, int], normalise: Normalise = as_it_is) -> list[str]:
    """Tell every object that came or changed since ``known`` was true, as text, in an order that does not change."""
    fresh = [record.decode() for record in _records(server) if known.get(record.uid) != record.version]
    return told(filter(None, map(normalise, deepcopy(fresh))), fresh)


def told(documents: Iterable[Document], present: Iterable[Document]) -> list[str]:
    """Tell objects without what differs between runs; ``present`` are all that uids and names may point at."""
    wording = _Wording(present)
    return sorted(json.dumps(wording.of(one), indent=2, sort_keys=True, ensure_ascii=False) for one in documents)


def difference(expected: list[str], found: list[str]) -> str:
    """Tell line by line where two ends differ; empty if they do not."""
    lines = difflib.unified_diff(_lines(expected), _lines(found), "without a crash", "with it", lineterm="", n=6)
    return "\n".join(lines)


def _lines(objects: list[str]) -> list[str]:
    return [line for one in objects for line in one.splitlines()]


def _records(server: ApiServer) -> Iterator[Record]:
    store = server.ledger.store
    for resource in store.resources():
        if resource not in _LEFT_OUT:
            yield from store.list(resource).records


class _Wording:
    """How values are told that no two runs share."""

    def __init__(self, present: Iterable[Document]) -> None:
        self._names: dict[str, str] = {}
        self._uids: dict[str, str] = {}
        uids: dict[str, Document] = {}
        for document in present:
            metadata = document["metadata"]
            if metadata.get("generateName"):
                self._names[metadata["name"]] = f"{metadata['generateName']}*"
            uids[metadata["uid"]] = document
        made_up = "|".join(sorted(map(re.escape, self._names), key=len, reverse=True))
        self._made_up = re.compile(rf"(?<![\w-])({made_up})(?![\w-])") if made_up else None
        self._uids = {uid: f"<uid of {one['kind']} {self._text(one['metadata']['name'])}>" for uid, one in uids.items()}

    def of(self, value: Any) -> Any:
        match value:
            case str():
                return self._text(value)
            case list():
                return [self.of(item) for item in value]
            case dict():
                return {self._text(key): self.of(item) for key, item in value.items() if key not in _UNCOMPARED}
            case _:
                return value

    def _text(self, text: str) -> str:
        if _TIME.fullmatch(text):
            return "<time>"
        if self._made_up is not None:
            text = self._made_up.sub(lambda found: self._names[found[0]], text)
        return _UID.sub(lambda found: self._uids.get(found[0], "<uid of something gone>"), text)
