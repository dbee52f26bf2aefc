"""The kubeconfig that `steer dev` writes for kubectl while it runs: private, locked, and removed afterwards."""

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

from steersman.errors import ConfigError

#: The folder of a project in which `steer dev` keeps its own files.
OWN_FOLDER: Final = ".steer"


class KubeconfigFile:
    """A file that this process has locked; another process that wants it gets an error."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._made: list[Path] = []
        self._descriptor = -1

    def take(self) -> None:
        """Lock the file, and create its folder if necessary."""
        try:
            self._made = _make_folders(self.path.parent)
            self._descriptor = os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o600)
        except OSError as error:
            raise ConfigError(f"cannot write {self.path}: {error.strerror}") from None
        try:
            fcntl.flock(self._descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            os.close(self._descriptor)
            raise ConfigError(
                f"{self.path} is in use: stop the 'steer dev' in the other terminal, or pass another --kubeconfig"
            ) from None

    def write(self, content: bytes) -> None:
        """Write the content, readable only by this user."""
        os.fchmod(self._descriptor, 0o600)
        os.ftruncate(self._descriptor, 0)
        os.pwrite(self._descriptor, content, 0)

    def remove(self) -> None:
        """Remove the file, and the folders that were made for it if they are empty."""
        self.path.unlink(missing_ok=True)
        for folder in reversed(self._made):
            with suppress(OSError):
                folder.rmdir()

    def release(self) -> None:
        """Unlock the file."""
        os.close(self._descriptor)


@contextmanager
def kubeconfig_file(path: Path, *, keep: bool) -> Iterator[KubeconfigFile]:
    """Lock a file inside the block; remove it afterwards, unless it is to be kept."""
    file = KubeconfigFile(path)
    file.take()
    try:
        yield file
    finally:
        if not keep:
            file.remove()
        file.release()


def _make_folders(folder: Path) -> list[Path]:
    """Create a folder and its missing parents; return those that were created, outermost first."""
    missing = [one for one in (folder, *folder.parents) if not one.exists() or one.name == OWN_FOLDER]
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    return list(reversed(missing))
