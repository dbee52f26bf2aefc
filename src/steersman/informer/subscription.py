"""`Subscription`: one handler of an informer, with a buffer and a task of its own, so that it cannot delay others."""

import asyncio
import logging
from collections import deque
from collections.abc import Awaitable, Callable
from typing import TypeAlias

from steersman.clock import Clock
from steersman.informer.changes import Change
from steersman.informer.wakeup import Wakeup

#: Called with every change, in order. An exception is logged, and the next change is delivered after a pause.
Handler: TypeAlias = Callable[[Change], Awaitable[None] | None]

_log = logging.getLogger("steersman.informer")
#: Seconds of pause after a handler raised.
_PAUSE = 1.0
#: Number of changes that are delivered before other tasks may run.
_AT_ONCE = 256


class _Synced:
    """Marks the end of the initial objects in the buffer."""


_SYNCED = _Synced()


async def _let_others_run() -> None:
    """Wait for the next iteration of the event loop."""
    loop = asyncio.get_running_loop()
    turn = loop.create_future()
    loop.call_soon(lambda: None if turn.done() else turn.set_result(None))
    await turn


class Subscription:
    """Deliver changes to one handler, one at a time and in order. The buffer is unbounded: nothing is dropped."""

    def __init__(self, name: str, handler: Handler, *, clock: Clock, resync: float | None) -> None:
        self.name = name
        #: Seconds between resyncs of this handler; ``None`` for none.
        self.resync = resync
        self._handler = handler
        self._clock = clock
        self._buffer: deque[Change | _Synced] = deque()
        self._wakeup = Wakeup()
        self._synced = asyncio.Event()
        self._synced_marked = False

    @property
    def is_synced(self) -> bool:
        """Whether the handler was called with every initial object."""
        return self._synced.is_set()

    async def wait_synced(self) -> None:
        """Wait until the handler was called with every initial object."""
        await self._synced.wait()

    @property
    def backlog(self) -> int:
        """Number of changes that were not delivered yet."""
        return len(self._buffer)

    def push(self, changes: list[Change]) -> None:
        """Add changes to the buffer; never suspends."""
        self._buffer.extend(changes)
        self._wakeup.set()

    def mark_synced(self) -> None:
        """Record that all initial objects are in the buffer."""
        if not self._synced_marked:
            self._synced_marked = True
            self._buffer.append(_SYNCED)
            self._wakeup.set()

    async def run(self) -> None:
        """Deliver until cancelled."""
        buffer, handler = self._buffer, self._handler
        delivered = 0
        while True:
            while buffer:
                delivered += 1
                if delivered % _AT_ONCE == 0:
                    await _let_others_run()
                item = buffer.popleft()
                if isinstance(item, _Synced):
                    self._synced.set()
                    continue
                try:
                    if (answer := handler(item)) is not None:
                        await answer
                except Exception:  # noqa: BLE001 - a failing handler must not end the delivery
                    _log.exception("handler failed", extra={"handler": self.name})
                    await self._clock.sleep(_PAUSE)
            await self._wakeup.wait()

    def __repr__(self) -> str:
        return f"<Subscription {self.name} backlog={len(self._buffer)} synced={self.is_synced}>"
