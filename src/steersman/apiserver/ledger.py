"""`Ledger`: the one way in which verbs read and write objects.

It knows how objects of a resource lie in the store (bytes in the stored version) and how they are served (in any served
version, by today's rules). Every write goes through `put` or `remove`; whoever wants to know of writes is told there.
"""

import re
from collections.abc import Callable
from typing import Any

from steersman.apiserver.interim_store import Record, Store
from steersman.apiserver.served import Served
from steersman.objects.codec import decode_json, encode_json

Document = dict[str, Any]
#: An integral float as our encoder writes it, or the same text inside a string.
_MAYBE_INTEGRAL = re.compile(rb"\.0[,}\]]")


def encode_object(served: Served, obj: Document) -> bytes:
    """Write an object so that it begins with its kind; integral floats are written as Go writes them."""
    rest = {key: value for key, value in obj.items() if key not in ("kind", "apiVersion")}
    raw = encode_json(rest)
    if _MAYBE_INTEGRAL.search(raw):
        raw = encode_json(_without_integral_floats(rest))
    return served.prefix + raw[1:]


def _without_integral_floats(value: Any) -> Any:
    if value.__class__ is float:
        return int(value) if value.is_integer() and abs(value) < 1e21 else value  # noqa: PLR2004 - Go switches to e-notation
    if value.__class__ is dict:
        return {key: _without_integral_floats(part) for key, part in value.items()}
    if value.__class__ is list:
        return [_without_integral_floats(part) for part in value]
    return value


class Ledger:
    """Reads and writes the objects of every resource."""

    def __init__(self, store: Store) -> None:
        self.store = store
        #: Told the stored name of a resource after each write to it.
        self.listeners: list[Callable[[str], None]] = []

    @property
    def version(self) -> int:
        """The version of the last write to anything."""
        return self.store.version

    def get(self, served: Served, namespace: str, name: str) -> Record | None:
        """Give an object's record, if it is there."""
        return self.store.get(served.stored_as, namespace, name)

    def document(self, served: Served, record: Record) -> Document:
        """Give an object as it is served now, free to be changed."""
        document: Document = decode_json(record.raw)
        if served.version != served.stored_version:
            document = served.strategy.from_stored(document, served.api_version)
        if record.version < served.strategy.rules_since or served.version != served.stored_version:
            document = served.strategy.reread(document)
        return document

    def raw(self, served: Served, record: Record) -> bytes:
        """Give an object as it is served now, as bytes."""
        if served.version == served.stored_version and record.version >= served.strategy.rules_since:
            return record.raw
        return encode_object(served, self.document(served, record))

    @staticmethod
    def rendered(served: Served, obj: Document) -> bytes:
        """Give an object that is not stored as bytes."""
        return encode_object(served, obj)

    def put(self, served: Served, obj: Document, old: Record | None) -> bytes:
        """Write an object; give it as bytes, in the version in which it came."""
        version = self.store.version + 1
        metadata = obj["metadata"]
        metadata["resourceVersion"] = str(version)
        raw = stored = encode_object(served, obj)
        if served.version != served.stored_version:
            document = served.strategy.to_stored(obj)
            stored = encode_json(document)
        owners = metadata.get("ownerReferences")
        record = Record(
            version,
            metadata.get("namespace", ""),
            metadata["name"],
            metadata["uid"],
            stored,
            metadata.get("labels") or {},
            served.strategy.fields(obj),
            tuple(owner["uid"] for owner in owners) if owners else (),
        )
        self.store.commit(served.stored_as, "MODIFIED" if old is not None else "ADDED", record, old)
        self._tell(served.stored_as)
        return raw

    def remove(self, served: Served, old: Record, obj: Document) -> None:
        """Take an object away; its last state is told with the version of the removal."""
        version = self.store.version + 1
        obj["metadata"]["resourceVersion"] = str(version)
        stored = served.strategy.to_stored(obj) if served.version != served.stored_version else obj
        raw = encode_object(served, stored) if stored is obj else encode_json(stored)
        record = Record(version, old.namespace, old.name, old.uid, raw, old.labels, old.fields, old.owners)
        self.store.commit(served.stored_as, "DELETED", record, old)
        self._tell(served.stored_as)

    def records(self, served: Served, namespace: str | None = None) -> list[Record]:
        """Give every record of a resource, or of one namespace of it, ordered by key."""
        return self.records_of(served.stored_as, namespace)

    def records_of(self, resource: str, namespace: str | None = None) -> list[Record]:
        """Give the records of a resource by its stored name, ordered by key."""
        table = self.store.table(resource)
        keys = sorted(table) if namespace is None else sorted(key for key in table if key[0] == namespace)
        return [table[key] for key in keys]

    def records_at(self, resource: str, version: int | None) -> list[Record] | None:
        """Give the records as they were at a version, ordered by key; ``None`` when that is no longer known."""
        if version is None or version >= self.store.version:
            return self.records_of(resource)
        events = self.store.since(resource, version)
        if events is None:
            return None
        table = dict(self.store.table(resource))
        for event in reversed(events):
            key = (event.record.namespace, event.record.name)
            if event.previous is None:
                table.pop(key, None)
            else:
                table[key] = event.previous
        return [table[key] for key in sorted(table)]

    def oldest(self, resource: str) -> int:
        """Give the version before which the history of a resource is forgotten."""
        return self.store.floor.get(resource, 0)

    def _tell(self, resource: str) -> None:
        for listener in self.listeners:
            listener(resource)
