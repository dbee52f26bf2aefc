"""The objects of one resource, by path, and what happened to them."""

from bisect import bisect_left

from steersman.apiserver.storage.history import History
from steersman.apiserver.storage.record import Record, path_of


class Table:
    """Finds objects by path and walks through them in order, now or as they were."""

    __slots__ = ("_added", "_order", "_removed", "history", "records")

    def __init__(self, history: History, records: dict[str, Record] | None = None) -> None:
        self.records: dict[str, Record] = {} if records is None else records
        self.history = history
        #: Paths in order, as of the last ordered read: writes must stay cheap.
        #: Invariant: the paths of the records are those in here without the removed ones, and the added ones.
        self._order: list[str] = []
        self._added: dict[str, None] = dict.fromkeys(self.records)
        self._removed: set[str] = set()

    def put(self, record: Record) -> Record | None:
        """Store a new state and return the previous one."""
        path = record.path
        before = self.records.get(path)
        if before is None:
            if path in self._removed:
                self._removed.discard(path)
            else:
                self._added[path] = None
        self.records[path] = record
        return before

    def remove(self, namespace: str, name: str) -> Record:
        """Forget an object; gives its last state."""
        path = path_of(namespace, name)
        record = self.records.pop(path)
        if path in self._added:
            del self._added[path]
        else:
            self._removed.add(path)
        return record

    def paths(self) -> list[str]:
        """Return all paths in order; the list belongs to the table."""
        if self._removed:
            self._order = [path for path in self._order if path not in self._removed]
            self._removed = set()
        if self._added:
            self._order = [*self._order, *self._added]
            self._order.sort()
            self._added = {}
        return self._order

    def paths_at(self, version: int) -> tuple[list[str], dict[str, Record | None]]:
        """Return the paths as of a version, and the records that were different then (``None``: did not exist).

        Raises Expired if the history does not reach back.
        """
        changed = self.changed_since(version)
        if not changed:
            return self.paths(), changed
        gone = {path for path, record in changed.items() if record is None}
        back = [path for path, record in changed.items() if record is not None and path not in self.records]
        return sorted([path for path in self.paths() if path not in gone] + back), changed

    def changed_since(self, version: int) -> dict[str, Record | None]:
        """Give, for what was written since a version, the state at that version."""
        result: dict[str, Record | None] = {}
        for event in self.history.since(version):
            result.setdefault(event.record.path, event.previous)
        return result

    def copy(self) -> "Table":
        """Return an independent table of the same objects."""
        return Table(self.history.copy(), dict(self.records))


def in_namespace(paths: list[str], namespace: str, start: str) -> tuple[int, int]:
    """Return the range of ordered paths of a namespace (empty: all), from a path on if one is given."""
    low, high = 0, len(paths)
    if namespace:
        # "0" is the character after "/".
        low, high = bisect_left(paths, f"{namespace}/"), bisect_left(paths, f"{namespace}0")
    if start:
        low = max(low, bisect_left(paths, start))
    return low, high
