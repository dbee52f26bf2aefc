"""What an operator does by itself while it is planned: what a driver or another program writes is not in the plan.

A plan cannot stop a database driver: it may only read, as many operators do to see the state of their database. So the
plan names every server that was connected to outside of ``ctx.http``, every program that was started, and every SQLite
database. Only a `Client` that connects by itself is rejected: it is certain to write to the cluster, and ``ctx.client``
does the same within the plan.

Python raises an audit event for each of them. Audit hooks cannot be removed, so there is one hook for the process,
which does nothing unless a plan listens. What is not noticed: files that are written, event loops that are written in
C, such as uvloop, and what extension modules do without an audit event.
"""

import os
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any, Final

from steersman.client.client import before_connecting
from steersman.errors import NotPlanned
from steersman.planning.changes import current_run

#: Code whose connections are the plan's own.
_OWN: Final = "steersman.transport"

_is_installed = False


class _Listener:
    """What one plan has noticed; the plan itself runs in the thread that created it."""

    def __init__(self) -> None:
        self.found: dict[str, None] = {}
        self._thread = threading.get_ident()

    def note(self, what: str) -> None:
        """Record what a run did; other threads have no run unless asyncio has started them, and belong to one."""
        if current_run.get() is not None or threading.get_ident() != self._thread:
            self.found[what] = None


#: One for each plan that listens.
_listeners: list[_Listener] = []


@contextmanager
def side_effects() -> Iterator[dict[str, None]]:
    """Collect what reconcilers do by themselves inside the block, as ends of a sentence: ``connected to HOST:PORT``."""
    global _is_installed  # noqa: PLW0603 - a hook stays for the life of the process
    if not _is_installed:
        sys.addaudithook(_on_audit_event)
        _is_installed = True
    listener = _Listener()
    _listeners.append(listener)
    try:
        yield listener.found
    finally:
        _listeners.remove(listener)


@contextmanager
def no_own_clients(operator_of: Callable[[int], str], note: Callable[[str], object]) -> Iterator[None]:
    """Reject a `Client` that a planned operator connects by itself, in a run or in a thread of its own.

    ``operator_of`` names the operator of a reconciler; ``note`` records it, because the operator may catch the error.
    """
    thread = threading.get_ident()

    def reject() -> None:
        run = current_run.get()
        if run is None and threading.get_ident() == thread:
            return
        who = "an operator" if run is None else f"operator {operator_of(run.number)!r}"
        note(f"{who} tried to connect a Client by itself, which a plan rejects")
        raise NotPlanned(
            f"{who} connects a Client by itself, whose writes would be real: use ctx.client, or declare the operator "
            "as one that cannot be planned with operator.refuse_plan(REASON)"
        )

    before_connecting.append(reject)
    try:
        yield
    finally:
        before_connecting.remove(reject)


def _on_audit_event(event: str, arguments: tuple[Any, ...]) -> None:
    if not _listeners or event not in _EVENTS:
        return
    what = _EVENTS[event](arguments)
    if what and not _is_own(sys._getframe()):  # noqa: SLF001 - the only way to see the caller
        for listener in _listeners:
            listener.note(what)


def _connected(arguments: tuple[Any, ...]) -> str:
    address = arguments[1]
    if isinstance(address, tuple):
        return f"connected to {address[0]}:{address[1]}"
    return f"connected to {os.fsdecode(address)}" if isinstance(address, (str, bytes)) else ""


def _sent(arguments: tuple[Any, ...]) -> str:
    address = arguments[1]
    if isinstance(address, tuple):
        return f"sent datagrams to {address[0]}:{address[1]}"
    return f"sent datagrams to {os.fsdecode(address)}" if isinstance(address, (str, bytes)) else ""


def _started(arguments: tuple[Any, ...]) -> str:
    """Return the program only: its arguments may be confidential."""
    program = arguments[0]
    words = os.fsdecode(program).split() if isinstance(program, (str, bytes, os.PathLike)) else []
    return f"started {words[0]}" if words else ""


def _opened(arguments: tuple[Any, ...]) -> str:
    database = arguments[0]
    if not isinstance(database, (str, bytes, os.PathLike)) or os.fsdecode(database) == ":memory:":
        return ""
    return f"opened the database {os.fsdecode(database)}"


#: Audit events of Python, and what they say about the operator; empty for nothing.
_EVENTS: Final[dict[str, Callable[[tuple[Any, ...]], str]]] = {
    "socket.connect": _connected,
    "socket.sendto": _sent,
    "socket.sendmsg": _sent,
    "subprocess.Popen": _started,
    "os.posix_spawn": _started,
    "os.exec": _started,
    "os.system": _started,
    "sqlite3.connect": _opened,
}


def _is_own(frame: FrameType | None) -> bool:
    """Return whether a transport of ours is among the callers."""
    while frame is not None:
        if str(frame.f_globals.get("__name__", "")).startswith(_OWN):
            return True
        frame = frame.f_back
    return False
