"""`DataDirectory`: the directory of a cluster's data, used by one server at a time and readable only by its user."""

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import msgspec

from steersman.apiserver.journal.database import Database, read_database, rows_of
from steersman.apiserver.storage.record import Record
from steersman.apiserver.storage.store import Store
from steersman.errors import ConfigError

_DATABASE = "cluster.db"
_IDENTITY = "identity.json"
_LOCK = "lock"


@dataclass(frozen=True, slots=True)
class Identity:
    """By what clients know the server, and the server its admin: the same after every start."""

    certificate: bytes
    key: bytes = field(repr=False)
    #: Signs the tokens of service accounts.
    accounts_key: bytes = field(repr=False)
    token: str = field(repr=False)


class DataDirectory:
    """A directory for one cluster; it is made when it is first used."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._database = path / _DATABASE

    def __repr__(self) -> str:
        return f"<DataDirectory {self.path}>"

    @property
    def has_cluster(self) -> bool:
        """Whether a cluster lives here already."""
        return self._database.exists()

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Keep every other server out; the lock goes with the process, however that ends."""
        try:
            self.path.mkdir(mode=0o700, parents=True, exist_ok=True)
            descriptor = os.open(self.path / _LOCK, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        except OSError as error:
            raise ConfigError(f"cannot use {self.path} for data: {error.strerror}") from None
        try:
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError:
                raise ConfigError(f"{self.path} is used by another server") from None
            yield
        finally:
            os.close(descriptor)

    def load(self) -> Store:
        """Return the cluster as it was left; an empty store where there is none yet."""
        if not self.has_cluster:
            self._check_never_used()
            return Store()
        version, records = self.read()
        return Store.load(records, version) if records else Store()

    def read(self) -> tuple[int, list[tuple[str, Record]]]:
        """Return the last version and all objects, also while a server is running; raises ConfigError if it cannot."""
        if not self.has_cluster:
            self._check_never_used()
            raise ConfigError(f"there is no cluster in {self.path}: pass the directory of a `steer server --data`")
        return read_database(self._database)

    def open(self) -> Database:
        """Open the database for writing, and create it if it does not exist; read an existing one first."""
        if not self.has_cluster:
            Database.create(self._database)
        return Database.open(self._database)

    def fill(self, version: int, records: list[tuple[str, Record]]) -> None:
        """Put a whole cluster into a directory that has none."""
        if self.has_cluster:
            raise ConfigError(f"there is a cluster in {self.path} already")
        self._check_never_used()
        database = self.open()
        try:
            database.write(rows_of(records), version)
        finally:
            database.close()

    def _check_never_used(self) -> None:
        """Reject a directory whose database is gone while what SQLite and we keep beside it is still there.

        Whether it was deleted by accident or to begin again cannot be known from here. An empty cluster would destroy
        the log, from which the first case may still be recovered, and every operator would meet a cluster without its
        objects; so nothing is touched and the user decides.
        """
        left = [name for name in (f"{_DATABASE}-wal", f"{_DATABASE}-journal", "watermark") if self._has_content(name)]
        if left:
            verb = "is" if len(left) == 1 else "are"
            raise ConfigError(
                f"{self._database} is missing, but {' and '.join(left)} of it {verb} still there: nothing was changed. "
                f"Put {_DATABASE} back from a backup, or delete {self.path} to begin with an empty cluster"
            )

    def _has_content(self, name: str) -> bool:
        try:
            return (self.path / name).stat().st_size > 0
        except OSError:
            return False

    def identity(self) -> Identity | None:
        """Return the keys and the token of the server; ``None`` before its first start."""
        try:
            return msgspec.json.decode((self.path / _IDENTITY).read_bytes(), type=Identity)
        except FileNotFoundError:
            return None
        except (OSError, msgspec.DecodeError) as error:
            raise ConfigError(f"{self.path / _IDENTITY} is damaged ({error}): it was left untouched") from None

    def keep_identity(self, identity: Identity) -> None:
        """Store the keys and the token of the server, readable only by this user."""
        path = self.path / _IDENTITY
        unfinished = path.with_name(f".{_IDENTITY}.new")
        unfinished.unlink(missing_ok=True)
        descriptor = os.open(unfinished, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(descriptor, "wb") as file:
            file.write(msgspec.json.encode(identity))
            file.flush()
            os.fsync(file.fileno())
        unfinished.replace(path)
