"""Ends the processes of a node whose program has ended, in whatever way.

It is both a module of the node and a separate program: ``python guardian.py MARK`` reads lines from the node, ``+`` or
``-`` with the number of a process group. When the node's end of the pipe closes, it ends every group left and every
process that carries the node's mark in its environment. A program that is killed with -9 closes its pipes too. It uses
only the standard library, because it runs without site packages.
"""

import os
import signal
import subprocess
import sys
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

#: The environment variable that marks a process of a node.
VARIABLE = "STEERSMAN_NODE"
_PROC = Path("/proc")
#: Rounds of the search for marked processes: a process that forks during one is found in the next.
_ROUNDS = 10
#: Where a process's start time is among the fields after its name in ``/proc/<pid>/stat``.
_START = 19


def started_at(pid: int) -> str:
    """Return the start time of a process, in the form of this system; empty if there is none."""
    if _PROC.is_dir():
        with suppress(OSError, IndexError):
            return (_PROC / str(pid) / "stat").read_text().rpartition(")")[2].split()[_START]
        return ""
    with suppress(OSError):
        asked = ["/bin/ps", "-o", "lstart=", "-p", str(pid)]
        return subprocess.run(asked, capture_output=True, text=True, check=False).stdout.strip()  # noqa: S603 - fixed
    return ""


def end_group(group: int, number: int = signal.SIGKILL) -> None:
    """Send a signal to every process of a group that is not this program's own."""
    if group > 1 and group != os.getpgrp():
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(group, number)


def end_recorded(groups: Iterable[tuple[int, str]]) -> None:
    """End groups whose leader was started at a known time; a process that got its number since is left alone."""
    for group, start in groups:
        now = started_at(group)
        # An ended leader leaves its number to its group for as long as the group has members.
        if now in (start, ""):
            end_group(group)


def end_marked(mark: str) -> None:
    """End every process that carries a node's mark, in whatever group; only where there is ``/proc``."""
    wanted = f"{VARIABLE}={mark}".encode()
    for _ in range(_ROUNDS):
        found = [pid for pid in _pids() if wanted in _environment(pid)]
        for pid in found:
            with suppress(ProcessLookupError, PermissionError):
                os.kill(pid, signal.SIGKILL)
        if not found:
            return


def _pids() -> list[int]:
    return [int(entry.name) for entry in _PROC.iterdir() if entry.name.isdigit()] if _PROC.is_dir() else []


def _environment(pid: int) -> list[bytes]:
    try:
        return (_PROC / str(pid) / "environ").read_bytes().split(b"\0")
    except OSError:  # of another user, or ended
        return []


def main(mark: str) -> None:
    """Wait until the node has ended, then end the processes it left."""
    groups: set[int] = set()
    for line in sys.stdin:
        sign, number = line[:1], int(line[1:])
        if sign == "+":
            groups.add(number)
        else:
            groups.discard(number)
    for group in sorted(groups):
        end_group(group)
    end_marked(mark)


if __name__ == "__main__":
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)  # it must outlive the node
    main(sys.argv[1])
