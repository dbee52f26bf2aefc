"""`StoreReader`: typed reads of a cache. Every read decodes a new object, so that callers cannot change the cache."""

import logging
from collections.abc import Iterable, Iterator, Sequence
from typing import Generic, TypeAlias, TypeVar

from steersman.errors import DecodeError
from steersman.informer.record import Record
from steersman.informer.store import Store
from steersman.objects.codec import decode
from steersman.objects.identity import ObjectKey
from steersman.objects.resource import KubeObject, PartialObjectMetadata, Unstructured
from steersman.objects.selectors import LabelSelector

K = TypeVar("K", bound=KubeObject | Unstructured)

# Inside the class below ``list`` is a method.
Keys: TypeAlias = list[ObjectKey]
Metadata: TypeAlias = list[PartialObjectMetadata]

_log = logging.getLogger("steersman.informer")


def as_key(key: ObjectKey | str) -> ObjectKey:
    """Return a key, which may be written as ``namespace/name``."""
    return ObjectKey.parse(key) if isinstance(key, str) else key


def as_selector(selector: LabelSelector | str | None) -> LabelSelector | None:
    """Return a selector, which may be written as text."""
    return LabelSelector.parse(selector) if isinstance(selector, str) else selector


class StoreReader(Generic[K]):
    """Read a cache. Nothing here waits or sends a request. Safe in any thread.

    An object that does not match its class raises ``DecodeError`` when it is read by name; lists omit and log it, so
    that one broken object does not hide the others. ``malformed`` returns those objects.
    """

    def __init__(self, kind: type[K], store: Store) -> None:
        self._kind = kind
        self._store = store

    @property
    def kind(self) -> type[K]:
        """Class of the objects."""
        return self._kind

    def get(self, key: ObjectKey | str) -> K | None:
        """Return an object by ``namespace/name`` (``name`` if cluster-scoped); ``None`` if there is none."""
        record = self._store.get(as_key(key))
        return None if record is None else self.decode(record)

    def list(self, selector: LabelSelector | str | None = None, *, namespace: str | None = None) -> list[K]:
        """Return all objects, or those with matching labels or in one namespace."""
        return [*self._decoded(self._selected(as_selector(selector), namespace))]

    def by_index(self, name: str, value: str) -> Sequence[K]:
        """Return the objects with a value in an index."""
        return [*self._decoded(self._store.by_index(name, value))]

    # The metadata alone, also of caches that have nothing else.

    def get_metadata(self, key: ObjectKey | str) -> PartialObjectMetadata | None:
        """Return the metadata of an object; ``None`` if there is none."""
        record = self._store.get(as_key(key))
        return None if record is None else decode(PartialObjectMetadata, record.data)

    def list_metadata(self, selector: LabelSelector | str | None = None, *, namespace: str | None = None) -> Metadata:
        """Return the metadata of all objects, or of those with matching labels or in one namespace."""
        selected = self._selected(as_selector(selector), namespace)
        return [decode(PartialObjectMetadata, record.data) for record in selected]

    def metadata_by_index(self, name: str, value: str) -> Metadata:
        """Return the metadata of the objects with a value in an index."""
        return [decode(PartialObjectMetadata, record.data) for record in self._store.by_index(name, value)]

    def uncontrolled(self, selector: LabelSelector, *, namespace: str | None = None) -> Sequence[K]:
        """Return the objects with matching labels that have no controller; only those are decoded."""
        records = self._selected(selector, namespace)
        return [*self._decoded(record for record in records if record.controller is None)]

    def keys(self) -> Keys:
        """Return the keys of all objects."""
        return self._store.keys()

    def malformed(self) -> dict[ObjectKey, str]:
        """Return the keys of the objects that do not decode, with the reasons; decodes all objects."""
        reasons: dict[ObjectKey, str] = {}
        for record in self._store.records():
            try:
                self.decode(record)
            except DecodeError as error:
                reasons[record.key] = str(error)
        return reasons

    def decode(self, record: Record) -> K:
        """Return a new object, decoded from a record."""
        return decode(self._kind, record.data)  # type: ignore[type-var] # its overloads do not take a union

    def __len__(self) -> int:
        return len(self._store)

    def __contains__(self, key: ObjectKey | str) -> bool:
        return as_key(key) in self._store

    def __iter__(self) -> Iterator[K]:
        return self._decoded(self._store.records())

    def _selected(self, selector: LabelSelector | None, namespace: str | None) -> Iterable[Record]:
        records = self._store.records() if namespace is None else self._in_namespace(namespace)
        return records if selector is None else (record for record in records if selector.matches(record.labels))

    def _in_namespace(self, namespace: str) -> Iterable[Record]:
        if self._store.has_index("namespace"):
            return self._store.by_index("namespace", namespace)
        return [record for record in self._store.records() if record.key.namespace == namespace]

    def _decoded(self, records: Iterable[Record]) -> Iterator[K]:
        for record in records:
            try:
                yield self.decode(record)
            except DecodeError as error:
                _log.warning(
                    "omitted an object that does not decode",
                    extra={"kind": self._kind.__name__, "key": str(record.key), "error": str(error)},
                )
