"""A bell: one task waits for it, with or without a time limit; whoever has news rings it."""

import asyncio

from steersman.clock import Clock


class Wakeup:
    """Remembers one ring; waiting takes it away. Ringing never suspends; use it from one event loop."""

    __slots__ = ("_rung", "_waiter")

    def __init__(self) -> None:
        self._rung = False
        self._waiter: asyncio.Future[None] | None = None

    def set(self) -> None:
        """Ring."""
        self._rung = True
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(None)

    async def wait(self, clock: Clock | None = None, seconds: float | None = None) -> None:
        """Wait for a ring, at most so many seconds of that clock."""
        if not self._rung:
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
        self._rung = False
