"""Indexes: find cached objects by a value that is computed from them."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable

from steersman.informer.record import Record
from steersman.objects.identity import ObjectKey

#: Gives the values under which a record is found; none leaves it out.
Extract = Callable[[Record], Iterable[str]]

BY_NAMESPACE = "namespace"
BY_CONTROLLER = "controller-uid"


def by_namespace(record: Record) -> Iterable[str]:
    """Find objects by their namespace."""
    return (record.key.namespace,)


def by_owner(record: Record) -> Iterable[str]:
    """Find objects by the uids of all their owners."""
    return tuple(owner.uid for owner in record.owners)


def by_controller(record: Record) -> Iterable[str]:
    """Find objects by the uid of the owner that controls them."""
    controller = record.controller
    return () if controller is None else (controller.uid,)


def by_label(label: str) -> Extract:
    """Find objects by the value of one label; objects without it are not found."""

    def extract(record: Record) -> Iterable[str]:
        value = record.labels.get(label)
        return () if value is None else (value,)

    return extract


class Index(ABC):
    """Value → keys, kept current by the store, in the order in which the keys got the value."""

    def __init__(self) -> None:
        self._keys: dict[str, dict[ObjectKey, None]] = {}

    @staticmethod
    def by(extract: Extract) -> "Index":
        """Give an empty index of what a function gives for each record."""
        return NamespaceIndex() if extract is by_namespace else ValueIndex(extract)

    @abstractmethod
    def put(self, record: Record) -> None:
        """Enter a record, instead of what its key had before."""

    @abstractmethod
    def remove(self, key: ObjectKey) -> None:
        """Take a key out."""

    @abstractmethod
    def empty(self) -> "Index":
        """Give a new index with the same rule."""

    def keys(self, value: str) -> list[ObjectKey]:
        """Give the keys with a value; safe to call from any thread."""
        return list(self._keys.get(value, ()))

    def values(self) -> list[str]:
        """Give every value that some object has."""
        return list(self._keys)

    def rebuilt(self, records: Iterable[Record]) -> "Index":
        """Give a new index with the same rule for other records."""
        other = self.empty()
        for record in records:
            other.put(record)
        return other

    def _withdraw(self, key: ObjectKey, values: tuple[str, ...]) -> None:
        for value in values:
            keys = self._keys.get(value)
            if keys is not None:
                keys.pop(key, None)
                if not keys:
                    del self._keys[value]


class NamespaceIndex(Index):
    """Namespace → keys. The value is part of the key: nothing has to be remembered to withdraw it, nor compared."""

    def put(self, record: Record) -> None:
        """Enter a record; its key cannot have had another namespace before."""
        key = record.key
        keys = self._keys.get(key.namespace)
        if keys is None:
            keys = self._keys[key.namespace] = {}
        keys[key] = None

    def remove(self, key: ObjectKey) -> None:
        """Take a key out."""
        self._withdraw(key, (key.namespace,))

    def empty(self) -> Index:
        """Give a new index with the same rule."""
        return NamespaceIndex()


class ValueIndex(Index):
    """Any value that a function gives → keys."""

    def __init__(self, extract: Extract) -> None:
        super().__init__()
        self._extract = extract
        #: What each key was entered under. Invariant: exactly the entries of ``_keys``, turned around.
        self._values: dict[ObjectKey, tuple[str, ...]] = {}

    def empty(self) -> Index:
        """Give a new index with the same rule."""
        return ValueIndex(self._extract)

    def put(self, record: Record) -> None:
        """Enter a record, instead of what its key had before."""
        key = record.key
        before = self._values.get(key, ())
        after = tuple(self._extract(record))
        if before == after:
            return
        self._withdraw(key, before)
        if not after:
            self._values.pop(key, None)
            return
        self._values[key] = after
        for value in after:
            self._keys.setdefault(value, {})[key] = None

    def remove(self, key: ObjectKey) -> None:
        """Take a key out."""
        self._withdraw(key, self._values.pop(key, ()))
