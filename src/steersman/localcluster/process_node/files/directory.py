"""The directory of a node on this machine, which only its user can read.

Names of objects become names of files only here, and only after a check.
"""

import contextlib
import fcntl
import json
import os
import re
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from steersman.errors import ConfigError
from steersman.kinds.core_v1 import Pod

_NAME = re.compile(r"[a-zA-Z0-9]([a-zA-Z0-9.-]*[a-zA-Z0-9])?")
_PRIVATE = 0o700
#: Characters of an object's name in the name of its directory.
_READABLE = 150


def checked(name: str) -> str:
    """Return a name that is safe as one part of a path; reject any other."""
    if not _NAME.fullmatch(name) or ".." in name:
        raise ConfigError(f"{name!r} cannot be the name of a file")
    return name


class PodDirectory:
    """The files of one pod."""

    def __init__(self, root: Path) -> None:
        self.root = root

    def scratch(self, volume: str) -> Path:
        """Return the directory of a volume with the lifetime of the pod."""
        return _made(self.root / "volumes" / checked(volume))

    def container(self, name: str) -> Path:
        """Return the directory of a container."""
        return _made(self.root / "containers" / checked(name))

    def remove(self) -> None:
        """Remove everything."""
        shutil.rmtree(self.root, ignore_errors=True)


class NodeDirectory:
    """The files of one node."""

    def __init__(self, root: Path) -> None:
        self.root = root.absolute()

    @contextmanager
    def opened(self) -> Iterator[None]:
        """Create the directory if necessary, and lock out other nodes inside the block."""
        try:
            self.root.mkdir(mode=_PRIVATE, parents=True, exist_ok=True)
            self.root.chmod(_PRIVATE)
            lock = os.open(self.root / "lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        except OSError as error:
            raise ConfigError(f"{self.root}: the directory of the process node cannot be used: {error}") from None
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            os.close(lock)
            raise ConfigError(
                f"{self.root}: another process node uses this directory: use a separate one for each"
            ) from None
        try:
            yield
        finally:
            os.close(lock)

    def pod(self, pod: Pod) -> PodDirectory:
        """Return the files of a pod; nothing is made before it is needed."""
        name = f"{checked(pod.namespace)}_{checked(pod.name)}"
        return PodDirectory(self.root / "pods" / _unique(name, pod.uid))

    def remove_pods_but(self, uids: set[str]) -> None:
        """Remove the files of all other pods."""
        for entry in (self.root / "pods").glob("*"):
            if entry.name.rpartition("_")[2] not in uids:
                PodDirectory(entry).remove()

    def claim(self, namespace: str, name: str, uid: str) -> Path:
        """Return the directory that stands for a persistent volume."""
        return _made(self.root / "claims" / checked(namespace) / _unique(checked(name), uid))

    def remove_claim(self, namespace: str, name: str, uid: str) -> None:
        """Remove a persistent volume with everything on it."""
        shutil.rmtree(self.claim(namespace, name, uid), ignore_errors=True)

    def remove_claims_but(self, uids: set[str]) -> None:
        """Remove the persistent volumes of all other claims."""
        for entry in (self.root / "claims").glob("*/*"):
            if entry.name.rpartition("_")[2] not in uids:
                shutil.rmtree(entry, ignore_errors=True)

    def read(self, name: str) -> dict[str, str]:
        """Read a stored table of texts; an unreadable one counts as empty."""
        with contextlib.suppress(OSError, ValueError):
            table = json.loads((self.root / checked(name)).read_text())
            if isinstance(table, dict):
                return {str(key): str(value) for key, value in table.items()}
        return {}

    def keep(self, name: str, table: dict[str, str]) -> None:
        """Store a table of texts atomically."""
        path = self.root / checked(name)
        beside = path.with_suffix(".new")
        beside.write_text(json.dumps(table))
        beside.replace(path)


def wipe(directory: Path) -> None:
    """Remove everything inside a directory, not the directory itself."""
    for entry in directory.iterdir():
        if entry.is_dir() and not entry.is_symlink():
            shutil.rmtree(entry)
        else:
            entry.unlink()


def _unique(name: str, uid: str) -> str:
    """Return a recognisable, unique file name; objects may have longer names than files."""
    return f"{name[:_READABLE]}_{checked(uid)}"


def _made(path: Path) -> Path:
    path.mkdir(mode=_PRIVATE, parents=True, exist_ok=True)
    return path
