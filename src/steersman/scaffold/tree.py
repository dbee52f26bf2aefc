"""Writes files into a folder and nowhere else; obstacles are reported before anything is written."""

import os
from collections.abc import Mapping
from pathlib import Path, PurePosixPath

from steersman.errors import ConfigError

_MODE = 0o644


class Tree:
    """A folder that files are written to.

    Symbolic links below it are not followed, and files not replaced by default.
    """

    def __init__(self, root: Path) -> None:
        self._root = root

    def existing(self, files: Mapping[str, str]) -> list[str]:
        """Return which of these files exist."""
        return [name for name in files if os.path.lexists(self._place(name))]

    def outdated(self, files: Mapping[str, str]) -> list[str]:
        """Return those of some files that are missing or have another content."""
        return [name for name, text in files.items() if self._read(name) != text]

    def read(self, name: str) -> str | None:
        """Return the content of a file, ``None`` if it is not there."""
        return self._read(name)

    def names(self, folder: str) -> list[str]:
        """Return the names in a folder; empty if it does not exist."""
        place = self._place(folder)
        return sorted(entry.name for entry in place.iterdir()) if place.is_dir() else []

    def add(self, files: Mapping[str, str]) -> None:
        """Write new files, all or none; the error names those that exist."""
        if existing := self.existing(files):
            raise ConfigError(f"{', '.join(existing)} would be overwritten: nothing was written; use another folder")
        for name, text in files.items():
            self._write(name, text, os.O_EXCL)

    def put(self, files: Mapping[str, str]) -> list[str]:
        """Write files, replacing former ones; return the names of those that changed."""
        changed = self.outdated(files)
        for name in changed:
            self._write(name, files[name], os.O_TRUNC)
        return changed

    def _place(self, name: str) -> Path:
        path = PurePosixPath(name)
        if path.is_absolute() or not path.parts or ".." in path.parts or "\0" in name:
            raise ConfigError(f"{name!r} does not lie in {self._root}")
        place = self._root
        for part in path.parts:
            place /= part
            if place.is_symlink():
                raise ConfigError(f"{place} is a symbolic link: nothing is written through it")
        return place

    def _read(self, name: str) -> str | None:
        place = self._place(name)
        try:
            return place.read_text(encoding="utf-8")
        except FileNotFoundError:
            return None
        except (OSError, ValueError) as error:
            raise ConfigError(f"{place} cannot be read: {error}") from None

    def _write(self, name: str, text: str, flag: int) -> None:
        place = self._place(name)
        try:
            place.parent.mkdir(parents=True, exist_ok=True)
            descriptor = os.open(place, os.O_WRONLY | os.O_CREAT | os.O_NOFOLLOW | flag, _MODE)
            with os.fdopen(descriptor, "w", encoding="utf-8") as file:
                file.write(text)
        except OSError as error:
            raise ConfigError(f"{place} cannot be written: {error.strerror or error}") from None
