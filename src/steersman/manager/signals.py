"""Stopping by signal: the first asks politely, the second does not ask."""

import asyncio
import logging
import os
import signal
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

_log = logging.getLogger("steersman.manager")
_SIGNALS = (signal.SIGTERM, signal.SIGINT)
#: The exit code of a process that was told twice.
IMPATIENT = 1


@asynccontextmanager
async def stop_on_signals(*, at_once: Callable[[], object] | None = None) -> AsyncIterator[asyncio.Event]:
    """Give an event that SIGTERM, SIGINT and SIGHUP set; a second signal calls ``at_once`` and ends the process.

    A terminal that is closed (SIGHUP) stops what runs in it, unless that was started to outlive it, as nohup does.
    """
    loop = asyncio.get_running_loop()
    stop = asyncio.Event()

    def on_signal(number: signal.Signals) -> None:
        if stop.is_set() and number is signal.SIGHUP:
            return  # nobody is impatient: both the terminal and its shell say that it was closed
        if stop.is_set():
            _log.warning("second signal: leaving at once", extra={"signal": number.name})
            if at_once is not None:
                at_once()
            os._exit(IMPATIENT)
        _log.info("stopping", extra={"signal": number.name})
        stop.set()

    outlives = signal.getsignal(signal.SIGHUP) is signal.SIG_IGN
    heeded = _SIGNALS if outlives else (*_SIGNALS, signal.SIGHUP)
    for number in heeded:
        loop.add_signal_handler(number, on_signal, number)
    try:
        yield stop
    finally:
        for number in heeded:
            loop.remove_signal_handler(number)
