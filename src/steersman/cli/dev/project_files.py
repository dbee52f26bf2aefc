"""The files of a project whose change restarts the operator, found by polling: no daemon, no dependency.

These are the Python files and the ``pyproject.toml`` of the folder, and all files of the operator's own package, such
as templates and manifests. Generated files are left out, and tests, wherever they are: those that pytest finds by their
names, and ``conftest.py``.
"""

import os
from collections.abc import Iterator
from pathlib import Path

from steersman.clock import Clock

#: Folders that are not edited, or whose files the operator does not import.
_IGNORED = frozenset({"__pycache__", "node_modules", "venv", "build", "dist", "tests"})
_SUFFIX = ".py"
_SETTINGS = "pyproject.toml"

#: Name of each file within the project, and when and how large it was written.
Snapshot = dict[str, tuple[int, int]]


class ProjectFiles:
    """Scans a folder; hidden files, and folders that cannot be a Python package, are skipped."""

    def __init__(self, root: Path, package: str) -> None:
        self._root = root
        self._package = package

    def look(self) -> Snapshot:
        """Return the current state of every file. Files that appear or disappear meanwhile may be missing."""
        found: Snapshot = {}
        self._walk(self._root, "", found)
        return found

    def _walk(self, folder: Path, prefix: str, found: Snapshot) -> None:
        is_package = prefix.partition("/")[0] == self._package
        for entry in _entries(folder):
            name = f"{prefix}{entry.name}"
            try:
                if entry.is_dir():
                    if _is_looked_into(entry):
                        self._walk(Path(entry.path), f"{name}/", found)
                elif _is_test(entry.name):
                    continue
                elif is_package or entry.name.endswith(_SUFFIX) or name == _SETTINGS:
                    status = entry.stat()
                    found[name] = (status.st_mtime_ns, status.st_size)
            except OSError:  # it went while it was looked at
                continue


def _is_test(name: str) -> bool:
    return name == "conftest.py" or (name.endswith(_SUFFIX) and (name.startswith("test_") or name.endswith("_test.py")))


def _entries(folder: Path) -> Iterator[os.DirEntry[str]]:
    try:
        with os.scandir(folder) as entries:
            yield from sorted(
                (entry for entry in entries if not entry.name.startswith(".")), key=lambda entry: entry.name
            )
    except OSError:
        return


def _is_looked_into(entry: os.DirEntry[str]) -> bool:
    """Return whether a folder can contain the author's files; links are not followed, so there are no cycles."""
    return (
        not entry.is_symlink()
        and entry.name not in _IGNORED
        and not Path(entry.path, "pyvenv.cfg").exists()  # a virtual environment by another name
    )


def changed_files(before: Snapshot, after: Snapshot) -> list[str]:
    """Return the files that were added, removed or written."""
    return sorted(name for name in before.keys() | after.keys() if before.get(name) != after.get(name))


#: Seconds between two looks.
LOOK_EVERY = 0.2


class FileWatch:
    """Knows what the files were like when the operator was last started."""

    def __init__(self, files: ProjectFiles, clock: Clock) -> None:
        self._files = files
        self._clock = clock
        self._known = files.look()

    async def wait_changed(self) -> list[str]:
        """Wait for a change, and until two scans in a row are equal; return the names of the files.

        An editor or a checkout that writes many files leads to one restart, not to many.
        """
        before, last = self._known, self._known
        while True:
            await self._clock.sleep(LOOK_EVERY)
            now = self._files.look()
            if now == last and now != before:
                self._known = now
                return changed_files(before, now)
            last = now
