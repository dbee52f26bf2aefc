"""One state of one object: its bytes, and the few facts by which it is found."""

from collections.abc import Mapping
from typing import Any

import msgspec

from steersman.json_types import JsonObject

_decode = msgspec.json.decode
_encode = msgspec.json.encode


class Record:
    """An object as it was written at one version. Never changed; a write makes a new one.

    ``raw`` is its JSON in the storage version, complete, with the version in ``metadata.resourceVersion``.
    """

    __slots__ = (
        "fields",
        "is_deleting",
        "is_whole",
        "labels",
        "name",
        "namespace",
        "owner_uids",
        "path",
        "raw",
        "uid",
        "version",
        "written",
    )

    def __init__(
        self, obj: Mapping[str, Any], version: int, fields: Mapping[str, str], *, is_whole: bool = True
    ) -> None:
        metadata = obj["metadata"]
        #: For the store and its index only: everywhere else versions are opaque texts.
        self.version = version
        #: At which version the object was last written: before ``version`` where that is the one of its going away.
        self.written = version
        self.namespace: str = metadata.get("namespace", "")
        self.name: str = metadata["name"]
        #: Position of the object among those of its resource.
        self.path = path_of(self.namespace, self.name)
        self.uid: str = metadata.get("uid", "")
        self.labels: Mapping[str, str] = dict(metadata.get("labels") or {})
        #: Values that field selectors ask for.
        self.fields = fields
        owners = metadata.get("ownerReferences")
        self.owner_uids: tuple[str, ...] = tuple([owner["uid"] for owner in owners]) if owners else ()
        #: Whether the object was written with everything in it; if not, some of it is only filled in when it is read,
        #: and writing it again as it is read changes it.
        self.is_whole = is_whole
        self.is_deleting = metadata.get("deletionTimestamp") is not None
        self.raw = _encode({**obj, "metadata": {**metadata, "resourceVersion": str(version)}})

    @property
    def resource_version(self) -> str:
        """The version as clients see it."""
        return str(self.version)

    def decode(self) -> JsonObject:
        """Return the decoded object; the caller may change it."""
        obj: JsonObject = _decode(self.raw)
        return obj

    def at(self, version: int) -> "Record":
        """Return the same object with another version, as the event of its removal shows it."""
        record = Record(self.decode(), version, self.fields, is_whole=self.is_whole)
        record.written = self.written
        return record

    def __repr__(self) -> str:
        return f"<Record {self.path} at {self.version}, {len(self.raw)} bytes>"


def path_of(namespace: str, name: str) -> str:
    """Return the path of an object; paths sort as the API server's keys do."""
    return f"{namespace}/{name}" if namespace else name
