import gzip
import json
import os
import sys
from pathlib import Path

import pytest

from tools.interpreters import MissingError, fetch, find, unpack

THIS = f"{sys.version_info.major}.{sys.version_info.minor}"


@pytest.fixture(autouse=True)
def empty_machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the home of a machine on which nothing is installed."""
    for name in ("PYENV_ROOT", "XDG_DATA_HOME", "UV_PYTHON_INSTALL_DIR", "STEERSMAN_CACHE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    return tmp_path


def script(path: Path, text: str) -> Path:
    """Write a program."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)
    return path


def python(path: Path) -> Path:
    """Write an interpreter: the one of this test."""
    return script(path, f'exec {sys.executable} "$@"')


def test_an_interpreter_on_path_is_preferred(empty_machine: Path) -> None:
    """The user's choice comes first."""
    python(empty_machine / f".pyenv/versions/{THIS}.9/bin/python{THIS}")
    chosen = python(empty_machine / f"bin/python{THIS}")
    assert find(THIS) == chosen


def test_the_newest_release_of_pyenv_or_uv_is_found(empty_machine: Path) -> None:
    """Release 10 is newer than 9."""
    managed = python(empty_machine / f".local/share/uv/python/cpython-{THIS}.9-linux-x86_64-gnu/bin/python{THIS}")
    assert find(THIS) == managed
    python(empty_machine / f".pyenv/versions/{THIS}.9/bin/python{THIS}")
    newest = python(empty_machine / f".pyenv/versions/{THIS}.10/bin/python{THIS}")
    assert find(THIS) == newest


@pytest.mark.parametrize("program", ["echo pyenv: no such version >&2; exit 127", f'exec {sys.executable} "$@"'])
def test_a_program_of_another_version_is_skipped(empty_machine: Path, program: str) -> None:
    """A shim exists for every version of pyenv, enabled or not; a name alone proves nothing."""
    script(empty_machine / "bin/python3.99", program)
    assert find("3.99") is None


def test_without_go_the_reason_is_reported() -> None:
    """A version is never left out silently."""
    with pytest.raises(MissingError, match="there is no `go` on PATH"):
        fetch("3.14")


def test_a_version_without_a_pinned_build_is_named() -> None:
    """Only builds that were reviewed are downloaded."""
    with pytest.raises(MissingError, match=r"pinned for 3\.12, 3\.13, 3\.14 only"):
        fetch("3.99")


def test_the_message_of_go_is_passed_on(empty_machine: Path) -> None:
    """No network, no such version: its own message is the clearest."""
    script(empty_machine / "bin/go", "echo no route to host >&2; exit 1")
    with pytest.raises(MissingError, match="no route to host"):
        fetch("3.14")


def test_content_that_differs_from_the_pinned_one_is_rejected(empty_machine: Path) -> None:
    """An interpreter runs everything: it must be the one that was reviewed."""
    script(empty_machine / "bin/go", """echo '{"Sum": "h1:other", "Dir": "/nowhere"}'""")
    with pytest.raises(MissingError, match="has the checksum h1:other, not h1:"):
        fetch("3.14")


def test_unpacking_restores_files_links_and_modes(tmp_path: Path) -> None:
    """Go modules contain no links and no modes; the listing does."""
    source = tmp_path / "source"
    (source / "bin").mkdir(parents=True)
    (source / "bin/python3.14.gz").write_bytes(gzip.compress(b"program"))
    (source / "bin/pip").write_bytes(b"text")
    files = [
        {"name": "bin", "perm": 0o755 | 1 << 31},
        {"name": "bin/python3.14", "perm": 0o755, "compressed": True},
        {"name": "bin/python3", "perm": 0o777 | 1 << 27, "symlink": "python3.14"},
        {"name": "bin/pip", "perm": 0o644},
    ]
    (source / "files.json").write_text(json.dumps({"files": files}))
    unpack(source, tmp_path / "target")
    target = tmp_path / "target/bin"
    assert (target / "python3").read_bytes() == b"program"
    assert os.readlink(target / "python3") == "python3.14"  # noqa: PTH115 - as it is written
    assert [(target / name).stat().st_mode & 0o777 for name in ("python3.14", "pip")] == [0o755, 0o644]
