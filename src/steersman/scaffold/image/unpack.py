"""Reads the operator out of an image: its packages and its code, without the rest of the system.

Only regular files below folders that Python imports from are written: ``site-packages``, ``PYTHONPATH`` and the working
directory. Links, devices, owners and modes are left out, a path that leaves its folder is rejected, and so is an image
that is too large. A file that an upper layer deletes is deleted.
"""

import io
import itertools
import re
import shutil
import tarfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Final

from steersman.errors import ConfigError
from steersman.json_types import JsonObject
from steersman.scaffold.image.base import read_base
from steersman.scaffold.image.layout import Layout

#: Bytes that an operator may have, unpacked.
MOST_BYTES: Final = 2 * 1024**3
_SITE: Final = re.compile(r"(?:.*/)?lib/python3(?:\.\d+)?/(?:site|dist)-packages(?=/)")
_WHITEOUT, _OPAQUE = ".wh.", ".wh..wh..opq"


@dataclass(frozen=True, slots=True)
class UnpackedOperator:
    """An operator on disk."""

    #: ``MODULE:OPERATOR``, as the image runs it.
    target: str
    #: Minor version of the image's Python, such as ``3.13``; empty if the image does not tell.
    python: str
    #: Folders that modules are imported from, in order.
    path: tuple[Path, ...]
    #: The working directory of the image.
    folder: Path


def unpack(layout: Layout, platform: str, into: Path) -> UnpackedOperator:
    """Write the operator of an image into a folder; raise ``ConfigError`` if the image does not run ``steer``."""
    manifest = layout.manifest(platform)
    run = layout.document(manifest["config"]["digest"]).get("config") or {}
    target = _target(run)
    named = [_inside(place) for place in _environment(run, "PYTHONPATH").split(":") if place.startswith("/")]
    folder = _inside(run.get("WorkingDir") or "/")
    written = _Unpacking(into, tuple(place for place in (*named, folder) if place))
    for descriptor in manifest["layers"]:
        written.add(layout.blob(descriptor["digest"]))
    program = str((run.get("Entrypoint") or run.get("Cmd") or [""])[0])
    own = _inside(str(PurePosixPath(program).parent.parent))
    sites = sorted(written.sites, key=lambda place: (not (own and place.startswith(f"{own}/lib/")), place))
    python = ".".join(read_base(layout, platform).python.split(".")[:2])
    work = into / folder
    work.mkdir(parents=True, exist_ok=True)
    return UnpackedOperator(target, python, tuple(into / place for place in (*named, *sites)), work)


def _target(run: JsonObject) -> str:
    command = [str(word) for word in (*(run.get("Entrypoint") or ()), *(run.get("Cmd") or ()))]
    for before, word in itertools.pairwise(command):
        if before == "run" and ":" in word:
            return word
    shown = " ".join(command) or "nothing"
    raise ConfigError(f"the image runs {shown!r}: only an image that runs 'steer run MODULE:OPERATOR' can be planned")


def _environment(run: JsonObject, name: str) -> str:
    entries = (str(entry).partition("=") for entry in run.get("Env") or ())
    return next((value for key, _, value in entries if key == name), "")


def _inside(path: str) -> str:
    """Return a path of an image relative to its root; raise ``ConfigError`` for one that leaves it."""
    parts = PurePosixPath(path).parts
    if ".." in parts:
        raise ConfigError(f"the image has a path that leaves it: {path}")
    return "/".join(part for part in parts if part != "/")


class _Unpacking:
    """The files of an image that were written so far."""

    def __init__(self, root: Path, wanted: tuple[str, ...]) -> None:
        self._root = root
        self._wanted = wanted
        self._bytes = 0
        #: Folders of installed packages.
        self.sites: dict[str, None] = {}

    def add(self, layer: bytes) -> None:
        """Write the wanted files of one layer over those of the layers below."""
        try:
            with tarfile.open(fileobj=io.BytesIO(layer)) as archive:
                # A layer deletes files of the layers below it, not its own.
                entries = archive.getmembers()
                for path in map(_name, entries):
                    self._delete(path)
                for entry, path in self._files(entries):
                    reader = archive.extractfile(entry)
                    self._write(path, reader.read() if reader is not None else b"")
        except (OSError, tarfile.TarError) as error:
            raise ConfigError(f"a layer of the image cannot be read, such as one with zstd: {error}") from None

    def _files(self, entries: list[tarfile.TarInfo]) -> Iterator[tuple[tarfile.TarInfo, str]]:
        for entry in entries:
            path = _name(entry)
            if not (entry.isfile() or entry.islnk()) or PurePosixPath(path).name.startswith(_WHITEOUT):
                continue
            site = _SITE.match(path)
            if site is not None:
                self.sites[site[0]] = None
            if site is not None or any(path.startswith(f"{place}/") for place in self._wanted):
                self._bytes += entry.size
                if self._bytes > MOST_BYTES:
                    raise ConfigError(f"the operator in the image has more than {MOST_BYTES:,} bytes")
                yield entry, path

    def _write(self, path: str, data: bytes) -> None:
        place = self._root / path
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(data)

    def _delete(self, path: str) -> None:
        """Delete what a layer marks as deleted."""
        folder, name = self._root / PurePosixPath(path).parent, PurePosixPath(path).name
        if name == _OPAQUE:
            shutil.rmtree(folder, ignore_errors=True)
        elif name.startswith(_WHITEOUT):
            gone = folder / name.removeprefix(_WHITEOUT)
            shutil.rmtree(gone, ignore_errors=True) if gone.is_dir() else gone.unlink(missing_ok=True)


def _name(entry: tarfile.TarInfo) -> str:
    return _inside(entry.name.removeprefix("./"))
