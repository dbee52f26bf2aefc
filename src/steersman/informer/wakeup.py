"""`Wakeup`: lets one task wait for a signal, with or without a time limit."""

import asyncio

from steersman.clock import Clock


class Wakeup:
    """A flag that one task waits for; waiting clears it. Setting never suspends; use it on one event loop."""

    __slots__ = ("_is_set", "_waiter")

    def __init__(self) -> None:
        self._is_set = False
        self._waiter: asyncio.Future[None] | None = None

    def set(self) -> None:
        """Set the flag and wake the waiting task."""
        self._is_set = True
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(None)

    async def wait(self, clock: Clock | None = None, seconds: float | None = None) -> None:
        """Wait until the flag is set, at most so many seconds of that clock, and clear it."""
        if not self._is_set:
            waiter = self._waiter = asyncio.get_running_loop().create_future()
            timer = None
            if clock is not None and seconds is not None:
                timer = clock.call_later(seconds, lambda: None if waiter.done() else waiter.set_result(None))
            try:
                await waiter
            finally:
                self._waiter = None
                if timer is not None:
                    timer.cancel()
        self._is_set = False
