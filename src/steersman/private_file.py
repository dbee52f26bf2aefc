"""Bytes that a C library insists on reading from a file, without leaving a file behind.

OpenSSL loads private keys only by path. Where the system has anonymous memory files the key never touches a disk;
elsewhere it is in a directory that only this user can read, until the block ends.
"""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def private_file(content: bytes) -> Iterator[str]:
    """Yield the path of a file with the content; the file exists only inside the block."""
    descriptors = Path("/proc/self/fd")
    if not hasattr(os, "memfd_create") or not descriptors.is_dir():
        import tempfile  # noqa: PLC0415 - only where there is no other way

        with tempfile.TemporaryDirectory(prefix="steersman-") as directory:  # mode 0700
            path = Path(directory) / "content"
            path.touch(mode=0o600)
            path.write_bytes(content)
            yield str(path)
        return
    descriptor = os.memfd_create("private", os.MFD_CLOEXEC)
    try:
        with os.fdopen(os.dup(descriptor), "wb") as file:
            file.write(content)
        yield str(descriptors / str(descriptor))
    finally:
        os.close(descriptor)
