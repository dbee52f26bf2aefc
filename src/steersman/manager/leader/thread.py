"""An elector in a thread with an event loop and a connection of its own: a blocked operator cannot block it."""

import asyncio
import threading
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Protocol, TypeAlias, TypeVar

from steersman.clock import Clock
from steersman.concurrency import background, cleanup
from steersman.informer.list_watch_driver import ApiConnection
from steersman.manager.leader.election import ElectionOptions, LeaderElector
from steersman.manager.leader.leadership import Leadership
from steersman.randomness import Randomness
from steersman.transport.base import Transport

L = TypeVar("L", bound=Leadership)


class Elector(Protocol):
    """Takes part in an election and updates a ``Leadership``."""

    async def run(self) -> None:
        """Take part until cancelled or until leadership is lost."""

    async def release(self) -> None:
        """Release what this process holds, after all work has stopped."""


#: Makes an elector that updates a leadership: `LeaderElector` or `ShardElector`.
MakeElector: TypeAlias = Callable[[ApiConnection, ElectionOptions, L], Elector]


@asynccontextmanager
async def elect_here(connection: ApiConnection, options: ElectionOptions) -> AsyncIterator[Leadership]:
    """Take part in an election on this event loop; leaving the block releases the lease."""
    async with electing_here(connection, options, Leadership(connection.clock), LeaderElector) as leadership:
        yield leadership


@asynccontextmanager
async def electing_here(
    connection: ApiConnection, options: ElectionOptions, leadership: L, make: MakeElector[L]
) -> AsyncIterator[L]:
    """Run an elector on this event loop; leaving the block releases what it holds."""
    elector = make(connection, options, leadership)
    async with background(elector.run(), name="leader-election") as task:
        try:
            yield leadership
        finally:
            # The elector must have stopped before the lease is released, or it would take it again.
            task.cancel()
            await asyncio.wait({task})
            await cleanup(elector.release(), clock=connection.clock, within=options.timing.renew_deadline)


@asynccontextmanager
async def elect_in_thread(
    connect: Callable[[], Transport], clock: Clock, options: ElectionOptions
) -> AsyncIterator[Leadership]:
    """Take part in an election in a thread of its own; leaving the block releases the lease."""
    async with electing_in_thread(connect, clock, options, Leadership(clock), LeaderElector) as leadership:
        yield leadership


@asynccontextmanager
async def electing_in_thread(
    connect: Callable[[], Transport], clock: Clock, options: ElectionOptions, leadership: L, make: MakeElector[L]
) -> AsyncIterator[L]:
    """Run an elector in a thread of its own; leaving the block releases what it holds."""

    def make_elector(transport: Transport) -> Elector:
        return make(ApiConnection(transport, clock, Randomness()), options, leadership)

    work = _ThreadWork(connect, make_elector, leadership)
    thread = threading.Thread(target=work.run, name="leader-election", daemon=True)
    thread.start()
    try:
        yield leadership
    finally:
        work.stop()
        await cleanup(asyncio.to_thread(thread.join), clock=clock, within=2 * options.timing.renew_deadline)


class _ThreadWork:
    """The work of the thread, and how it is stopped."""

    def __init__(
        self, connect: Callable[[], Transport], make: Callable[[Transport], Elector], leadership: Leadership
    ) -> None:
        self._connect = connect
        self._make = make
        self._leadership = leadership
        self._is_stopped = threading.Event()
        #: Set by the thread when it can be stopped through its event loop.
        self._loop: asyncio.AbstractEventLoop | None = None
        self._stop = asyncio.Event()

    def run(self) -> None:
        """Run an event loop until stopped; called in the thread."""
        asyncio.run(self._main())

    def stop(self) -> None:
        """Request the thread to release the lease and end."""
        self._is_stopped.set()
        loop = self._loop
        if loop is not None and not loop.is_closed():
            loop.call_soon_threadsafe(self._stop.set)

    async def _main(self) -> None:
        self._loop = asyncio.get_running_loop()
        if self._is_stopped.is_set():
            return
        transport = self._connect()
        elector = self._make(transport)
        try:
            async with background(elector.run(), name="leader-election"):
                await self._stop.wait()
            await elector.release()
        finally:
            self._leadership.end()
            await transport.close()
