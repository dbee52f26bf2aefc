"""Watchdog of the event loop: a thread checks periodically whether the loop still runs, and logs what blocks it."""

import asyncio
import logging
import sys
import threading
import traceback
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from types import FrameType

from steersman.clock import Clock

_log = logging.getLogger("steersman.manager")

#: Checks in each ``limit``; as many in a row must find no progress before the loop counts as blocked.
_CHECKS = 4

#: Called from the watchdog's thread with the seconds so far and the place in the code.
OnStall = Callable[[float, str], None]


def log_stall(seconds: float, place: str) -> None:
    """Log what blocks the event loop."""
    _log.warning("the event loop is blocked", extra={"seconds": round(seconds, 3), "blocked_in": place})


@asynccontextmanager
async def watch_event_loop(clock: Clock, *, limit: float = 1.0, on_stall: OnStall = log_stall) -> AsyncIterator[None]:
    """Report once each time that the running event loop is blocked for ``limit`` seconds.

    The clock must be the machine's, because a blocked loop is a fact of real time. A process that did not run at all is
    not reported: several checks must find the loop blocked, and the watchdog did not run either.
    """
    heartbeat = _Heartbeat(clock, limit, on_stall)
    heartbeat.beat()
    thread = threading.Thread(target=heartbeat.watch, name="event-loop-watchdog", daemon=True)
    thread.start()
    try:
        yield
    finally:
        heartbeat.stop()
        thread.join()


class _Heartbeat:
    """A periodic callback in the event loop, checked by another thread."""

    def __init__(self, clock: Clock, limit: float, on_stall: OnStall) -> None:
        self._clock = clock
        self._limit = limit
        self._on_stall = on_stall
        self._loop = asyncio.get_running_loop()
        self._thread = threading.get_ident()
        self._stopped = threading.Event()
        self._timer: asyncio.TimerHandle | None = None
        self._beat_at = clock.monotonic()

    def beat(self) -> None:
        """Record the time now, and schedule the next beat."""
        self._beat_at = self._clock.monotonic()
        self._timer = self._loop.call_later(self._limit / _CHECKS, self.beat)

    def stop(self) -> None:
        """Stop the beat and the thread."""
        self._stopped.set()
        if self._timer is not None:
            self._timer.cancel()

    def watch(self) -> None:
        """Check for beats, in a thread of its own; each stall is reported once."""
        last_beat, checks = -1.0, 0
        while not self._stopped.wait(self._limit / _CHECKS):
            beat_at = self._beat_at
            checks = checks + 1 if beat_at == last_beat else 0
            last_beat = beat_at
            silent = self._clock.monotonic() - beat_at
            if checks == _CHECKS:
                frame = sys._current_frames().get(self._thread)  # noqa: SLF001 - the documented way to see a thread
                self._on_stall(silent, place_of(frame))


def place_of(frame: FrameType | None) -> str:
    """Return the innermost function of a stack that is not the standard library's, with its file and line."""
    if frame is None:
        return "unknown"
    stack = traceback.extract_stack(frame)
    foreign = ("site-packages", "/lib/python")
    own = next((one for one in reversed(stack) if not any(part in one.filename for part in foreign)), stack[-1])
    return f"{own.name} ({own.filename}:{own.lineno})"
