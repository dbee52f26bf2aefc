"""The files of a backup: one with BSON for each collection, and a manifest with counts and checksums.

The manifest is written last, and the folder gets its final name when it is complete.
"""

import hashlib
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Literal

from bson import json_util
from steersman import Model
from steersman.objects import decode_as, encode_json

from mgors.errors import DamagedError

MANIFEST = "manifest.json"
#: Maximum number of documents, and of their bytes, in one batch.
BATCH, BATCH_BYTES = 1_000, 16_000_000
_LENGTH = 4

Kind = Literal["collection", "timeseries", "view", "users", "roles"]


class Collection(Model):
    """One collection of a backup; a view has a definition and no documents, a time series has its buckets."""

    db: str
    name: str
    kind: Kind = "collection"
    file: str = ""
    documents: int = 0
    size: int = 0
    sha256: str = ""
    #: Options and indexes, as extended JSON.
    options: str = "{}"
    indexes: str = "[]"
    #: For a capped collection, which is read after the snapshot: the position in the oplog when that began.
    since: str = ""

    @property
    def place(self) -> str:
        """Full name, for messages."""
        return f"{self.db}.{self.name}"

    @property
    def is_capped(self) -> bool:
        """Whether it is a capped collection, whose documents keep their insertion order."""
        return bool(json_util.loads(self.options).get("capped"))


class Manifest(Model):
    """The content of a backup."""

    collections: list[Collection]
    #: Left out on purpose: databases of the server itself, and diagnostics of one member.
    left_out: list[str] = []
    #: Position of the snapshot in the oplog, and the earliest one that replayed entries can bring the data to.
    at: str = ""
    usable_from: str = ""

    @property
    def documents(self) -> int:
        """Number of documents."""
        return sum(one.documents for one in self.collections)

    @property
    def size(self) -> int:
        """Number of bytes."""
        return sum(one.size for one in self.collections)

    @property
    def databases(self) -> list[str]:
        """The databases that a restore replaces."""
        return sorted({one.db for one in self.collections if one.kind not in ("users", "roles")})

    def names(self, db: str) -> set[str]:
        """Return the collections and views of a database."""
        return {one.name for one in self.collections if one.db == db}


def write_manifest(manifest: Manifest, folder: Path) -> str:
    """Write the manifest of a backup whose files are complete; return its checksum."""
    data = encode_json(manifest)
    (folder / MANIFEST).write_bytes(data)
    return hashlib.sha256(data).hexdigest()


def read_manifest(folder: Path, sha256: str) -> Manifest:
    """Read the manifest of a backup, and check it against its checksum."""
    try:
        data = (folder / MANIFEST).read_bytes()
    except OSError as error:
        raise DamagedError(f"the backup {folder.name} cannot be read: {error.strerror}") from error
    if hashlib.sha256(data).hexdigest() != sha256:
        raise DamagedError(f"the manifest of the backup {folder.name} was changed")
    return decode_as(Manifest, data)


def check_file(folder: Path, one: Collection) -> None:
    """Check the file of a collection against its checksum."""
    if not one.file:
        return
    digest = hashlib.sha256()
    try:
        for batch in batches(folder / one.file):
            digest.update(batch)
    except OSError as error:
        raise DamagedError(f"{one.file} of the backup {folder.name} cannot be read: {error.strerror}") from error
    if digest.hexdigest() != one.sha256:
        raise DamagedError(f"{one.file} of the backup {folder.name}, {one.place}, was changed")


def offset_of(file: Path, number: int) -> int:
    """Return the offset in a file of the document with this number."""
    with file.open("rb") as source:
        for _ in range(number):
            source.seek(int.from_bytes(source.read(_LENGTH), "little") - _LENGTH, 1)
        return source.tell()


def batches(file: Path, offset: int = 0) -> Iterator[bytes]:
    """Yield the documents of a file in batches, from an offset on."""
    with file.open("rb") as source:
        source.seek(offset)
        batch, count = bytearray(), 0
        while head := source.read(_LENGTH):
            rest = int.from_bytes(head, "little") - _LENGTH
            batch += head + source.read(rest)
            count += 1
            if count == BATCH or len(batch) >= BATCH_BYTES:
                yield bytes(batch)
                batch, count = bytearray(), 0
        if batch:
            yield bytes(batch)


def remove(folder: Path) -> None:
    """Delete a backup, also an incomplete one."""
    shutil.rmtree(folder, ignore_errors=True)
    shutil.rmtree(folder.with_name(f"{folder.name}.partial"), ignore_errors=True)
