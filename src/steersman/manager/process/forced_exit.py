"""Forced exit of a process that may not end by itself: from a thread, whatever the event loop does.

A blocked event loop runs nothing, a task may suppress its cancellation, and a thread cannot be cancelled. Only C code
that never releases the GIL cannot be ended here; the orchestrator's SIGKILL does that.
"""

import asyncio
import logging
import os
import sys
import threading
from collections.abc import Callable
from contextlib import suppress

from steersman.manager.process.watchdog import place_of

_log = logging.getLogger("steersman.manager")

#: Exit code of a process in which something did not stop within the grace period.
FORCED = 4
#: Exit code of a process that lost its leadership: it should be restarted at once.
LOST_LEADERSHIP = 3
#: Seconds that an orderly stop may take after the grace period: last events, the lease, caches and servers.
AFTER_GRACE = 5.0
#: Seconds to wait for the last log message: a blocked log must not keep the process alive.
_LAST_WORDS = 1.0
#: Maximum number of tasks that are named in the log.
_MOST_TASKS = 10


def force_exit_after(
    seconds: float, code: int, message: str, *, loop: asyncio.AbstractEventLoop | None = None
) -> threading.Timer:
    """Exit the process after this many seconds, unless the returned timer is cancelled.

    The log shows what the main thread does then, and the tasks of the loop. May be called from any thread.
    """
    timer = threading.Timer(seconds, lambda: exit_now(code, lambda: _log_state(message, loop)))
    timer.name = "forced-exit"
    timer.daemon = True
    timer.start()
    return timer


def exit_now(code: int, last_words: Callable[[], object]) -> None:
    """Exit the process at once; ``last_words`` is called first, and waited for only a moment."""
    try:
        speaker = threading.Thread(target=last_words, name="last-words", daemon=True)
        speaker.start()
        speaker.join(_LAST_WORDS)
    finally:
        os._exit(code)


def _log_state(message: str, loop: asyncio.AbstractEventLoop | None) -> None:
    main = threading.main_thread().ident
    frame = None if main is None else sys._current_frames().get(main)  # noqa: SLF001 - the documented way to see a thread
    _log.error(message, extra={"main_thread_in": place_of(frame), "tasks": _tasks_of(loop)})


def _tasks_of(loop: asyncio.AbstractEventLoop | None) -> list[str]:
    """Return the names of unfinished tasks; the loop runs in another thread and may change them meanwhile."""
    names: list[str] = []
    if loop is not None:
        with suppress(RuntimeError):
            names = sorted(task.get_name() for task in asyncio.all_tasks(loop))
    return names[:_MOST_TASKS]
