"""The elector in a thread, an event loop and a connection of its own: nothing that blocks the operator can block it."""

import asyncio
import threading
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

from steersman.clock import Clock
from steersman.concurrency import background, cleanup
from steersman.informer.list_watch_driver import ApiConnection
from steersman.manager.leader.election import ElectionOptions, LeaderElector
from steersman.manager.leader.leadership import Leadership
from steersman.randomness import Randomness
from steersman.transport.base import Transport


@asynccontextmanager
async def elect_here(link: ApiConnection, options: ElectionOptions) -> AsyncIterator[Leadership]:
    """Take part in an election on this event loop; leaving the block hands the leadership over."""
    leadership = Leadership(link.clock)
    elector = LeaderElector(link, options, leadership)
    async with background(elector.run(), name="leader-election") as task:
        try:
            yield leadership
        finally:
            # The renewer must be silent before the lease is given back, or it would take it again.
            task.cancel()
            await asyncio.wait({task})
            await cleanup(elector.release(), clock=link.clock, within=options.timing.renew_deadline)


@asynccontextmanager
async def elect_in_thread(
    connect: Callable[[], Transport], clock: Clock, options: ElectionOptions
) -> AsyncIterator[Leadership]:
    """Take part in an election in a thread of its own; leaving the block hands the leadership over."""
    leadership = Leadership(clock)
    work = _ThreadWork(connect, clock, options, leadership)
    thread = threading.Thread(target=work.run, name="leader-election", daemon=True)
    thread.start()
    try:
        yield leadership
    finally:
        work.stop()
        await cleanup(asyncio.to_thread(thread.join), clock=clock, within=2 * options.timing.renew_deadline)


class _ThreadWork:
    """What the thread does, and how it is asked to end."""

    def __init__(
        self, connect: Callable[[], Transport], clock: Clock, options: ElectionOptions, leadership: Leadership
    ) -> None:
        self._connect = connect
        self._clock = clock
        self._options = options
        self._leadership = leadership
        self._is_stopped = threading.Event()
        #: Set by the thread once it can be told; both or neither.
        self._loop: asyncio.AbstractEventLoop | None = None
        self._stop = asyncio.Event()

    def run(self) -> None:
        """Run an event loop until stopped; called in the thread."""
        asyncio.run(self._main())

    def stop(self) -> None:
        """Ask the thread to hand over and end."""
        self._is_stopped.set()
        loop = self._loop
        if loop is not None and not loop.is_closed():
            loop.call_soon_threadsafe(self._stop.set)

    async def _main(self) -> None:
        self._loop = asyncio.get_running_loop()
        if self._is_stopped.is_set():
            return
        transport = self._connect()
        elector = LeaderElector(ApiConnection(transport, self._clock, Randomness()), self._options, self._leadership)
        try:
            async with background(elector.run(), name="leader-election"):
                await self._stop.wait()
            await elector.release()
        finally:
            self._leadership.end()
            await transport.close()
