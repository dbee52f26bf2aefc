"""`BackgroundTasks`: the work that follows from writes, each task once, soon, in the order in which it was added."""

import asyncio
import logging
from collections.abc import Callable, Hashable

from steersman.apiserver.status import Refusal

_log = logging.getLogger("steersman.apiserver")
#: How many tasks run in one turn of the event loop, so that requests do not wait for a large cleanup.
_AT_ONCE = 100


class BackgroundTasks:
    """A queue without duplicates; a task that is added again while it runs will run once more."""

    def __init__(self) -> None:
        self._waiting: dict[Hashable, Callable[[], None]] = {}
        self._is_scheduled = False
        self._is_paused = False

    def __len__(self) -> int:
        return len(self._waiting)

    def add(self, key: Hashable, task: Callable[[], None]) -> None:
        """Run a task soon, unless one with this key is waiting."""
        if key not in self._waiting:
            self._waiting[key] = task
            self._schedule()

    def clear(self) -> None:
        """Drop all waiting tasks."""
        self._waiting.clear()

    def pause(self) -> None:
        """Run no more tasks in this turn of the event loop: the current one did much."""
        self._is_paused = True

    def run(self) -> None:
        """Run all tasks now, including those that they add."""
        while self._waiting:
            self._run_next()

    def _schedule(self) -> None:
        if self._is_scheduled:
            return
        try:
            loop = asyncio.get_running_loop()
        except RuntimeError:
            return  # no requests are served yet: `run` is called when the server starts
        self._is_scheduled = True
        loop.call_soon(self._turn)

    def _turn(self) -> None:
        self._is_scheduled = self._is_paused = False
        for _ in range(_AT_ONCE):
            if not self._waiting:
                return
            self._run_next()
            if self._is_paused:
                break
        if self._waiting:
            self._schedule()

    def _run_next(self) -> None:
        key = next(iter(self._waiting))
        task = self._waiting.pop(key)
        try:
            task()
        except Refusal as refusal:
            _log.warning("a background task was rejected", extra={"task": key, "reason": refusal.message})
        except Exception:  # noqa: BLE001 - a bug in one task must not stop the others
            _log.exception("a background task failed", extra={"task": key})
