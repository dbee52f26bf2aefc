"""Python interpreters of other versions: found on this machine, else fetched as a Go module that contains them.

Nothing here installs into the system. What is fetched is pinned by version and by Go's checksum, and is unpacked into
the cache beside the programs of the control plane.
"""

import gzip
import json
import os
import platform
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from steersman.json_types import JsonObject

#: Builds of CPython that need nothing from the system, compressed file by file.
MODULE = "github.com/kluctl/go-embed-python"
#: A directory in the listing of such a build, as Go writes file modes.
_DIRECTORY = 1 << 31
#: Fails in an interpreter of another version, of another implementation, or without what Steersman imports.
_PROBE = (
    "import sys, ssl, sqlite3, ctypes\n"
    "sys.exit(sys.argv[1] != '%d.%d' % sys.version_info[:2] or sys.implementation.name != 'cpython')"
)


class MissingError(Exception):
    """An interpreter is not on this machine and cannot be fetched; the message says why."""


@dataclass(frozen=True, slots=True)
class Build:
    """One version of the module, and the checksum that Go must report for it."""

    version: str
    checksum: str

    @property
    def release(self) -> str:
        """The release of CPython, such as 3.14.6."""
        return self.version.split("-")[1]


BUILDS = {
    "3.12": Build("v0.0.0-3.12.3-20240415-1", "h1:IX2O3LJUL0AjYsROGZ4aNENTEb3c/Ll/0b9Yb/8P61Q="),
    "3.13": Build("v0.0.0-3.13.1-20241219-1", "h1:x1cSEj4Ug5mpuZgUHLvUmlc5r//KHFn6iYiRSrRcVy4="),
    "3.14": Build("v0.0.0-3.14.6-20260610-1", "h1:oGUS7++Wm3LgxUfD6AmJgKbKQD2wdQFO9PzyJv6T+E4="),
}


def ensure(version: str) -> Path:
    """Return an interpreter of a version such as ``3.14``; fetch one if there is none, else raise `MissingError`."""
    return find(version) or fetch(version)


def find(version: str) -> Path | None:
    """Return the first interpreter of a version on this machine that runs and has what Steersman imports."""
    return next((python for python in _candidates(version) if _is_usable(python, version)), None)


def _candidates(version: str) -> Iterator[Path]:
    """Yield where an interpreter may be: PATH, pyenv, uv, then our own cache; newest first."""
    if found := shutil.which(f"python{version}"):
        yield Path(found)
    home = Path.home()
    pyenv = Path(os.environ.get("PYENV_ROOT") or home / ".pyenv") / "versions"
    data = Path(os.environ.get("XDG_DATA_HOME") or home / ".local" / "share")
    managed = Path(os.environ.get("UV_PYTHON_INSTALL_DIR") or data / "uv" / "python")
    for folder, pattern in (
        (pyenv, f"{version}.*"),
        (managed, f"cpython-{version}.*"),
        (_cache(), f"python-{version}.*"),
    ):
        for place in sorted(folder.glob(pattern), key=_release, reverse=True):
            yield place / "bin" / f"python{version}"


def _release(folder: Path) -> list[int]:
    return [int(part) for part in folder.name.replace("-", ".").split(".") if part.isdigit()]


def _is_usable(python: Path, version: str) -> bool:
    try:
        # A shim may exist for a version that is not enabled: only running it shows.
        return subprocess.run([python, "-c", _PROBE, version], capture_output=True, check=False).returncode == 0  # noqa: S603 - an interpreter that was found
    except OSError:
        return False


def _cache() -> Path:
    return Path(os.environ.get("STEERSMAN_CACHE") or Path.home() / ".cache" / "steersman")


def fetch(version: str) -> Path:
    """Fetch the pinned build of a version with Go, unpack it into the cache and return its interpreter."""
    build = BUILDS.get(version)
    if build is None:
        raise MissingError(f"there is none on this machine, and {MODULE} is pinned for {', '.join(BUILDS)} only")
    if shutil.which("go") is None:
        raise MissingError("there is none on this machine, and there is no `go` on PATH to fetch one with")
    source = _download(build) / "python" / "internal" / "data" / _platform()
    if not source.is_dir():
        raise MissingError(f"{MODULE}@{build.version} has no build for {_platform()}")
    target = _cache() / f"python-{build.release}"
    _cache().mkdir(parents=True, exist_ok=True)
    # It gets its final name only when it is complete.
    with tempfile.TemporaryDirectory(dir=_cache()) as folder:
        unpack(source, Path(folder) / "whole")
        shutil.rmtree(target, ignore_errors=True)
        (Path(folder) / "whole").rename(target)
    python = target / "bin" / f"python{version}"
    if not _is_usable(python, version):
        raise MissingError(f"{MODULE}@{build.version} was fetched to {target}, but does not run here")
    return python


def _download(build: Build) -> Path:
    """Return the folder of a module; its content must have the pinned checksum."""
    print(f"fetching {MODULE}@{build.version}", flush=True)
    with tempfile.TemporaryDirectory() as elsewhere:
        answer = subprocess.run(  # noqa: S603 - a pinned module
            ["go", "mod", "download", "-json", f"{MODULE}@{build.version}"],  # noqa: S607 - go as the user has it
            cwd=elsewhere,
            capture_output=True,
            text=True,
            check=False,
        )
    if answer.returncode:
        raise MissingError(f"go cannot fetch {MODULE}@{build.version}: {(answer.stdout + answer.stderr).strip()}")
    module: JsonObject = json.loads(answer.stdout)
    if module["Sum"] != build.checksum:
        raise MissingError(f"{MODULE}@{build.version} has the checksum {module['Sum']}, not {build.checksum}")
    return Path(module["Dir"])


def _platform() -> str:
    machine = {"x86_64": "amd64", "aarch64": "arm64"}.get(platform.machine(), platform.machine())
    return f"{sys.platform}-{machine}"


def unpack(source: Path, target: Path) -> None:
    """Create the files, folders and links that a build lists; large files are compressed one by one."""
    for entry in json.loads((source / "files.json").read_bytes())["files"]:
        path = target / entry["name"]
        path.parent.mkdir(parents=True, exist_ok=True)
        if entry["perm"] & _DIRECTORY:
            path.mkdir(exist_ok=True)
        elif "symlink" in entry:
            path.symlink_to(entry["symlink"])
        else:
            _unpack_file(source / entry["name"], path, is_compressed=entry.get("compressed", False))
            path.chmod(entry["perm"] & 0o777)


def _unpack_file(source: Path, target: Path, *, is_compressed: bool) -> None:
    if is_compressed:
        target.write_bytes(gzip.decompress(source.with_name(f"{source.name}.gz").read_bytes()))
    else:
        shutil.copyfile(source, target)
