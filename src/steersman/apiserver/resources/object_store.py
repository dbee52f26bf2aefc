"""`ObjectStore`: the one way in which verbs read and write objects.

It knows how objects of a resource lie in the store (bytes in the stored version) and how they are served (in any served
version, by today's rules). Every write goes through `put` or `remove`; whoever wants to know of writes is told there.
"""

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from steersman.apiserver.resources.served_resource import ServedResource
from steersman.apiserver.storage.history import Event
from steersman.apiserver.storage.record import Record
from steersman.apiserver.storage.store import Delete, ListOptions, Put, Store
from steersman.clock import Clock
from steersman.errors import Expired
from steersman.golang.equality import json_equal
from steersman.objects.codec import decode_json, encode_json

Document = dict[str, Any]
_TYPE = frozenset({"kind", "apiVersion"})
_EVERYTHING = ListOptions()


def ordered(served: ServedResource, obj: Document, api_version: str) -> Document:
    """Give an object with its type and metadata first: stored bytes begin so, and lists rely on it."""
    head = (
        {"kind": served.kind, "apiVersion": api_version}
        if served.builtin
        else {"apiVersion": api_version, "kind": served.kind}
    )
    if [*obj.items()][:2] == [*head.items()] and [*obj][2] == "metadata":
        return obj
    rest = {key: value for key, value in obj.items() if key not in _TYPE}
    return {**head, "metadata": obj["metadata"], **rest}


class ObjectStore:
    """Reads and writes the objects of every resource."""

    def __init__(self, store: Store, clock: Clock) -> None:
        self.store = store
        self._clock = clock
        #: Told the stored name of a resource after each write to it.
        self.listeners: list[Callable[[str], None]] = []
        #: The same, by resource, for those who care for a few only: see `listen`.
        self.listeners_of: dict[str, list[Callable[[str], None]]] = {}
        #: Told every write, right after it. They take note; what they write themselves they write later.
        self.observers: list[Callable[[Event], None]] = []

    @property
    def version(self) -> int:
        """The version of the last write to anything."""
        return int(self.store.resource_version)

    def get(self, served: ServedResource, namespace: str, name: str) -> Record | None:
        """Give an object's record, if it is there."""
        return self.store.get(served.stored_as, namespace, name)

    def document(self, served: ServedResource, record: Record) -> Document:
        """Give an object as it is served now, with what only its writers meet, free to be changed."""
        document: Document = decode_json(record.raw)
        if served.is_stored_form:
            return served.strategy.reread(document) if record.written < served.strategy.rules_since else document
        return self._served(served, document)

    @staticmethod
    def _served(served: ServedResource, stored: Document) -> Document:
        """Give a document in the stored version as it is served; it may be changed."""
        if served.builtin:
            stored = served.strategy.from_stored(stored, served.api_version)
        return served.strategy.reread(stored)

    def prepare(self, served: ServedResource, records: Sequence[Record]) -> None:
        """Make sure that many objects can be served: what a webhook converts is asked for in one call."""
        if served.is_converted:
            served.strategy.prepare([decode_json(record.raw) for record in records])

    def raw(self, served: ServedResource, record: Record, *, shows_all: bool = False) -> bytes:
        """Give an object as it is served now, as bytes; ``shows_all`` with what only its writers meet, too."""
        if served.is_stored_form and record.written >= served.strategy.rules_since:
            if not shows_all and served.strategy.hides and served.strategy.hides in record.raw:
                return self.rendered(served, served.strategy.shown(decode_json(record.raw)))
            return record.raw
        return self.rendered(served, self.document(served, record))

    @staticmethod
    def is_stored_so(served: ServedResource, record: Record) -> bool:
        """Tell whether an object is stored in the version in which it would be stored now."""
        if served.builtin or record.written >= served.strategy.rules_since:
            return True
        stored: str = decode_json(record.raw)["apiVersion"]
        return stored == f"{served.group}/{served.stored_version}"

    @staticmethod
    def rendered(served: ServedResource, obj: Document) -> bytes:
        """Give an object that is not stored as bytes."""
        return encode_json(ordered(served, obj, served.api_version))

    def is_whole(self, served: ServedResource, record: Record, live: Document) -> bool:
        """Tell whether the live object is what was written: not if some of it was only filled in, or left out, now."""
        if not record.is_whole or not served.is_stored_form or record.written >= served.strategy.rules_since:
            return record.is_whole
        return json_equal(decode_json(record.raw), live)

    def put(self, served: ServedResource, obj: Document, *, is_whole: bool = True, shows_all: bool = False) -> bytes:
        """Write an object; give it as bytes, in the version in which it came."""
        stored = shown = obj
        is_same = served.is_stored_form
        if not is_same:
            stored = served.strategy.kept(served.strategy.to_stored(obj))
            if not served.builtin:
                # Before the write: a conversion may have to be waited for, and then everything is done again.
                shown = self._served(served, decode_json(encode_json(stored)))
        event = self._commit(
            served,
            Put(
                served.stored_as,
                ordered(served, stored, stored["apiVersion"] if not is_same else served.api_version),
                served.strategy.fields(obj),
                is_whole,
            ),
        )
        if is_same:
            return self.raw(served, event.record, shows_all=shows_all) if served.strategy.hides else event.record.raw
        shown["metadata"]["resourceVersion"] = event.record.resource_version
        return self.rendered(served, shown)

    @staticmethod
    def needs_webhook(served: ServedResource, record: Record) -> bool:
        """Return whether an object can only be read by asking a webhook: it was stored in another version."""
        return served.is_converted and decode_json(record.raw)["apiVersion"] != served.api_version

    def put_stored(self, served: ServedResource, record: Record, stored: Document) -> None:
        """Write an object in the version in which it is stored: its metadata is the same in all versions."""
        event = self._commit(served, Put(served.stored_as, stored, record.fields, record.is_whole))
        # Its content is still what was written by the rules of then.
        event.record.written = record.written

    def preview(self, served: ServedResource, obj: Document, *, shows_all: bool = False) -> bytes:
        """Give an object as it would be served after it was written, as bytes."""
        if not served.builtin and not served.is_stored_form:
            stored = served.strategy.kept(served.strategy.to_stored(obj))
            obj = self._served(served, decode_json(encode_json(stored)))
        return self.rendered(served, obj if shows_all else served.strategy.shown(obj))

    def remove(self, served: ServedResource, record: Record) -> None:
        """Take an object away; its last state is told with the version of the removal."""
        self._commit(served, Delete(served.stored_as, record.namespace, record.name))

    def _commit(self, served: ServedResource, change: Put | Delete) -> Event:
        (event,) = self.store.commit((change,), self._clock.monotonic())
        # Observers first: a listener may write, and observers see writes in their order.
        for observer in self.observers:
            observer(event)
        for listener in self.listeners:
            listener(served.stored_as)
        for listener in self.listeners_of.get(served.stored_as, ()):
            listener(served.stored_as)
        return event

    def listen(self, resources: Iterable[str], listener: Callable[[str], None]) -> None:
        """Tell somebody the stored name of one of these resources after each write to it."""
        for resource in resources:
            self.listeners_of.setdefault(resource, []).append(listener)

    def records(self, served: ServedResource, namespace: str | None = None) -> list[Record]:
        """Give every record of a resource, or of one namespace of it, ordered by key."""
        return self.records_of(served.stored_as, namespace)

    def records_of(self, resource: str, namespace: str | None = None) -> list[Record]:
        """Give the records of a resource by its stored name, ordered by key."""
        options = ListOptions(namespace=namespace) if namespace else _EVERYTHING
        return self.store.list(resource, options).records

    def since(self, resource: str, version: int) -> Sequence[Event] | None:
        """Give what happened to a resource after a version; ``None`` when that is no longer known."""
        try:
            return self.store.events_since(resource, str(version))
        except Expired:
            return None
