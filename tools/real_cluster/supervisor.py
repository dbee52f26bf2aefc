"""The process that starts a cluster and removes what is left of it, whatever happens to the process that asked for it.

    starter ── pipe ──> supervisor ── pipe ──> node (PID 1 of the cluster's namespaces) ──> all programs and pods

Each process ends when the pipe to its left is closed, which the kernel does however its other side ended. Namespaces
end with their processes; cgroups and files must be removed from outside, which the supervisor does. If it is killed
itself, these two remain until the next cluster starts, which removes those of supervisors that are gone.
"""

import fcntl
import json
import os
import select
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Final

from steersman.json_types import JsonObject
from tools.real_cluster.cgroups import Groups, NoCgroupError, groups_named, own_hierarchies
from tools.real_cluster.parts import Parts

_NAMESPACES: Final = ("--mount", "--net", "--pid", "--uts", "--ipc", "--cgroup")
PREFIX: Final = "real-cluster-"
STATE: Final = "cluster.json"
_LOCK: Final = "lock"
#: Held while a folder is created or removed.
_STARTING: Final = ".lock"


def runs_folder(parts: Parts) -> Path:
    """Return the folder in which running clusters keep their files."""
    return parts.binaries.folder.parent / "real-clusters"


def hold(run: Path) -> IO[str]:
    """Create the folder of a cluster and lock it until this process ends, however it ends.

    Only the lock says whether a cluster runs: its process may be stopped or its number used again.
    """
    run.parent.mkdir(parents=True, exist_ok=True)
    with _locked(run.parent / _STARTING):
        run.mkdir(mode=0o700)
        lock = (run / _LOCK).open("w")
        fcntl.flock(lock, fcntl.LOCK_EX)
    return lock


@contextmanager
def _locked(path: Path) -> Iterator[None]:
    with path.open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _is_held(run: Path) -> bool:
    try:
        with (run / _LOCK).open("r+") as lock:
            fcntl.flock(lock, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except FileNotFoundError:
        return False
    except BlockingIOError:
        return True
    return False


def running(folder: Path) -> Iterator[JsonObject]:
    """Yield what clusters that run have written about themselves, the youngest first."""
    for state in sorted(folder.glob(f"*/{STATE}"), key=lambda path: path.stat().st_mtime, reverse=True):
        if _is_held(state.parent):
            yield json.loads(state.read_text())


def sweep(folder: Path) -> None:
    """Remove cgroups and files of clusters whose supervisor was killed."""
    folder.mkdir(parents=True, exist_ok=True)
    with _locked(folder / _STARTING):
        for run in (path for path in folder.iterdir() if path.is_dir() and not _is_held(path)):
            Groups(groups_named(f"{PREFIX}{run.name}", own_hierarchies())).remove()
            shutil.rmtree(run, ignore_errors=True)


class Supervisor:
    """Runs one cluster until its own standard input is closed."""

    def __init__(self, parts: Parts) -> None:
        self._parts = parts
        self._root = runs_folder(parts) / str(os.getpid())

    def run(self) -> int:
        """Start the cluster, wait for its end or that of the starter, and remove everything."""
        sweep(runs_folder(self._parts))
        lock = hold(self._root)
        groups = Groups()
        try:
            groups = Groups.create(own_hierarchies(), f"{PREFIX}{os.getpid()}")
            return self._supervise(groups)
        except NoCgroupError as error:
            print(f"failed {error}", flush=True)
            return 2
        finally:
            groups.remove()
            shutil.rmtree(self._root, ignore_errors=True)
            lock.close()

    def _supervise(self, groups: Groups) -> int:
        with subprocess.Popen(  # noqa: S603 - ourselves, in other namespaces
            [  # noqa: S607 - the system's unshare
                "unshare",
                *_NAMESPACES,
                "--fork",
                "--kill-child",
                "--mount-proc",
                *(sys.executable, "-m", "tools.real_cluster.node"),
                *(str(self._root), str(self._parts.packages), str(self._parts.images)),
            ],
            env=self._environment(),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            bufsize=0,  # A line that is buffered here would not wake up the poll below.
            preexec_fn=groups.join,  # noqa: PLW1509 - this process has one thread
        ) as outer:
            try:
                # The node exists as soon as namespaces do: from then on its group is where their cgroups begin.
                while outer.poll() is None and _child_of(outer.pid) is None:
                    time.sleep(0.01)  # noqa: TID251 - a tool for people, outside the library
                groups.set_aside(outer.pid)
                self._forward(outer)
            finally:
                outer.kill()
        return outer.returncode

    def _environment(self) -> dict[str, str]:
        programs = os.pathsep.join(map(str, self._parts.programs))
        return {
            **os.environ,
            "PATH": f"{programs}{os.pathsep}{os.environ.get('PATH', os.defpath)}",
            "LD_LIBRARY_PATH": os.pathsep.join(map(str, self._parts.libraries)),
        }

    def _forward(self, outer: "subprocess.Popen[bytes]") -> None:
        """Pass on what the node reports, until it ends or the starter does."""
        assert outer.stdout is not None  # noqa: S101 - it is a pipe
        waiting = select.poll()
        for source in (outer.stdout, sys.stdin):
            waiting.register(source, select.POLLIN | select.POLLHUP)
        while True:
            for source, _ in waiting.poll():
                if source == sys.stdin.fileno():
                    if not os.read(source, 1024):
                        return
                elif not self._pass_on(outer.stdout, outer.pid):
                    return

    def _pass_on(self, report: IO[bytes], outer: int) -> bool:
        """Pass on one line; return whether there was one."""
        data = report.readline()
        line = data.decode(errors="replace").rstrip("\n")
        if line == "ready":
            state = {
                "supervisor": os.getpid(),
                "pid": _child_of(outer),
                "root": str(self._root),
                "kubeconfig": str(self._root / "admin.kubeconfig"),
            }
            (self._root / STATE).write_text(json.dumps(state))
            line = f"ready {json.dumps(state)}"
        if data:
            print(line, flush=True)
        return bool(data)


def _child_of(parent: int) -> int | None:
    for status in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = status.read_text().rpartition(")")[2].split()
        except OSError:
            continue
        if int(fields[1]) == parent:
            return int(status.parent.name)
    return None


def main() -> int:
    """Supervise a cluster on behalf of the process at the other side of standard input."""
    # only the process that started this one handles Ctrl-C; when it ends, this one ends, too.
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    return Supervisor(Parts.ensure()).run()


if __name__ == "__main__":
    sys.exit(main())
