"""Files that change all at once: a reader sees the old ones or the new ones, as in a kubelet's volumes.

The files are in a separate directory; ``..data`` links to it, and each name links through ``..data``. A change is one
rename.
"""

import os
import shutil
from collections.abc import Mapping
from pathlib import Path

from steersman.localcluster.process_node.files.projected_files import File

_DATA = "..data"


def write_files(directory: Path, files: Mapping[str, File]) -> bool:
    """Make these files the content of a directory; return whether anything changed."""
    directory.mkdir(mode=0o700, parents=True, exist_ok=True)
    if _read(directory) == {path: (file.content, file.mode) for path, file in files.items()}:
        return False
    data = directory / _DATA
    number = int(data.readlink().name.removeprefix("..")) + 1 if data.is_symlink() else 1
    fresh = directory / f"..{number}"
    shutil.rmtree(fresh, ignore_errors=True)
    fresh.mkdir(mode=0o700)
    for path, file in files.items():
        place = fresh / path
        place.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        with place.open("wb") as opened:
            os.fchmod(opened.fileno(), file.mode)
            opened.write(file.content)
    beside = directory / "..data.new"
    beside.unlink(missing_ok=True)
    beside.symlink_to(fresh.name)
    beside.replace(data)
    names = {path.split("/")[0] for path in files}
    for name in names:
        if not (directory / name).is_symlink():
            (directory / name).symlink_to(f"{_DATA}/{name}")
    for entry in directory.iterdir():
        if entry.name not in names and entry.name not in (_DATA, fresh.name):
            shutil.rmtree(entry) if entry.is_dir() and not entry.is_symlink() else entry.unlink()
    return True


def _read(directory: Path) -> dict[str, tuple[bytes, int]] | None:
    data = directory / _DATA
    if not data.is_symlink():
        return None
    root = data.resolve()
    return {
        str(path.relative_to(root)): (path.read_bytes(), path.stat().st_mode & 0o7777)
        for path in root.rglob("*")
        if path.is_file()
    }
