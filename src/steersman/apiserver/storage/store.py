"""The store: every object of the server, one increasing version, and a single function that writes.

A writer decides from records that it read what to write, and then commits without suspending in between;
so there are no locks. Versions are text outside of this package, and only equal or not.
"""

from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, Self, assert_never

from msgspec import Struct

from steersman.apiserver.storage.continue_token import INCONSISTENT, ContinueToken
from steersman.apiserver.storage.history import Event, History, HistoryLimits
from steersman.apiserver.storage.record import Record, path_of
from steersman.apiserver.storage.table import Table, in_namespace
from steersman.errors import Cause, Expired, Timeout

Match = Literal["", "Exact", "NotOlderThan"]

#: Seconds between two versions whose end of life is known.
_MARK_SECONDS = 30.0


class Put(Struct, frozen=True):
    """Write an object, whether it was there or not. Its ``metadata.resourceVersion`` is set by the store."""

    resource: str
    obj: Mapping[str, Any]
    #: Values for field selectors.
    fields: Mapping[str, str] = {}
    #: See `Record.is_whole`.
    is_whole: bool = True

    def __repr__(self) -> str:
        return f"Put(resource={self.resource!r}, is_whole={self.is_whole!r})"


@dataclass(frozen=True, slots=True)
class Delete:
    """Remove an object that is there."""

    resource: str
    namespace: str
    name: str


Change = Put | Delete


@dataclass(frozen=True, slots=True, kw_only=True)
class PageQuery:
    """Which objects a list asks for."""

    namespace: str = ""
    #: ``None`` takes everything; with a selector, the number of remaining items is not told.
    selector: Callable[[Record], bool] | None = None
    #: 0 means no limit.
    limit: int = 0
    continue_token: str = ""
    resource_version: str = ""
    match: Match = ""


@dataclass(frozen=True, slots=True)
class Page:
    """One page of a list, as of one version of the store."""

    records: list[Record]
    resource_version: str
    #: Hand it back for the next page; empty on the last one.
    continue_token: str = ""
    #: How many objects come after this page; ``None`` where it is not known.
    remaining: int | None = None


class ContinueExpired(Expired):
    """410: the history does not reach back to the first page; ``continue_token`` gives the rest as it is now."""

    def __init__(self, continue_token: str) -> None:
        super().__init__(
            "The provided continue parameter is too old to display a consistent list result. You can start a new list "
            "without the continue parameter, or use the continue token in this response to retrieve the remainder of "
            "the results. Continuing with the provided token results in an inconsistent list - objects that were "
            "created, modified, or deleted between the time the first chunk was returned and now may show up in the "
            "list.",
            code=410,
            reason="Expired",
        )
        self.continue_token = continue_token


@dataclass(frozen=True, slots=True)
class Snapshot:
    """The state of a store, for any number of restores."""

    version: int
    tables: Mapping[str, Table]
    dependents: Mapping[str, Mapping[tuple[str, str], None]]


class Store:
    """Objects by resource (``widgets.demo.dev``), namespace and name."""

    def __init__(self, limits: HistoryLimits | None = None) -> None:
        self._limits = limits or HistoryLimits()
        self._version = 1
        self._tables: dict[str, Table] = {}
        #: Resource and path of the objects that name an owner, by its uid.
        self._dependents: dict[str, dict[tuple[str, str], None]] = {}
        #: Where the history of a resource begins to which nothing was written yet.
        self._beginning = 0
        #: Versions and when they were replaced by newer ones, some seconds apart, the oldest first.
        self._marks: deque[tuple[float, int]] = deque()
        self._next_mark = 0.0
        #: Lists at versions before this one are rejected, also of resources to which nothing was written since.
        self._compacted = 0

    @classmethod
    def load(cls, records: Iterable[tuple[str, Record]], version: int, limits: HistoryLimits | None = None) -> Self:
        """Return a store with these objects, at this version, without history."""
        store = cls(limits)
        store._beginning = version
        for resource, record in records:
            store._table(resource).put(record)
            store._reindex(resource, record.path, None, record)
        store._version = max(version, 1)
        return store

    def __repr__(self) -> str:
        objects = sum(len(table.records) for table in self._tables.values())
        return f"<Store at {self._version}: {objects} objects of {len(self._tables)} resources>"

    @property
    def resource_version(self) -> str:
        """The version of the last write."""
        return str(self._version)

    def commit(self, changes: Iterable[Change], now: float) -> list[Event]:
        """Carry out changes, in order, all or none; gives their events. Nothing else writes.

        Raises KeyError, and changes nothing, if an object to be deleted is not there.
        """
        if now >= self._next_mark:
            self._marks.append((now, self._version))
            self._next_mark = now + _MARK_SECONDS
        listed = list(changes)
        if Delete in map(type, listed):
            self._check(listed)
        return [self._carry_out(change, now) for change in listed]

    def compact(self, now: float) -> None:
        """Reject lists at versions that were replaced too long ago, as etcd does after a compaction."""
        while self._marks and self._marks[0][0] <= now - self._limits.seconds:
            self._compacted = self._marks.popleft()[1]

    def _check(self, changes: list[Change]) -> None:
        there: dict[tuple[str, str], bool] = {}
        for change in changes:
            match change:
                case Put(resource, obj):
                    metadata = obj["metadata"]
                    there[resource, path_of(metadata.get("namespace", ""), metadata["name"])] = True
                case Delete(resource, namespace, name):
                    place = (resource, path_of(namespace, name))
                    if not there.get(place, self.get(resource, namespace, name) is not None):
                        raise KeyError(f"{resource} {place[1]} is not there")
                    there[place] = False
                case _:
                    assert_never(change)

    def _carry_out(self, change: Change, now: float) -> Event:
        table = self._table(change.resource)
        version = self._version + 1
        if isinstance(change, Put):
            record = Record(change.obj, version, change.fields, is_whole=change.is_whole)
            before = table.put(record)
            self._reindex(change.resource, record.path, before, record)
            event = Event("ADDED" if before is None else "MODIFIED", change.resource, record, before, now)
        else:
            before = table.remove(change.namespace, change.name)
            self._reindex(change.resource, before.path, before, None)
            event = Event("DELETED", change.resource, before.at(version), before, now)
        self._version = version
        table.history.append(event)
        return event

    def repeat(self, event: Event) -> None:
        """Carry out a write of another run again; the store must be as it was before the write."""
        record, table = event.record, self._table(event.resource)
        if event.type == "DELETED":
            before: Record | None = table.remove(record.namespace, record.name)
        else:
            before = table.put(record)
        self._reindex(event.resource, record.path, before, None if event.type == "DELETED" else record)
        self._version = record.version
        table.history.append(event)

    def _table(self, resource: str) -> Table:
        table = self._tables.get(resource)
        if table is None:
            # Nothing was written to it, so its history reaches back to the beginning.
            table = self._tables[resource] = Table(History(self._limits, self._beginning))
        return table

    def _reindex(self, resource: str, path: str, before: Record | None, after: Record | None) -> None:
        old = before.owner_uids if before is not None else ()
        new = after.owner_uids if after is not None else ()
        if old == new:
            return
        place = (resource, path)
        for uid in old:
            places = self._dependents.get(uid, {})
            places.pop(place, None)
            if not places:
                self._dependents.pop(uid, None)
        for uid in new:
            self._dependents.setdefault(uid, {})[place] = None

    def get(self, resource: str, namespace: str, name: str) -> Record | None:
        """Return an object; ``None`` if it does not exist."""
        table = self._tables.get(resource)
        return None if table is None else table.records.get(path_of(namespace, name))

    def dependents_of(self, uid: str) -> list[tuple[str, Record]]:
        """Return the objects that refer to an owner, each with its resource."""
        places = self._dependents.get(uid, {})
        return [(resource, self._tables[resource].records[path]) for resource, path in places]

    def resources(self) -> list[str]:
        """Return the resources that have objects, in order."""
        return sorted(resource for resource, table in self._tables.items() if table.records)

    def count(self, resource: str) -> int:
        """Return the number of objects of a resource."""
        table = self._tables.get(resource)
        return 0 if table is None else len(table.records)

    def list(self, resource: str, options: PageQuery = PageQuery()) -> Page:  # noqa: B008 - frozen
        """Return a page of objects, in order of namespace and name.

        Raises Expired or ContinueExpired where the history does not reach back, Timeout for a version that is not there
        yet, BadRequest for a continue token that is none, ValueError for a version that is no number.
        """
        table = self._table(resource)
        version, start = self._place(table, options)
        paths, changed = table.paths_at(version)
        low, high = in_namespace(paths, options.namespace, start)
        records: list[Record] = []
        limit = options.limit or high - low + 1
        position = low
        while position < high and len(records) < limit:
            path = paths[position]
            record = changed.get(path) or table.records[path]
            if options.selector is None or options.selector(record):
                records.append(record)
            position += 1
        if position == high:
            return Page(records, str(version))
        rest = paths[position - 1].removeprefix(f"{options.namespace}/") if options.namespace else paths[position - 1]
        remaining = high - position if options.selector is None else None
        return Page(records, str(version), ContinueToken.after(version, rest).encode(), remaining)

    def _place(self, table: Table, options: PageQuery) -> tuple[int, str]:
        """Return the version at which a list is read, and its first path."""
        if options.continue_token:
            token = ContinueToken.decode(options.continue_token)
            start = path_of(options.namespace, token.start)
            if token.version <= INCONSISTENT:
                return self._version, start
            if not max(table.history.floor, self._compacted) <= token.version <= self._version:
                raise ContinueExpired(ContinueToken(INCONSISTENT, token.start).encode())
            return token.version, start
        wanted = parse_version(options.resource_version)
        self._check_reached(wanted)
        if not wanted or not (options.match == "Exact" or (options.limit and not options.match)):
            return self._version, ""
        if wanted < max(table.history.floor, self._compacted):
            raise Expired("The resourceVersion for the provided list is too old.", code=410, reason="Expired")
        return wanted, ""

    def _check_reached(self, version: int) -> None:
        if version > self._version:
            raise Timeout(
                f"Timeout: Too large resource version: {version}, current: {self._version}",
                code=504,
                reason="Timeout",
                causes=[Cause("ResourceVersionTooLarge", "Too large resource version")],
                retry_after=1,
            )

    def events_since(self, resource: str, resource_version: str) -> Sequence[Event]:
        """Return the events after a version; raise Expired if they are not stored any more."""
        return self._table(resource).history.since(parse_version(resource_version))

    def expire_history(self, resource: str | None = None) -> None:
        """Drop the events of one resource or of all, so that clients with an older version must list again."""
        for name, table in self._tables.items():
            if resource in (None, name):
                table.history.expire()

    def snapshot(self) -> Snapshot:
        """Return all objects, for `restore`; they are shared, not copied."""
        return Snapshot(
            self._version,
            {resource: table.copy() for resource, table in self._tables.items()},
            {uid: dict(places) for uid, places in self._dependents.items()},
        )

    def restore(self, snapshot: Snapshot) -> None:
        """Come back to a snapshot, its version included: cursors and clients of the time between know a lost world."""
        self._version = snapshot.version
        self._marks.clear()
        self._next_mark, self._compacted = 0.0, 0
        self._tables = {resource: table.copy() for resource, table in snapshot.tables.items()}
        self._dependents = {uid: dict(places) for uid, places in snapshot.dependents.items()}


def parse_version(text: str) -> int:
    """Read a resource version; empty counts as 0. Raises ValueError for anything that is no version."""
    if not text:
        return 0
    if not (text.isascii() and text.isdigit()):
        raise ValueError(f"Invalid value: {text!r}")
    return int(text)
