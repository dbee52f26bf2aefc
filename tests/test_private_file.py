import os
import tempfile
from pathlib import Path

import pytest

from steersman.private_file import private_file


def test_the_content_can_be_read_inside_the_block_and_nowhere_after_it() -> None:
    """A private key must not outlive the moment in which it is loaded."""
    with private_file(b"key") as path:
        assert Path(path).read_bytes() == b"key"
    assert not Path(path).exists()


def test_without_memory_files_a_private_directory_is_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Not every system has memory files; the directory is readable by its owner only and removed at once."""
    monkeypatch.delattr(os, "memfd_create", raising=False)
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    with private_file(b"key") as path:
        assert Path(path).read_bytes() == b"key"
        assert (Path(path).stat().st_mode & 0o777, Path(path).parent.stat().st_mode & 0o777) == (0o600, 0o700)
    assert list(tmp_path.iterdir()) == []
