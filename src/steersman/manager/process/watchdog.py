"""Finds what blocks the event loop: a thread looks every so often whether it still turns, and names the culprit."""

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

#: Looks of the watchdog in each ``limit``; as many must find the loop standing still before it counts as blocked.
_LOOKS = 4

#: Called from the watchdog's thread with the seconds so far and the place in the code.
OnStall = Callable[[float, str], None]


def log_stall(seconds: float, place: str) -> None:
    """Say in the log what blocks the event loop."""
    _log.warning("the event loop is blocked", extra={"seconds": round(seconds, 3), "blocked_in": place})


@asynccontextmanager
async def watch_event_loop(clock: Clock, *, limit: float = 1.0, on_stall: OnStall = log_stall) -> AsyncIterator[None]:
    """Report once every time that the running event loop does not turn for ``limit`` seconds.

    The clock must be the machine's: a blocked loop is a fact of real time. A process that as a whole did not get to run
    is not reported: the watchdog has to find the loop standing still in several looks, and it did not run either.
    """
    heart = _Heart(clock, limit, on_stall)
    heart.beat()
    thread = threading.Thread(target=heart.watch, name="event-loop-watchdog", daemon=True)
    thread.start()
    try:
        yield
    finally:
        heart.stop()
        thread.join()


class _Heart:
    """Beats in the event loop; another thread listens."""

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
        """Beat now, and again in a while."""
        self._beat_at = self._clock.monotonic()
        self._timer = self._loop.call_later(self._limit / _LOOKS, self.beat)

    def stop(self) -> None:
        """Beat and listen no more."""
        self._stopped.set()
        if self._timer is not None:
            self._timer.cancel()

    def watch(self) -> None:
        """Look for beats, in a thread of its own; each silence is reported once."""
        last_beat, looks = -1.0, 0
        while not self._stopped.wait(self._limit / _LOOKS):
            beat_at = self._beat_at
            looks = looks + 1 if beat_at == last_beat else 0
            last_beat = beat_at
            silent = self._clock.monotonic() - beat_at
            if looks == _LOOKS:
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
