"""`BaseImage`: what must be known about a base image before anything is added to it: its Python, and its files."""

import io
import re
import tarfile
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import PurePosixPath
from typing import Final

from steersman.scaffold.image.layout import Layout

#: Files that name the full version of a Python, and where it stands in them.
_HEADER: Final = re.compile(r"(?:.*/)?include/python3\.\d+/patchlevel\.h")
_HEADER_VERSION: Final = re.compile(rb'#define\s+PY_VERSION\s+"(\d+\.\d+\.\d+)')
_DPKG: Final = "var/lib/dpkg/status"
_DPKG_VERSION: Final = re.compile(
    rb"^Package: python3\.\d+-minimal$.*?^Version: (\d+\.\d+\.\d+)", re.MULTILINE | re.DOTALL
)
_LIBRARY: Final = re.compile(r"(?:.*/)?lib/python(3\.\d+)/os\.py")
_WHITEOUT: Final = ".wh."


@dataclass(frozen=True, slots=True)
class BaseImage:
    """One platform of a base."""

    #: As precise as known: ``3.11.2``, ``3.11``, or empty.
    python: str
    #: The names of all files, without their folders; none if the layers cannot be read.
    names: frozenset[str] = field(repr=False)


def read_base(base: Layout, platform: str) -> BaseImage:
    """Read the configuration of a base image, and the files of its layers."""
    manifest = base.manifest(platform)
    declared = _declared_python(base, manifest["config"]["digest"])
    names: set[str] = set()
    found = ""
    for descriptor in manifest["layers"]:
        try:
            for path, data in _files(base.blob(descriptor["digest"])):
                names.add(PurePosixPath(path).name)
                found = max(found, _python_in(path, data), key=len)
        except tarfile.TarError:
            # A compression that this Python cannot read: the content of the base is unknown then.
            return BaseImage(declared or found, frozenset())
    return BaseImage(declared or found, frozenset(names))


def _declared_python(base: Layout, digest: str) -> str:
    config = base.document(digest)
    for entry in config.get("config", {}).get("Env") or ():
        name, _, value = str(entry).partition("=")
        if name == "PYTHON_VERSION":
            return value
    return ""


def _files(layer: bytes) -> Iterator[tuple[str, bytes]]:
    """Yield the paths of a layer's files and links; the content only of those that name a version."""
    with tarfile.open(fileobj=io.BytesIO(layer)) as archive:
        for entry in archive:
            path = entry.name.removeprefix("./")
            if entry.isdir() or PurePosixPath(path).name.startswith(_WHITEOUT):
                continue
            reader = archive.extractfile(entry) if entry.isfile() and _names_version(path) else None
            yield path, reader.read() if reader is not None else b""


def _names_version(path: str) -> bool:
    return path == _DPKG or _HEADER.fullmatch(path) is not None


def _python_in(path: str, data: bytes) -> str:
    """Return the Python version that a file reveals."""
    if match := (_HEADER_VERSION.search(data) or _DPKG_VERSION.search(data)):
        return match[1].decode()
    library = _LIBRARY.fullmatch(path)
    return library[1] if library is not None else ""
