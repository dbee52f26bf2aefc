"""Await points: the lines of the author's code that wait, found by looking at each task before it goes on.

The tasks of an instance inherit its connection as a context variable, so those of the scenario and of the server are
left out, and tasks that a reconciler starts are not. A point is a line at a moment, that is, a time and a version of
the server. Awaits inside of the framework belong to the line that called it. A line that waits again and again while
nothing changes, such as that of a loop which polls, counts three times.
"""

import asyncio
import sys
from collections import Counter
from contextvars import ContextVar
from pathlib import PurePath
from typing import Any

from steersman.simulation.event_loop import SimulationLoop
from steersman.simulation.faults.plans import Fault
from steersman.simulation.faults.recording import AwaitStep, Moment
from steersman.simulation.network.connection import Connection, Network

#: The connection of the instance to which the current code belongs.
current_connection: ContextVar[Connection | None] = ContextVar("current_connection", default=None)

#: How often a line counts that waits while nothing changes.
_MOST_WAITS = 3
#: How often a task is held back for its cancellation: it may be protected from it.
_MOST_HOLDS = 20


class AwaitPoints:
    """Records the await points of a run, and strikes at the planned one."""

    def __init__(self, network: Network, loop: SimulationLoop) -> None:
        self._network = network
        self._loop = loop
        self._seen: set[tuple[Moment, str]] = set()
        self._waits: Counter[tuple[int, str]] = Counter()

    def before_step(self, handle: asyncio.Handle) -> bool:
        """Record the point at which a task waits that is about to go on; return whether it may."""
        connection = handle._context.get(current_connection)  # type: ignore[attr-defined]  # noqa: SLF001 - no other way
        task = getattr(handle._callback, "__self__", None)  # type: ignore[attr-defined]  # noqa: SLF001 - same
        if connection is None or connection.is_cut or not isinstance(task, asyncio.Task):
            return True
        line = author_line(task.get_coro())
        step = self._new_step(connection, line) if line else None
        fault = self._network.plan.at("await", step.number) if step is not None else None
        if fault is None:
            return True
        return self._strike(fault, connection, handle, task)

    def _new_step(self, connection: Connection, line: str) -> AwaitStep | None:
        moment = self._network.moment()
        wait = (moment[1], line)
        if (moment, line) in self._seen or self._waits[wait] == _MOST_WAITS:
            return None
        self._seen.add((moment, line))
        self._waits[wait] += 1
        recorded = self._network.recording.awaits
        step = AwaitStep(len(recorded) + 1, connection.instance, line, moment)
        recorded.append(step)
        return step

    def _strike(self, fault: Fault, connection: Connection, handle: asyncio.Handle, task: asyncio.Task[Any]) -> bool:
        self._network.strikes(fault)
        if fault.kind == "crash-at-await":
            connection.crash()
            return True
        connection.stop()
        self._hold(handle, task, _MOST_HOLDS)
        return False

    def _hold(self, handle: asyncio.Handle, task: asyncio.Task[Any], times: int) -> None:
        """Hold a task back until it is cancelled, so that the cancellation arrives at this await."""

        def go_on() -> None:
            if task.cancelling() or not times:
                self._loop.resume(handle)
            else:
                self._hold(handle, task, times - 1)

        self._network.clock.call_later(0.0, go_on)


def author_line(waiting: Any) -> str:
    """Return the innermost line of the author's code at which a coroutine waits; empty without any."""
    line = ""
    while waiting is not None:
        frame = getattr(waiting, "cr_frame", None) or getattr(waiting, "gi_frame", None)
        if frame is not None and _is_author(frame.f_globals.get("__name__", "")):
            code = frame.f_code
            line = f"{code.co_name} ({PurePath(code.co_filename).name}:{frame.f_lineno})"
        waiting = getattr(waiting, "cr_await", None) or getattr(waiting, "gi_yieldfrom", None)
    return line


def _is_author(module: str) -> bool:
    package = module.partition(".")[0]
    return package != "steersman" and package not in sys.stdlib_module_names
