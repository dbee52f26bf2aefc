"""Connections that an operator's own drivers open while it is planned: what they write is not in the plan.

A plan cannot stop a database driver: it may only read, as many operators do to see the state of their database. So the
plan names every server that was connected to outside of ``ctx.http``.

Python raises an audit event for each connection. Audit hooks cannot be removed, so there is one hook for the process,
which does nothing unless a plan listens. Event loops that are written in C, such as uvloop, raise no audit events.
"""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any, Final

from steersman.planning.changes import current_run

#: Code whose connections are the plan's own.
_OWN: Final = "steersman.transport"

#: Servers that were connected to, of every plan that listens.
_listeners: list[dict[str, None]] = []
_is_installed = False


@contextmanager
def foreign_connections() -> Iterator[dict[str, None]]:
    """Collect the servers that reconcilers connect to by themselves inside the block."""
    global _is_installed  # noqa: PLW0603 - a hook stays for the life of the process
    if not _is_installed:
        sys.addaudithook(_on_audit_event)
        _is_installed = True
    found: dict[str, None] = {}
    _listeners.append(found)
    try:
        yield found
    finally:
        _listeners.remove(found)


def _on_audit_event(event: str, arguments: tuple[Any, ...]) -> None:
    if event != "socket.connect" or not _listeners or current_run.get() is None:
        return
    address = arguments[1]
    if isinstance(address, tuple) and not _is_own(sys._getframe()):  # noqa: SLF001 - the only way to see the caller
        for found in _listeners:
            found[f"{address[0]}:{address[1]}"] = None


def _is_own(frame: FrameType | None) -> bool:
    """Return whether a transport of ours is among the callers."""
    while frame is not None:
        if str(frame.f_globals.get("__name__", "")).startswith(_OWN):
            return True
        frame = frame.f_back
    return False
