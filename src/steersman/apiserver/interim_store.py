"""Interim."""

from bisect import bisect_right
from typing import Any

Key = tuple[str, str]


class Record:
    __slots__ = ("fields", "labels", "name", "namespace", "owners", "raw", "uid", "version")

    def __init__(self, version: int, namespace: str, name: str, uid: str, raw: bytes, labels: dict[str, str], fields: dict[str, str], owners: tuple[str, ...]) -> None:
        self.version = version
        self.namespace = namespace
        self.name = name
        self.uid = uid
        self.raw = raw
        self.labels = labels
        self.fields = fields
        self.owners = owners


class Event:
    __slots__ = ("encoded", "kind", "previous", "record", "version")

    def __init__(self, version: int, kind: str, record: Record, previous: Record | None) -> None:
        self.version = version
        self.kind = kind
        self.record = record
        self.previous = previous
        self.encoded: dict[Any, bytes] = {}


class Store:
    def __init__(self) -> None:
        self.version = 1
        self.tables: dict[str, dict[Key, Record]] = {}
        self.log: dict[str, list[Event]] = {}
        self.floor: dict[str, int] = {}

    def table(self, resource: str) -> dict[Key, Record]:
        return self.tables.setdefault(resource, {})

    def get(self, resource: str, namespace: str, name: str) -> Record | None:
        table = self.tables.get(resource)
        return None if table is None else table.get((namespace, name))

    def commit(self, resource: str, kind: str, record: Record, previous: Record | None) -> Event:
        self.version = record.version
        event = Event(record.version, kind, record, previous)
        table = self.table(resource)
        if kind == "DELETED":
            table.pop((record.namespace, record.name), None)
        else:
            table[record.namespace, record.name] = record
        self.log.setdefault(resource, []).append(event)
        return event

    def since(self, resource: str, version: int) -> list[Event] | None:
        if version < self.floor.get(resource, 0):
            return None
        events = self.log.get(resource, [])
        return events[bisect_right(events, version, key=lambda event: event.version) :]
