"""Find redis-server and redis-sentinel: in REDIS_SERVER_BIN, in PATH, or in Debian's packages in a cache.

Redis must be 7 or newer (``bind-source-addr``). Packages are unpacked, not installed, which needs no root permissions.
"""

import os
import re
import shutil
import subprocess
import tempfile
from contextlib import suppress
from functools import cache
from pathlib import Path

#: The servers, and the libraries that a small system lacks.
_PACKAGES = ("redis-server", "redis-sentinel", "redis-tools", "libjemalloc2", "liblzf1", "libatomic1")
_OLDEST = 7


class RedisNotFound(Exception):  # noqa: N818 - named as the fact
    """There is no Redis to test with; the message has the reason in one line."""


@cache
def redis_programs() -> dict[str, str]:
    """Return the programs of the image ``redis``: server, sentinel, and what else pods run."""
    server = _server()
    if _version(server) < _OLDEST:
        raise RedisNotFound(f"{server} is older than Redis {_OLDEST}: set REDIS_SERVER_BIN to a newer one")
    sentinel = server.with_name("redis-sentinel")
    if not sentinel.exists():
        raise RedisNotFound(f"there is no redis-sentinel beside {server}")
    return {"redis-server": str(server), "redis-sentinel": str(sentinel), "cp": "cp"}


def _server() -> Path:
    named = os.environ.get("REDIS_SERVER_BIN") or shutil.which("redis-server")
    if named:
        return Path(named)
    cache_folder = Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache")) / "steersman" / "redis-debian"
    server = cache_folder / "redis-server"
    if not server.exists():
        _unpack(cache_folder)
    return server


def _unpack(folder: Path) -> None:
    """Download Debian's packages, and write a script for each program that sets the path of its libraries.

    The folder is created under another name and then renamed, because several tests may start at the same time.
    """
    if shutil.which("apt-get") is None or shutil.which("dpkg") is None:
        raise RedisNotFound("redis-server is not in PATH, and there is no apt-get to download it: set REDIS_SERVER_BIN")
    folder.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder.parent) as place:
        made = Path(place) / folder.name
        made.mkdir()
        fetched = _run(["apt-get", "download", *_PACKAGES], made)
        if fetched.returncode:
            raise RedisNotFound(f"apt-get download failed: {(fetched.stderr.strip().splitlines() or [''])[-1]}")
        for package in made.glob("*.deb"):
            _run(["dpkg", "-x", str(package), "root"], made)
            package.unlink()
        _write_scripts(made, folder)
        with suppress(OSError):  # another process was faster; its folder has the same content
            made.rename(folder)


def _write_scripts(made: Path, folder: Path) -> None:
    """Write scripts with the paths that are valid after the folder was renamed."""
    found = {library.parent.relative_to(made) for library in (made / "root").rglob("*.so*")}
    libraries = ":".join(sorted(str(folder / one) for one in found))
    for program in ("redis-cli", "redis-sentinel", "redis-server"):
        script = made / program
        binary = folder / "root" / "usr" / "bin" / program
        script.write_text(f'#!/bin/sh\nLD_LIBRARY_PATH="{libraries}" exec "{binary}" "$@"\n')
        script.chmod(0o755)


def _version(server: Path) -> int:
    found = re.search(r"v=(\d+)", _run([str(server), "--version"], Path.cwd()).stdout)
    return int(found[1]) if found else 0


def _run(command: list[str], folder: Path) -> subprocess.CompletedProcess[str]:
    try:
        return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)  # noqa: S603 - named above
    except OSError as error:
        raise RedisNotFound(f"{command[0]} cannot be run: {error}") from error
