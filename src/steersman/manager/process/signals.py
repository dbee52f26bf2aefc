"""Stopping by signal: the first one stops in order, the second one or the end of the grace period by force.

Python calls signal handlers in the main thread, and event loops call theirs between callbacks: neither happens while
the event loop is blocked. So signals are read by a thread of their own, from the file descriptor to which the
interpreter writes the number of each signal as it arrives (``signal.set_wakeup_fd``)::

    signal ──▶ wakeup fd ──▶ thread ──first──▶ the event loop: ``stop`` is set
                               │                └─ grace over ──▶ the process ends (``FORCED``)
                               └────second────▶ the process ends (``IMPATIENT``)
"""

import asyncio
import logging
import os
import signal
import socket
import threading
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from types import FrameType

from steersman.manager.process.forced_exit import AFTER_GRACE, FORCED, exit_now, force_exit_after

_log = logging.getLogger("steersman.manager")
_SIGNALS = (signal.SIGTERM, signal.SIGINT)
#: Exit code of a process that received a second signal.
IMPATIENT = 1


@asynccontextmanager
async def stop_on_signals(
    *, at_once: Callable[[], object] | None = None, grace: float | None = None
) -> AsyncIterator[asyncio.Event]:
    """Yield an event that SIGTERM, SIGINT and SIGHUP set; a second signal calls ``at_once`` and exits the process.

    With ``grace`` the process exits that many seconds (and a few for cleaning up) after the first signal, whatever is
    still running, even after this block. SIGHUP (a closed terminal) stops the process unless it was started to ignore
    it, as nohup does. Must be entered in the main thread.
    """
    stop = asyncio.Event()
    outlives = signal.getsignal(signal.SIGHUP) is signal.SIG_IGN
    watched = _SIGNALS if outlives else (*_SIGNALS, signal.SIGHUP)
    rules = _SignalRules(asyncio.get_running_loop(), stop, at_once, grace)
    reader = _SignalReader(rules.on_signal, watched)
    reader.start()
    try:
        yield stop
    finally:
        reader.stop()


class _SignalRules:
    """Decide what a signal does; called in the thread that reads signals."""

    def __init__(
        self,
        loop: asyncio.AbstractEventLoop,
        stop: asyncio.Event,
        at_once: Callable[[], object] | None,
        grace: float | None,
    ) -> None:
        self._loop = loop
        self._stop = stop
        self._at_once = at_once
        self._grace = grace
        self._was_asked = False

    def on_signal(self, number: signal.Signals) -> None:
        """Request a stop at the first signal; exit the process at the second."""
        if not self._was_asked:
            self._was_asked = True
            self._ask(number)
        elif number is not signal.SIGHUP:  # a closed terminal and its shell both send one
            exit_now(IMPATIENT, lambda: self._leave(number))

    def _ask(self, number: signal.Signals) -> None:
        if self._grace is not None:
            message = "the process ends by force: not everything stopped within the grace period"
            force_exit_after(self._grace + AFTER_GRACE, FORCED, message, loop=self._loop)
        with suppress(RuntimeError):  # the loop is closed already
            self._loop.call_soon_threadsafe(self._begin, number)

    def _begin(self, number: signal.Signals) -> None:
        # Logged by the event loop: the log may be what is blocked, and this thread must read the next signal.
        grace = {} if self._grace is None else {"grace": self._grace}
        _log.info("stopping: a second signal ends it at once", extra={"signal": number.name, **grace})
        self._stop.set()

    def _leave(self, number: signal.Signals) -> None:
        if self._at_once is not None:
            self._at_once()
        _log.warning("second signal: exiting at once", extra={"signal": number.name})


class _SignalReader:
    """Pass signals to a function in a thread. A previous reader of the wakeup descriptor still gets them."""

    def __init__(self, on_signal: Callable[[signal.Signals], None], watched: tuple[signal.Signals, ...]) -> None:
        self._on_signal = on_signal
        self._watched = watched
        self._incoming, self._outgoing = socket.socketpair()
        self._outgoing.setblocking(False)  # noqa: FBT003 - the name says it
        self._thread = threading.Thread(target=self._read, name="signals", daemon=True)
        self._handlers = {number: signal.getsignal(number) for number in watched}
        #: The descriptor that received signals before: uvloop has one, asyncio if a handler was registered.
        self._others = -1

    def start(self) -> None:
        """Start to receive signals."""
        self._others = signal.set_wakeup_fd(self._outgoing.fileno(), warn_on_full_buffer=False)
        for number in self._watched:
            signal.signal(number, self._on_python_signal)
        self._thread.start()

    def stop(self) -> None:
        """Stop to receive signals, and restore the previous handlers."""
        for number, handler in self._handlers.items():
            signal.signal(number, handler)
        signal.set_wakeup_fd(self._others, warn_on_full_buffer=False)
        self._outgoing.close()
        self._thread.join()
        self._incoming.close()

    def _on_python_signal(self, number: int, _: FrameType | None) -> None:
        """Take the wakeup descriptor back if an event loop has replaced it; runs in the main thread, when it can."""
        present = signal.set_wakeup_fd(self._outgoing.fileno(), warn_on_full_buffer=False)
        if present != self._outgoing.fileno():
            self._others = present
            self._outgoing.send(bytes([number]))

    def _read(self) -> None:
        while numbers := self._incoming.recv(4096):
            if self._others != -1:
                with suppress(OSError):
                    os.write(self._others, numbers)
            for number in numbers:
                if number in self._watched:
                    self._on_signal(signal.Signals(number))
