"""Whether a server is alive: its last answer, or a question that is asked once for all who want to know."""

import asyncio
from collections.abc import Awaitable, Callable

from steersman.clock import Clock
from steersman.errors import TransportError

#: Seconds for which an answer is a sign of life.
_RECENTLY = 5.0


class ServerLiveness:
    """Asks the server for a sign of life when no answer came recently."""

    def __init__(self, ask: Callable[[], Awaitable[object]], clock: Clock) -> None:
        self._ask = ask
        self._clock = clock
        self._answered_at = float("-inf")
        self._asking = asyncio.Lock()
        #: Questions asked so far, and how the last one failed: those who waited for it share its outcome.
        self._asked = 0
        self._failure: TransportError | None = None

    def answered(self) -> None:
        """Note that the server answered something."""
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
