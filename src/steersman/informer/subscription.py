"""One handler of an informer: its own buffer and its own pace, so that it can hold up nobody but itself."""

import asyncio
import logging
from collections import deque
from collections.abc import Awaitable, Callable
from typing import TypeAlias

from steersman.clock import Clock
from steersman.informer.changes import Change
from steersman.informer.wakeup import Wakeup

#: Told of every change, in order. What it raises is logged, and the next change is delivered after a pause.
Handler: TypeAlias = Callable[[Change], Awaitable[None] | None]

_log = logging.getLogger("steersman.informer")
#: Seconds of pause after a handler raised.
_PAUSE = 1.0
#: Changes that are delivered in one go before others may run.
_AT_ONCE = 256


class _Synced:
    """Stands in the buffer where the initial objects end."""


_SYNCED = _Synced()


async def _let_others_run() -> None:
    """Wait for the next turn of the event loop, however much there is to do."""
    loop = asyncio.get_running_loop()
    turn = loop.create_future()
    loop.call_soon(lambda: None if turn.done() else turn.set_result(None))
    await turn


class Subscription:
    """Delivers changes to one handler, one at a time and in order. The buffer has no limit: nothing is dropped."""

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
        """Whether the handler has been told of every initial object."""
        return self._synced.is_set()

    async def wait_synced(self) -> None:
        """Wait until the handler has been told of every initial object."""
        await self._synced.wait()

    @property
    def backlog(self) -> int:
        """How many changes wait to be delivered."""
        return len(self._buffer)

    def push(self, changes: list[Change]) -> None:
        """Add changes; never suspends."""
        self._buffer.extend(changes)
        self._wakeup.set()

    def mark_synced(self) -> None:
        """Tell that everything initial is in the buffer."""
        if not self._synced_marked:
            self._synced_marked = True
            self._buffer.append(_SYNCED)
            self._wakeup.set()

    async def run(self) -> None:
        """Deliver for ever."""
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
                except Exception:  # noqa: BLE001 - whatever a handler does, the others and its next change go on
                    _log.exception("handler failed", extra={"handler": self.name})
                    await self._clock.sleep(_PAUSE)
            await self._wakeup.wait()

    def __repr__(self) -> str:
        return f"<Subscription {self.name} backlog={len(self._buffer)} synced={self.is_synced}>"
