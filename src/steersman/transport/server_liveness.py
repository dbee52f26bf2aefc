"""Whether a server is alive: its last response, or a check that concurrent callers share."""

import asyncio
from collections.abc import Awaitable, Callable

from steersman.clock import Clock
from steersman.errors import TransportError

#: Seconds for which a response counts as proof of life.
_RECENTLY = 5.0


class ServerLiveness:
    """Checks that the server responds, unless it did so recently."""

    def __init__(self, ask: Callable[[], Awaitable[object]], clock: Clock) -> None:
        self._ask = ask
        self._clock = clock
        self._answered_at = float("-inf")
        self._asking = asyncio.Lock()
        #: Checks so far, and how the last one failed: waiting callers share its outcome.
        self._asked = 0
        self._failure: TransportError | None = None

    def answered(self) -> None:
        """Note that the server responded."""
        self._answered_at = self._clock.monotonic()

    async def check(self) -> None:
        """Return if the server is alive; raise the ``TransportError`` of the question that it did not answer."""
        asked_before = self._asked
        async with self._asking:
            if self._clock.monotonic() - self._answered_at < _RECENTLY:
                return
            if self._asked > asked_before and self._failure is not None:
                raise self._failure
            self._failure = None
            try:
                await self._ask()
            except TransportError as error:
                self._failure = error
                raise
            finally:
                self._asked += 1

    def __repr__(self) -> str:
        return f"<Pulse answered_at={self._answered_at}>"
