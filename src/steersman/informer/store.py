"""`Store`: all objects of a kind, as records. One writer, the reflector; any number of readers, in any thread.

Each write returns the changes that it made. The store contains only objects that the server has sent, and the version
of an object never decreases, unless a list of the server shows an older one. A large store compresses the objects that
have not changed lately (``compression``): their records are replaced by equal ones, which is not a change.
"""

from collections import OrderedDict
from collections.abc import Iterable, Mapping

from steersman.informer.changes import Added, Change, Deleted, Updated
from steersman.informer.compression import Compression
from steersman.informer.index import Extract, Index
from steersman.informer.record import Record
from steersman.objects.identity import ObjectKey
from steersman.protocol.resource_version import is_older

#: Number of deletions that are remembered, so that a late older event does not restore an object.
_REMEMBERED_DELETIONS = 1024


def is_newer(version: str, than: str) -> bool:
    """Return whether a resource version of an object is newer than another one.

    A version that cannot be ordered (some aggregated servers use other formats) counts as newer if it differs.
    """
    if version == than:
        return False
    try:
        return is_older(than, version)
    except ValueError:
        return True


def _is_gone(old: Record, now: Record | None) -> bool:
    return now is None or now.uid != old.uid


class Store:
    """Records by key, with indexes. Readers see either all of a ``replace`` or nothing of it."""

    def __init__(self, indexes: Mapping[str, Extract] | None = None, *, compression: Compression | None = None) -> None:
        #: ``None`` for a store that compresses nothing.
        self.compression = compression
        self._records: dict[ObjectKey, Record] = {}
        self._indexes = {name: Index.by(extract) for name, extract in (indexes or {}).items()}
        #: Bytes of the content of all records, as it is stored.
        self._bytes = 0
        #: uid → version of the deletion, oldest first.
        self._gone: OrderedDict[str, str] = OrderedDict()

    # For the writer.

    def put(self, record: Record) -> list[Change]:
        """Store an object that was added or changed; a version that is not newer changes nothing."""
        old = self._records.get(record.key)
        if old is None:
            if self._is_late(record):
                return []
            self._enter(record)
            return [Added(record)]
        if old.uid == record.uid:
            if not is_newer(record.resource_version, old.resource_version):
                return []
            self._enter(record, old)
            return [Updated(old, record)]
        if self._is_late(record):
            return []
        # Same name, another uid: the deletion of the old object was not seen.
        self._enter(record, old)
        return [Deleted(old, was_observed=False), Added(record)]

    def remove(self, record: Record) -> list[Change]:
        """Remove an object that was deleted; the record has the version of the deletion."""
        old = self._records.get(record.key)
        self._remember_gone(record)
        if old is None or old.uid != record.uid or is_newer(old.resource_version, record.resource_version):
            return []
        del self._records[record.key]
        self._bytes -= len(old.content)
        if self.compression is not None:
            self.compression.removed(record.key)
        for index in self._indexes.values():
            index.remove(record.key)
        return [Deleted(record)]

    def replace(self, records: Iterable[Record], *, namespace: str = "", initial: bool = False) -> list[Change]:
        """Replace all objects by those of a list; deletions come first, then creations and updates.

        With a namespace only the objects of that namespace are replaced. With ``initial`` creations are marked as such.
        """
        before = self._records
        if self.compression is not None:
            records = self.compression.all_compressed(records)
        listed = {record.key: record for record in records}
        after = listed
        if namespace:
            after = {key: record for key, record in before.items() if key.namespace != namespace} | listed
        indexes = {name: index.rebuilt(after.values(), before) for name, index in self._indexes.items()}
        changes: list[Change] = [
            Deleted(old, was_observed=False) for key, old in before.items() if _is_gone(old, after.get(key))
        ]
        for key, new in listed.items():
            known = before.get(key)
            if known is None or known.uid != new.uid:
                changes.append(Added(new, initial))
            elif known.resource_version != new.resource_version:
                changes.append(Updated(known, new))
        self._gone.clear()
        self._records, self._indexes = after, indexes
        self._bytes = sum(len(record.content) for record in after.values())
        return changes

    def compress_cold(self) -> None:
        """Compress objects that have not changed lately, a bounded number of them."""
        if self.compression is not None and self.compression.is_active:
            for key in self.compression.cold():
                self._compress(self.compression, key)

    def add_index(self, name: str, extract: Extract) -> None:
        """Add an index, also of the existing objects; raise ``ValueError`` if there is one of that name."""
        if name in self._indexes:
            raise ValueError(f"there is an index {name!r} already")
        self._indexes[name] = Index.by(extract).rebuilt(self._records.values())

    # For readers, in any thread; each call is atomic.

    def get(self, key: ObjectKey) -> Record | None:
        """Return the record of a key; ``None`` if there is none."""
        return self._records.get(key)

    def has_seen(self, key: ObjectKey, uid: str, version: str) -> bool:
        """Return whether the object of that uid has, or had when it was deleted, this version or a newer one."""
        record = self._records.get(key)
        if record is not None and record.uid == uid:
            return not is_newer(version, record.resource_version)
        gone = self._gone.get(uid)
        return gone is not None and not is_newer(version, gone)

    def records(self) -> list[Record]:
        """Return all records at one moment."""
        return list(self._records.values())

    def keys(self) -> list[ObjectKey]:
        """Return all keys at one moment."""
        return list(self._records)

    def by_index(self, name: str, value: str) -> list[Record]:
        """Return the records with a value in an index."""
        records = self._records
        found = (records.get(key) for key in self._index(name).keys(value))
        return [record for record in found if record is not None]

    def keys_by_index(self, name: str, value: str) -> list[ObjectKey]:
        """Return the keys of the objects with a value in an index."""
        return self._index(name).keys(value)

    def values_of(self, name: str, key: ObjectKey) -> tuple[str, ...]:
        """Return the values of an object in an index; none if it is not indexed."""
        return self._index(name).values_of(key)

    def has_index(self, name: str) -> bool:
        """Return whether there is an index of that name."""
        return name in self._indexes

    def index_values(self, name: str) -> list[str]:
        """Return every value of an index."""
        return self._index(name).values()

    @property
    def bytes(self) -> int:
        """Bytes of all objects, as they are stored."""
        return self._bytes

    def __len__(self) -> int:
        return len(self._records)

    def __contains__(self, key: object) -> bool:
        return key in self._records

    def _index(self, name: str) -> Index:
        try:
            return self._indexes[name]
        except KeyError:
            raise KeyError(f"there is no index {name!r}; there are: {', '.join(sorted(self._indexes))}") from None

    def _enter(self, record: Record, old: Record | None = None) -> None:
        self._records[record.key] = record
        self._bytes += len(record.content) - (0 if old is None else len(old.content))
        for index in self._indexes.values():
            index.put(record)
        if self.compression is not None and self._bytes > self.compression.threshold:
            self._limit_size(self.compression, record.key)

    def _limit_size(self, compression: Compression, changed: ObjectKey) -> None:
        if compression.is_active:
            compression.changed(changed)
        elif compression.begin(self._records.values(), self._bytes):
            for key in self.keys():
                self._compress(compression, key)

    def _compress(self, compression: Compression, key: ObjectKey) -> None:
        before = self._records.get(key)
        if before is not None:
            after = self._records[key] = compression.compressed(before)
            self._bytes += len(after.content) - len(before.content)

    def _is_late(self, record: Record) -> bool:
        """Return whether an object was deleted at this version or later: events can be repeated after a reconnect."""
        gone = self._gone.get(record.uid)
        return gone is not None and not is_newer(record.resource_version, gone)

    def _remember_gone(self, record: Record) -> None:
        self._gone[record.uid] = record.resource_version
        if len(self._gone) > _REMEMBERED_DELETIONS:
            self._gone.popitem(last=False)

    def __repr__(self) -> str:
        return f"<Store objects={len(self._records)} indexes={sorted(self._indexes)}>"
