"""`Layer`: files as a compressed archive whose bytes depend on nothing but the files."""

import gzip
import hashlib
import io
import tarfile
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import PurePosixPath
from typing import Final

MEDIA_TYPE: Final = "application/vnd.oci.image.layer.v1.tar+gzip"
_DIRECTORY: Final = 0o755
_LEVEL: Final = 6


@dataclass(frozen=True, slots=True)
class File:
    """One file of a layer; its path begins at the root of the image, without a slash."""

    path: str
    data: bytes = field(repr=False)
    mode: int = 0o644


def digest_of(data: bytes) -> str:
    """Return the digest by which registries name content."""
    return f"sha256:{hashlib.sha256(data).hexdigest()}"


@dataclass(frozen=True, slots=True)
class Layer:
    """A compressed archive, and the digest of its content."""

    data: bytes = field(repr=False)
    #: The digest of the archive before it was compressed.
    diff_id: str
    #: Description of the layer, for the history of the image.
    title: str

    @property
    def descriptor(self) -> dict[str, str | int]:
        """How a manifest names it."""
        return {"mediaType": MEDIA_TYPE, "digest": digest_of(self.data), "size": len(self.data)}


def layer_of(title: str, files: Iterable[File], *, epoch: int) -> Layer:
    """Create a layer; owners, times and order are always the same, and directories are those that the files need."""
    by_path = {file.path: file for file in files}
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w", format=tarfile.PAX_FORMAT) as archive:
        for directory in sorted({str(parent) for path in by_path for parent in PurePosixPath(path).parents} - {"."}):
            archive.addfile(_entry(directory, epoch, _DIRECTORY, tarfile.DIRTYPE))
        for path in sorted(by_path):
            file = by_path[path]
            entry = _entry(path, epoch, file.mode, tarfile.REGTYPE)
            entry.size = len(file.data)
            archive.addfile(entry, io.BytesIO(file.data))
    plain = buffer.getvalue()
    return Layer(gzip.compress(plain, compresslevel=_LEVEL, mtime=0), digest_of(plain), title)


def _entry(path: str, epoch: int, mode: int, kind: bytes) -> tarfile.TarInfo:
    entry = tarfile.TarInfo(path)
    entry.type, entry.mode, entry.mtime = kind, mode, epoch
    return entry
