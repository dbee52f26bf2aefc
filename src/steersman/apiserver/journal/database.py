"""`Database`: the objects of a cluster in an SQLite file.

Synchronous; at any time only one thread may be inside. A transaction is on the disk when `write` returns: after a crash
of the process or of the machine, the file holds exactly the batches that were written, in their order.
"""

import sqlite3
import zlib
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing
from pathlib import Path
from typing import Final, NamedTuple, Self

from steersman.apiserver.journal.watermark import Watermark, read_watermark
from steersman.apiserver.storage.record import Record
from steersman.errors import ConfigError, DecodeError
from steersman.objects.codec import decode_json, encode_json

#: What the file says that it is; SQLite keeps the number in the file's head.
APPLICATION: Final = 0x53545231
#: The layout of the tables. A program reads its own and refuses those that it cannot know.
FORMAT: Final = 1
_MAGIC = b"SQLite format 3\x00"
_HEAD = 100
_SCHEMA = """
CREATE TABLE objects (
    resource TEXT NOT NULL, namespace TEXT NOT NULL, name TEXT NOT NULL, version INTEGER NOT NULL,
    fields BLOB NOT NULL, raw BLOB NOT NULL, checksum INTEGER NOT NULL,
    PRIMARY KEY (resource, namespace, name)
);
CREATE TABLE state (key TEXT PRIMARY KEY, value INTEGER NOT NULL);
"""
_PUT = "INSERT OR REPLACE INTO objects VALUES (?, ?, ?, ?, ?, ?, ?)"
_DELETE = "DELETE FROM objects WHERE resource = ? AND namespace = ? AND name = ?"
_SET_VERSION = "INSERT OR REPLACE INTO state VALUES ('version', ?)"
_ALL = "SELECT resource, namespace, name, version, fields, raw, checksum FROM objects ORDER BY version"


class Row(NamedTuple):
    """One object as it lies in the file."""

    resource: str
    namespace: str
    name: str
    version: int
    fields: bytes
    raw: bytes
    #: Of everything before it: a file system may give back other bytes than it was given.
    checksum: int

    def __repr__(self) -> str:
        # The content stays out: some rows are Secrets.
        return f"<Row {self.resource} {self.namespace}/{self.name} version={self.version}>"

    @classmethod
    def of(cls, resource: str, record: Record) -> Self:
        """Write a record down."""
        place = (resource, record.namespace, record.name)
        content = (record.version, encode_json(dict(record.fields)), record.raw)
        return cls(*place, *content, _checksum(*place, *content))

    def record(self) -> Record:
        """Return the written record; raise ValueError if its checksum does not match."""
        if self.checksum != _checksum(*self[:-1]):
            raise ValueError(f"{self.resource} {self.namespace}/{self.name} is not what was written")
        return Record(decode_json(self.raw), self.version, decode_json(self.fields))


def _checksum(resource: str, namespace: str, name: str, version: int, *content: bytes) -> int:
    head = f"{resource}\0{namespace}\0{name}\0{version}\0".encode()
    return zlib.crc32(b"\0".join(content), zlib.crc32(head))


class Gone(NamedTuple):
    """The place of an object that was deleted."""

    resource: str
    namespace: str
    name: str


class Database:
    """An open file."""

    def __init__(self, connection: sqlite3.Connection, watermark: Watermark) -> None:
        self._connection = connection
        self._watermark = watermark

    @classmethod
    def create(cls, path: Path) -> None:
        """Make an empty file; it appears whole or not at all."""
        unfinished = path.with_name(f".{path.name}.new")
        unfinished.unlink(missing_ok=True)
        unfinished.touch(mode=0o600)
        with closing(_connect(unfinished, "rw")) as connection:
            connection.executescript(_SCHEMA)
            connection.execute(f"PRAGMA application_id = {APPLICATION}")
            connection.execute(f"PRAGMA user_version = {FORMAT}")
            connection.execute("PRAGMA journal_mode = WAL")
        unfinished.replace(path)

    @classmethod
    def open(cls, path: Path) -> Self:
        """Open a file to write to; who calls has read it before."""
        connection = _connect(path, "rw")
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("PRAGMA synchronous = FULL")
        return cls(connection, Watermark(_watermark(path)))

    def write(self, changes: Iterable[Row | Gone], version: int) -> None:
        """Write a batch and the version that it led to, all or nothing."""
        connection = self._connection
        connection.execute("BEGIN IMMEDIATE")
        try:
            for change in changes:
                connection.execute(_PUT if isinstance(change, Row) else _DELETE, change)
            connection.execute(_SET_VERSION, (version,))
            connection.execute("COMMIT")
        except BaseException:
            connection.rollback()
            raise
        self._watermark.set(version)

    def close(self) -> None:
        """Tidy up and close."""
        self._connection.close()
        self._watermark.close()


def read_database(path: Path) -> tuple[int, list[tuple[str, Record]]]:
    """Return the version and all records of a file, with their resources, without changing the file.

    Raises ConfigError, which says what is wrong, for a file that is damaged, of another program or of a newer one.
    """
    check_head(path)
    try:
        # The mark first: a server that is running raises it only after it has written.
        promised = read_watermark(_watermark(path))
        with closing(_connect(path, "ro")) as connection:
            connection.execute("BEGIN")
            _check_pages(path, connection)
            version = _version(connection)
            records = [(row.resource, row.record()) for row in _rows(connection)]
    except (sqlite3.DatabaseError, ValueError, TypeError, KeyError, DecodeError) as error:
        raise damaged(path, str(error)) from None
    if version < promised or any(record.version > version for _, record in records):
        raise damaged(path, f"it ends at version {version}, but had more")
    return version, records


def _version(connection: sqlite3.Connection) -> int:
    found = connection.execute("SELECT value FROM state WHERE key = 'version'").fetchone()
    version = found[0] if found else 0
    if version.__class__ is not int:
        raise ValueError("its version is no number")
    return int(version)


def _watermark(path: Path) -> Path:
    return path.with_name("watermark")


def check_head(path: Path) -> None:
    """Reject a file of another program by its first bytes, before SQLite touches it."""
    try:
        with path.open("rb") as file:
            head = file.read(_HEAD)
    except OSError as error:
        raise ConfigError(f"cannot read {path}: {error.strerror}") from None
    if len(head) < _HEAD or not head.startswith(_MAGIC):
        raise ConfigError(f"{path} is not a cluster of Steersman, or its beginning is damaged: it was left untouched")
    if int.from_bytes(head[68:72], "big") != APPLICATION:
        raise ConfigError(f"{path} is a database of another program: it was left untouched")
    layout = int.from_bytes(head[60:64], "big")
    if layout > FORMAT:
        raise ConfigError(
            f"{path} was written by a newer Steersman (format {layout}, this one knows {FORMAT}): it was left untouched"
        )


def damaged(path: Path, why: str) -> ConfigError:
    """Return the error about a file with invalid content."""
    return ConfigError(f"{path} is damaged ({why}): it was left untouched")


def _connect(path: Path, mode: str) -> sqlite3.Connection:
    uri = f"{path.absolute().as_uri()}?mode={mode}"
    return sqlite3.connect(uri, uri=True, isolation_level=None, check_same_thread=False, timeout=5.0)


def _check_pages(path: Path, connection: sqlite3.Connection) -> None:
    complaint = connection.execute("PRAGMA integrity_check(1)").fetchone()[0]
    if complaint != "ok":
        raise damaged(path, complaint)


def _rows(connection: sqlite3.Connection) -> Iterator[Row]:
    cursor = connection.execute(_ALL)
    while batch := cursor.fetchmany(500):
        for values in batch:
            yield Row(*values)


def rows_of(records: Sequence[tuple[str, Record]]) -> list[Row]:
    """Write records down."""
    return [Row.of(resource, record) for resource, record in records]
