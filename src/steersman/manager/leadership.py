"""Leadership as others see it: who may write, and being told when it comes and goes. Safe to read in any thread."""

import asyncio

from steersman.clock import Clock
from steersman.errors import LeadershipLost


class Leadership:
    """Until when this process leads. One elector writes it; create it on the event loop that waits for it.

    It is the ``WriteFence`` of everything that an operator writes.
    """

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._loop = asyncio.get_running_loop()
        self._valid_until = float("-inf")
        self._acquired = asyncio.Event()
        self._lost = asyncio.Event()

    # What the elector calls, from its own thread.

    def extend(self, valid_until: float) -> None:
        """Lead until a monotonic time."""
        self._valid_until = valid_until
        self._tell(self._acquired)

    def end(self) -> None:
        """Lead no more, from now on."""
        self._valid_until = float("-inf")
        self._tell(self._lost)

    def _tell(self, event: asyncio.Event) -> None:
        if not self._loop.is_closed():
            self._loop.call_soon_threadsafe(event.set)

    # What others call.

    @property
    def is_valid(self) -> bool:
        """Whether this process may write now."""
        return self._clock.monotonic() < self._valid_until

    def check(self) -> None:
        """Raise ``LeadershipLost`` unless this process may write now."""
        if not self.is_valid:
            raise LeadershipLost("this process does not lead (any more): it may not write")

    async def wait_acquired(self) -> None:
        """Wait until this process leads for the first time."""
        await self._acquired.wait()

    async def wait_lost(self) -> None:
        """Wait until this process leads no more."""
        await self._lost.wait()

    def __repr__(self) -> str:
        return f"<Leadership leads={self.is_valid}>"
