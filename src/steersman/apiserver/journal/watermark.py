"""`Watermark`: the last version that a client may have seen, in a file beside the database.

If a log is damaged, SQLite assumes that it ends there, and ignores everything after the damage. The mark distinguishes
such a loss from a log that was being written when the machine stopped: no version up to the mark may be missing.
"""

import os
import zlib
from pathlib import Path

_VERSION_BYTES = 8


def _encoded(version: int) -> bytes:
    content = version.to_bytes(_VERSION_BYTES, "big")
    return content + zlib.crc32(content).to_bytes(4, "big")


class Watermark:
    """An open mark; it only rises."""

    def __init__(self, path: Path) -> None:
        self._descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)

    def set(self, version: int) -> None:
        """Record, in one write, that a version is on disk and may be shown to clients."""
        os.pwrite(self._descriptor, _encoded(version), 0)

    def close(self) -> None:
        """Close the file."""
        os.close(self._descriptor)


def read_watermark(path: Path) -> int:
    """Return the mark, 0 without one; raise ValueError if it is damaged."""
    try:
        content = path.read_bytes()
    except FileNotFoundError:
        return 0
    if not content:
        return 0
    version = int.from_bytes(content[:_VERSION_BYTES], "big")
    if content != _encoded(version):
        raise ValueError(f"{path.name} is not what was written")
    return version
