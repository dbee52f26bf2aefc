"""The managedFields list of an object and what the algorithms work on, translated into each other.

Fields sets are kept as the FieldsV1 trees that they are on the wire. What the server wrote itself is trusted; what a
client sends is read with care.
"""

from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from typing import Any, Final, Literal, NamedTuple

from steersman.apiserver.managed_fields.field_set import Fields, difference, parse, set_of, union
from steersman.apiserver.managed_fields.path_element import json_text
from steersman.golang import text as go_text
from steersman.json_types import JsonObject

Operation = Literal["Apply", "Update"]

#: More managers that update than these, and the oldest are merged.
MAX_UPDATE_MANAGERS: Final = 10
ANCIENT_CHANGES: Final = "ancient-changes"
BEFORE_FIRST_APPLY: Final = "before-first-apply"

#: Fields without owners: those that the server sets, and those that identify the object.
STRIPPED: Final = set_of(
    ("apiVersion",),
    ("kind",),
    ("metadata",),
    *(
        ("metadata", name)
        for name in (
            "name",
            "namespace",
            "creationTimestamp",
            "selfLink",
            "uid",
            "generation",
            "managedFields",
            "resourceVersion",
        )
    ),
)


class ManagerKey(NamedTuple):
    """What tells managers apart. Appliers keep their identity when they change the version they apply."""

    name: str
    operation: Operation
    #: Empty for appliers.
    api_version: str
    subresource: str

    @property
    def identifier(self) -> str:
        """The text by which the API server sorts managers."""
        parts = {
            "manager": self.name,
            "operation": self.operation,
            "apiVersion": self.api_version,
            "subresource": self.subresource,
        }
        return "{" + ",".join(f'"{key}":{json_text(value)}' for key, value in parts.items() if value) + "}"

    def __str__(self) -> str:
        text = go_text.quoted(self.name)
        if self.subresource:
            text += f" with subresource {go_text.quoted(self.subresource)}"
        return f"{text} using {self.api_version}" if self.operation == "Update" else text


class OwnedFields(NamedTuple):
    """What one manager owns, in the version in which it wrote it, and when it last changed something."""

    fields: Fields
    api_version: str
    time: str | None = None


Managers = dict[ManagerKey, OwnedFields]


def key_of(name: str, operation: Operation, api_version: str, subresource: str) -> ManagerKey:
    """Return the key of the manager of the current write."""
    return ManagerKey(name or "unknown", operation, "" if operation == "Apply" else api_version, subresource)


def read(entries: Iterable[Mapping[str, Any]] | None) -> Managers:
    """Read a list that the server wrote."""
    return {
        key_of(
            entry.get("manager", ""), entry["operation"], entry["apiVersion"], entry.get("subresource", "")
        ): OwnedFields(entry.get("fieldsV1", {}), entry["apiVersion"], entry.get("time"))
        for entry in entries or ()
    }


def read_foreign(entries: object) -> Managers:
    """Read a list that a client wrote; raises ValueError if it makes no sense."""
    if entries.__class__ is not list:
        raise ValueError("managedFields must be a list")
    return dict(_read_foreign_entry(entry) for entry in entries)


def _read_foreign_entry(entry: object) -> tuple[ManagerKey, OwnedFields]:
    if entry.__class__ is not dict:
        raise ValueError("an entry of managedFields must be an object")
    operation, api_version = entry.get("operation"), entry.get("apiVersion")
    if operation not in ("Apply", "Update"):
        raise ValueError("operation must be `Apply` or `Update`")
    if not api_version:
        raise ValueError("apiVersion must not be empty")
    if entry.get("fieldsType") != "FieldsV1":
        raise ValueError("fieldsType must be FieldsV1")
    fields = parse(entry.get("fieldsV1") or {})
    key = key_of(entry.get("manager") or "", operation, api_version, entry.get("subresource") or "")
    return key, OwnedFields(fields, api_version, _seconds(entry.get("time")))


def _seconds(time: Any) -> str | None:
    """Return a time in the form in which it is stored: UTC, whole seconds."""
    if time is None:
        return None
    return f"{datetime.fromisoformat(time).astimezone(UTC).replace(tzinfo=None).isoformat(timespec='seconds')}Z"


def is_reset(entries: object) -> bool:
    """Return whether a list in a request resets all owners."""
    return entries.__class__ is list and len(entries) == 1 and entries[0] == {}


def write(managers: Managers) -> list[JsonObject]:
    """Write the list: by operation, time, manager, version and subresource; who owns nothing is left out."""
    ordered = sorted((key for key in managers if managers[key].fields), key=lambda key: _order(key, managers[key]))
    return [_entry(key, managers[key]) for key in ordered]


def write_one(key: ManagerKey, ownership: OwnedFields) -> list[JsonObject]:
    """Write the list of a single manager."""
    return [_entry(key, ownership)] if ownership.fields else []


def _order(key: ManagerKey, ownership: OwnedFields) -> tuple[str, ...]:
    return key.operation, ownership.time or "", key.name, ownership.api_version, key.subresource


def _entry(key: ManagerKey, ownership: OwnedFields) -> JsonObject:
    entry: JsonObject = {
        "manager": key.name,
        "operation": key.operation,
        "apiVersion": ownership.api_version,
    }
    if ownership.time is not None:
        entry["time"] = ownership.time
    entry["fieldsType"] = "FieldsV1"
    entry["fieldsV1"] = ownership.fields
    if key.subresource:
        entry["subresource"] = key.subresource
    return entry


def stripped(fields: Fields) -> Fields:
    """Remove the fields without owners."""
    return difference(fields, STRIPPED)


def capped(managers: Managers) -> Managers:
    """Merge the oldest of too many updating managers into one per version."""
    updaters = [key for key in managers if key.operation == "Update"]
    surplus = len(updaters) - MAX_UPDATE_MANAGERS
    if surplus <= 0:
        return managers
    updaters.sort(key=lambda key: (managers[key].time or "", key.identifier))
    result = dict(managers)
    first_of: dict[str, ManagerKey] = {}
    for key in updaters:
        version = managers[key].api_version
        if version not in first_of:
            first_of[version] = key
            continue
        bucket = ManagerKey(ANCIENT_CHANGES, "Update", version, "")
        older, newer = result.pop(first_of[version]), result.pop(key)
        # The time of the newer one: it is when the bucket last changed.
        result[bucket] = newer._replace(fields=union(older.fields, newer.fields))
        first_of[version] = bucket
        surplus -= 1
        if not surplus:
            break
    return result
