"""Unix sockets by which programs of one user find each other: an operator listens, ``steer why`` connects.

They lie in a directory that only this user may enter. Anything else at its place is refused: in a shared ``/tmp``
another user could have made it first, to listen in or to answer with lies.
"""

import os
import socket
import stat
import tempfile
from pathlib import Path

from steersman.errors import ConfigError

_PRIVATE = 0o700
_SUFFIX = ".sock"


def socket_directory() -> Path:
    """Return the directory of this user's sockets, created if need be; raises ``ConfigError`` if it is not safe."""
    runtime = os.environ.get("XDG_RUNTIME_DIR", "")
    own = Path(runtime) / "steersman" if runtime else Path(tempfile.gettempdir()) / f"steersman-{os.getuid()}"
    try:
        own.mkdir(mode=_PRIVATE, parents=True, exist_ok=True)
        found = own.lstat()
    except OSError as error:
        raise ConfigError(f"cannot create {own} for the sockets of operators: {error.strerror}") from None
    if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.getuid() or stat.S_IMODE(found.st_mode) & 0o077:
        raise ConfigError(f"{own} must be a directory that only this user can enter: remove it, or set XDG_RUNTIME_DIR")
    return own


def socket_path(process: int | None = None) -> Path:
    """Return where a process listens; this one by default. A socket that a killed process left there is removed."""
    path = socket_directory() / f"{os.getpid() if process is None else process}{_SUFFIX}"
    if process is None:
        try:
            path.unlink(missing_ok=True)
        except OSError as error:
            raise ConfigError(f"cannot remove {path}, which is in the way of a socket: {error.strerror}") from None
    return path


def live_sockets() -> list[Path]:
    """Return the sockets on which something listens, the newest first.

    A killed process leaves its socket behind, and its id may be that of another process by now.
    """
    return [path for path in live_files(_SUFFIX) if _is_listened_to(path)]


def _is_listened_to(path: Path) -> bool:
    """Return whether a connection is accepted; any failure other than a rejection is one to report to the user."""
    with socket.socket(socket.AF_UNIX) as tried:
        tried.settimeout(0)
        try:
            tried.connect(str(path))
        except (ConnectionRefusedError, FileNotFoundError):
            return False
        except OSError:
            return True
    return True


def live_files(suffix: str) -> list[Path]:
    """Return the files of processes that run, named by their ids and this suffix, the newest first."""
    found = [path for path in socket_directory().glob(f"*{suffix}") if _runs(path.stem)]
    return sorted(found, key=lambda path: path.lstat().st_mtime, reverse=True)


def _runs(process: str) -> bool:
    if not process.isdecimal() or not int(process):
        return False
    try:
        os.kill(int(process), 0)
    except (OverflowError, ProcessLookupError):
        return False
    except PermissionError:
        return True
    return True
