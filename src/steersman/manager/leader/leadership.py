"""`Leadership`: whether this process may write, and waiting for its begin and end. Safe to read in any thread."""

import asyncio

from steersman.clock import Clock
from steersman.errors import LeadershipLost


class Leadership:
    """Until when this process leads. One elector sets it; create it on the event loop that waits for it.

    It is the ``WriteFence`` of all writes of an operator.
    """

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._loop = asyncio.get_running_loop()
        self._valid_until = float("-inf")
        self._acquired = asyncio.Event()
        self._lost = asyncio.Event()
        #: Whether the lease may be released early: false while a write may still be on its way to the server.
        self.may_release = True

    # For the elector, in its own thread.

    def extend(self, valid_until: float) -> None:
        """Extend leadership to a monotonic time."""
        self._valid_until = valid_until
        self._set(self._acquired)

    def end(self) -> None:
        """End leadership now."""
        self._valid_until = float("-inf")
        self._set(self._lost)

    def _set(self, event: asyncio.Event) -> None:
        if not self._loop.is_closed():
            self._loop.call_soon_threadsafe(event.set)

    # For readers of the state.

    @property
    def is_valid(self) -> bool:
        """Whether this process may write now."""
        return self._clock.monotonic() < self._valid_until

    def check(self) -> None:
        """Raise ``LeadershipLost`` unless this process may write now."""
        if not self.is_valid:
            raise LeadershipLost("this process is not the leader (any more): it must not write")

    async def wait_acquired(self) -> None:
        """Wait until this process leads for the first time."""
        await self._acquired.wait()

    async def wait_lost(self) -> None:
        """Wait until this process no longer leads."""
        await self._lost.wait()

    def __repr__(self) -> str:
        return f"<Leadership leads={self.is_valid}>"
