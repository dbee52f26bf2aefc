"""`ObjectStore`: the only way in which verbs read and write objects.

It knows how objects of a resource lie in the store (bytes in the stored version) and how they are served (in any served
version, by the current rules). Every write goes through `put` or `remove`, which notify observers and listeners.
"""

from collections.abc import Callable, Iterable, Sequence

from steersman.apiserver.resources.served_resource import ServedResource
from steersman.apiserver.storage.history import Event
from steersman.apiserver.storage.record import Record
from steersman.apiserver.storage.store import Delete, PageQuery, Put, Store
from steersman.clock import Clock
from steersman.errors import Expired
from steersman.golang.equality import json_equal
from steersman.json_types import JsonObject
from steersman.objects.codec import decode_json, encode_json

_TYPE = frozenset({"kind", "apiVersion"})
_EVERYTHING = PageQuery()


def ordered(served: ServedResource, obj: JsonObject, api_version: str) -> JsonObject:
    """Return an object with its type and metadata first: lists rely on stored bytes that begin so."""
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
        #: Called with the stored name of a resource after each write to it.
        self.listeners: list[Callable[[str], None]] = []
        #: The same for listeners of single resources: see `listen`.
        self.listeners_of: dict[str, list[Callable[[str], None]]] = {}
        #: Called with every write, right after it. They only note it: their own writes come later.
        self.observers: list[Callable[[Event], None]] = []

    @property
    def version(self) -> int:
        """The version of the last write to anything."""
        return int(self.store.resource_version)

    def get(self, served: ServedResource, namespace: str, name: str) -> Record | None:
        """Return an object's record; ``None`` if it does not exist."""
        return self.store.get(served.stored_as, namespace, name)

    def document(self, served: ServedResource, record: Record) -> JsonObject:
        """Return an object as it is served now, with the fields that only writers get; the caller may change it."""
        document: JsonObject = decode_json(record.raw)
        if served.is_stored_form:
            return served.strategy.reread(document) if record.written < served.strategy.rules_since else document
        return self._served(served, document)

    @staticmethod
    def _served(served: ServedResource, stored: JsonObject) -> JsonObject:
        """Return a document in the stored version as it is served; the document may be changed."""
        if served.builtin:
            stored = served.strategy.from_stored(stored, served.api_version)
        return served.strategy.reread(stored)

    def prepare(self, served: ServedResource, records: Sequence[Record]) -> None:
        """Fetch the conversions of many objects in one call, if a webhook converts them."""
        if served.is_converted:
            served.strategy.prepare([decode_json(record.raw) for record in records])

    def raw(self, served: ServedResource, record: Record, *, shows_all: bool = False) -> bytes:
        """Return an object as it is served now, as bytes; ``shows_all`` includes fields that only writers get."""
        if served.is_stored_form and record.written >= served.strategy.rules_since:
            if not shows_all and served.strategy.hides and served.strategy.hides in record.raw:
                return self.rendered(served, served.strategy.shown(decode_json(record.raw)))
            return record.raw
        return self.rendered(served, self.document(served, record))

    @staticmethod
    def is_stored_so(served: ServedResource, record: Record) -> bool:
        """Return whether an object is stored in the current storage version."""
        if served.builtin or record.written >= served.strategy.rules_since:
            return True
        stored: str = decode_json(record.raw)["apiVersion"]
        return stored == f"{served.group}/{served.stored_version}"

    @staticmethod
    def rendered(served: ServedResource, obj: JsonObject) -> bytes:
        """Return an object that is not stored as bytes."""
        return encode_json(ordered(served, obj, served.api_version))

    def is_whole(self, served: ServedResource, record: Record, live: JsonObject) -> bool:
        """Return whether the live object equals the stored one: not if reading has filled in or dropped fields."""
        if not record.is_whole or served.builtin or record.written >= served.strategy.rules_since:
            return record.is_whole
        if not served.is_stored_form:
            live = served.strategy.kept(served.strategy.to_stored(decode_json(encode_json(live))))
        return json_equal(decode_json(record.raw), live)

    def put(self, served: ServedResource, obj: JsonObject, *, is_whole: bool = True, shows_all: bool = False) -> bytes:
        """Store an object; return it as bytes, in the version of the request."""
        stored = shown = obj
        is_same = served.is_stored_form
        if not is_same:
            stored = served.strategy.kept(served.strategy.to_stored(obj))
            if not served.builtin:
                # Before the write: if a conversion has to be waited for, the whole verb is run again.
                shown = self._served(served, decode_json(encode_json(stored)))
        event = self._commit(
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
        """Return whether an object can only be read with a conversion webhook: it is stored in another version."""
        return served.is_converted and decode_json(record.raw)["apiVersion"] != served.api_version

    def put_stored(self, served: ServedResource, record: Record, stored: JsonObject) -> None:
        """Store an object in its stored version: its metadata is the same in all versions."""
        event = self._commit(Put(served.stored_as, stored, record.fields, record.is_whole))
        # Its content still follows the rules of its last full write.
        event.record.written = record.written

    def preview(self, served: ServedResource, obj: JsonObject, *, shows_all: bool = False) -> bytes:
        """Return an object as it would be served after a write, as bytes."""
        if not served.builtin and not served.is_stored_form:
            stored = served.strategy.kept(served.strategy.to_stored(obj))
            obj = self._served(served, decode_json(encode_json(stored)))
        return self.rendered(served, obj if shows_all else served.strategy.shown(obj))

    def remove(self, served: ServedResource, record: Record) -> None:
        """Remove an object; its last state has the version of the removal."""
        self._commit(Delete(served.stored_as, record.namespace, record.name))

    def _commit(self, change: Put | Delete) -> Event:
        (event,) = self.store.commit((change,), self._clock.monotonic())
        self._notify(event)
        return event

    def repeat(self, event: Event) -> None:
        """Carry out a write of another run again; the store must be as it was before the write."""
        self.store.repeat(event)
        self._notify(event)

    def _notify(self, event: Event) -> None:
        # Observers first: a listener may write, and observers see writes in their order.
        for observer in self.observers:
            observer(event)
        for listener in self.listeners:
            listener(event.resource)
        for listener in self.listeners_of.get(event.resource, ()):
            listener(event.resource)

    def listen(self, resources: Iterable[str], listener: Callable[[str], None]) -> None:
        """Notify a listener with the stored name after each write to one of these resources."""
        for resource in resources:
            self.listeners_of.setdefault(resource, []).append(listener)

    def records(self, served: ServedResource, namespace: str | None = None) -> list[Record]:
        """Return all records of a resource, or of one of its namespaces, ordered by key."""
        return self.records_of(served.stored_as, namespace)

    def compact(self) -> None:
        """Reject lists at versions that were replaced too long ago."""
        self.store.compact(self._clock.monotonic())

    def records_of(self, resource: str, namespace: str | None = None) -> list[Record]:
        """Return the records of a resource by its stored name, ordered by key."""
        options = PageQuery(namespace=namespace) if namespace else _EVERYTHING
        return self.store.list(resource, options).records

    def since(self, resource: str, version: int) -> Sequence[Event] | None:
        """Return the events of a resource after a version; ``None`` if they are not stored any more."""
        try:
            return self.store.events_since(resource, str(version))
        except Expired:
            return None
