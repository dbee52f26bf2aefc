"""Indexes of a store: find cached objects by a value that is computed from them."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping
from types import MappingProxyType

from steersman.informer.record import Record
from steersman.objects.identity import ObjectKey

#: Returns the values under which a record is indexed; none excludes it. It must not raise.
Extract = Callable[[Record], Iterable[str]]

_NOTHING: Mapping[ObjectKey, Record] = MappingProxyType({})

BY_NAMESPACE = "namespace"
BY_CONTROLLER = "controller-uid"


def by_namespace(record: Record) -> Iterable[str]:
    """Return the namespace of an object."""
    return (record.key.namespace,)


def by_owner(record: Record) -> Iterable[str]:
    """Return the uids of all owners of an object."""
    return tuple(owner.uid for owner in record.owners)


def by_controller(record: Record) -> Iterable[str]:
    """Return the uid of the controller of an object."""
    controller = record.controller
    return () if controller is None else (controller.uid,)


def by_label(label: str) -> Extract:
    """Return an index function for the value of one label; objects without the label are excluded."""

    def extract(record: Record) -> Iterable[str]:
        value = record.labels.get(label)
        return () if value is None else (value,)

    return extract


class Index(ABC):
    """Value → keys, updated by the store, in the order in which the keys got the value."""

    def __init__(self) -> None:
        self._keys: dict[str, dict[ObjectKey, None]] = {}

    @staticmethod
    def by(extract: Extract) -> "Index":
        """Return an empty index for an index function."""
        return NamespaceIndex() if extract is by_namespace else ValueIndex(extract)

    @abstractmethod
    def put(self, record: Record) -> None:
        """Index a record; it replaces the previous one of its key."""

    @abstractmethod
    def remove(self, key: ObjectKey) -> None:
        """Remove a key."""

    @abstractmethod
    def empty(self) -> "Index":
        """Return an empty index with the same function."""

    def keys(self, value: str) -> list[ObjectKey]:
        """Return the keys with a value; safe to call from any thread."""
        return list(self._keys.get(value, ()))

    @abstractmethod
    def values_of(self, key: ObjectKey) -> tuple[str, ...]:
        """Return the values of a key; none if it is not indexed."""

    def values(self) -> list[str]:
        """Return every value that an object has."""
        return list(self._keys)

    def rebuilt(self, records: Iterable[Record], before: Mapping[ObjectKey, Record] = _NOTHING) -> "Index":
        """Return an index with the same function for other records; ``before`` are those that this one has."""
        del before
        other = self.empty()
        for record in records:
            other.put(record)
        return other

    def _remove_values(self, key: ObjectKey, values: tuple[str, ...]) -> None:
        for value in values:
            keys = self._keys.get(value)
            if keys is not None:
                keys.pop(key, None)
                if not keys:
                    del self._keys[value]


class NamespaceIndex(Index):
    """Namespace → keys. The value is part of the key, so nothing has to be remembered or compared."""

    def put(self, record: Record) -> None:
        """Index a record; its key cannot have had another namespace before."""
        key = record.key
        keys = self._keys.get(key.namespace)
        if keys is None:
            keys = self._keys[key.namespace] = {}
        keys[key] = None

    def remove(self, key: ObjectKey) -> None:
        """Remove a key."""
        self._remove_values(key, (key.namespace,))

    def empty(self) -> Index:
        """Return an empty index."""
        return NamespaceIndex()

    def values_of(self, key: ObjectKey) -> tuple[str, ...]:
        """Return the namespace of an indexed key."""
        return (key.namespace,) if key in self._keys.get(key.namespace, ()) else ()


class ValueIndex(Index):
    """Any value that a function returns → keys."""

    def __init__(self, extract: Extract) -> None:
        super().__init__()
        self._extract = extract
        #: The values of each key. Invariant: the inverse of ``_keys``.
        self._values: dict[ObjectKey, tuple[str, ...]] = {}

    def empty(self) -> Index:
        """Return an empty index with the same function."""
        return ValueIndex(self._extract)

    def values_of(self, key: ObjectKey) -> tuple[str, ...]:
        """Return the values of a key; none if it is not indexed."""
        return self._values.get(key, ())

    def put(self, record: Record) -> None:
        """Index a record; it replaces the previous one of its key."""
        self._set(record.key, tuple(self._extract(record)))

    def remove(self, key: ObjectKey) -> None:
        """Remove a key."""
        self._remove_values(key, self._values.pop(key, ()))

    def rebuilt(self, records: Iterable[Record], before: Mapping[ObjectKey, Record] = _NOTHING) -> Index:
        """Return an index of other records; the function is not called again for those that did not change."""
        other = ValueIndex(self._extract)
        for record in records:
            known = before.get(record.key)
            if known is not None and (known.uid, known.resource_version) == (record.uid, record.resource_version):
                other._set(record.key, self._values.get(record.key, ()))
            else:
                other.put(record)
        return other

    def _set(self, key: ObjectKey, after: tuple[str, ...]) -> None:
        before = self._values.get(key, ())
        if before == after:
            return
        self._remove_values(key, before)
        if not after:
            self._values.pop(key, None)
            return
        self._values[key] = after
        for value in after:
            self._keys.setdefault(value, {})[key] = None
