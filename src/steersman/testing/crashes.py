"""Does an operator end where it should, whichever of its writes is its last? Tried at every one of them.

A story says what people do and what they wait for. It runs once undisturbed; that shows which writes the operator makes
and where it ends. Then it runs again on a fresh cluster for each write, and the operator is gone at that write: nothing
of it goes on, nothing of it is answered. A new instance starts, and the cluster must end as it did undisturbed.
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import datetime
from typing import TypeAlias

from steersman.clock import Clock, Timer
from steersman.concurrency import background, wait_ready
from steersman.errors import SteersmanError
from steersman.manager.manager import Manager, ManagerOptions
from steersman.manager.operator import Operator
from steersman.testing.cluster import Cluster
from steersman.testing.end_state import Normalise, as_it_is, difference, end_state, versions_of
from steersman.testing.fake_clock import FakeClock
from steersman.testing.fuse import Crash, Doom, EachOnce, Fuse
from steersman.transport.in_memory import InMemoryTransport

#: What people do, and what they wait for: with ``cluster.client`` and ``cluster.eventually``.
Story: TypeAlias = Callable[[Cluster], Awaitable[None]]
#: An operator, or what makes one for each instance: it gets the fuse of that instance, whose ``carry_out`` is for
#: what the operator writes elsewhere than by HTTP, such as commands to a database.
Mortal: TypeAlias = Operator | Callable[[Fuse], Operator]

#: Virtual seconds after the story in which whatever was begun may end.
_AFTERMATH = 60.0


@dataclass(frozen=True, slots=True)
class Ending:
    """How a run of a story ended."""

    #: What the first instance of the operator wrote, in order.
    writes: list[str]
    state: list[str]


async def survive_crashes(
    operator: Mortal,
    story: Story,
    *,
    clock: Callable[[], Clock] = FakeClock,
    normalise: Normalise = as_it_is,
) -> list[str]:
    """Crash an operator right after, and right before, each of its writes; give the writes that it makes undisturbed.

    Raises ``AssertionError`` for crashes after which the cluster does not end as it does undisturbed, or the story
    waits in vain. Time is virtual; an operator with plain ``def`` reconcilers needs ``clock=RealClock``. ``normalise``
    takes out of an object what differs between any two runs, such as a password; uids, times and made-up names are.
    """
    expected = await run_story(operator, story, None, clock=clock(), normalise=normalise)
    failures = []
    for number, write in enumerate(expected.writes, start=1):
        for crash in (Crash(number, "after"), Crash(number, "before")):
            failure = await _try(expected, run_story(operator, story, crash, clock=clock(), normalise=normalise))
            if failure:
                failures.append(f"crashed {crash.moment} write {number} of {len(expected.writes)}, {write}:\n{failure}")
    if failures:
        raise AssertionError("\n\n".join(failures))
    return expected.writes


async def run_story(
    operator: Mortal, story: Story, crash: Crash | None, *, clock: Clock, normalise: Normalise = as_it_is
) -> Ending:
    """Run a story once, with a crash or without one, and tell how it ended."""
    async with Cluster.start(clock=clock, seed=0) as cluster:
        await _install(cluster, operator)
        known = versions_of(cluster.server)
        async with dying_once(cluster, operator, crash) as first:
            await story(cluster)
            await cluster.settle()
            if isinstance(clock, FakeClock):
                await clock.advance(_AFTERMATH)
            if crash is not None and not first.is_cut:
                raise AssertionError(f"write {crash.write} never came: the operator does not do the same each time")
            return Ending(list(first.writes), end_state(cluster.server, known, normalise))


@asynccontextmanager
async def dying_once(cluster: Cluster, operator: Mortal, crash: Doom | None) -> AsyncIterator[Fuse]:
    """Run an operator inside the block; after its crash another instance, which lives on. Gives the fuse of the first.

    The definitions of its kinds must be there.
    """
    first = Fuse(cluster.faults, crash)

    async def supervise() -> None:
        await _Life(cluster, operator, first).run()
        await _Life(cluster, operator, Fuse(cluster.faults)).run()

    async with background(supervise(), name="supervisor"):
        yield first


@asynccontextmanager
async def dying_once_at_each_write(cluster: Cluster, operator: Mortal) -> AsyncIterator[list[list[str]]]:
    """Run an operator inside the block that dies at every write it makes; give what each instance wrote.

    For a story that takes too long to be told once for each write, such as one with real processes. An instance dies at
    the first write at which none before it did: each dies at something else, all that is written is the end of one, and
    the last one lives on. The definitions of its kinds are installed; how it should end, the story has to say.
    """
    await _install(cluster, operator)
    doom = EachOnce()
    lives: list[list[str]] = []

    async def supervise() -> None:
        while True:
            lives.append(await run_until_crash(cluster, operator, doom))

    async with background(supervise(), name="supervisor"):
        yield lives


async def run_until_crash(cluster: Cluster, operator: Mortal, doom: Doom) -> list[str]:
    """Run an instance of an operator on a cluster that is there, until it is gone at its write; give what it wrote.

    It is for stories that are too dear to be told once for each write: one instance after the other dies in the same.
    """
    fuse = Fuse(cluster.faults, doom)
    await _Life(cluster, operator, fuse).run()
    return list(fuse.writes)


async def _install(cluster: Cluster, operator: Mortal) -> None:
    await cluster.install(*_instance(operator, Fuse(cluster.faults)).kinds)


def _instance(operator: Mortal, fuse: Fuse) -> Operator:
    return operator if isinstance(operator, Operator) else operator(fuse)


async def _try(expected: Ending, run: Awaitable[Ending]) -> str:
    """Give what is wrong with a run; empty if nothing is."""
    try:
        ending = await run
    except (AssertionError, SteersmanError) as error:
        return f"the story failed: {error}"
    return difference(expected.state, ending.state)


class _Life:
    """One instance of an operator, from its start to its sudden end."""

    def __init__(self, cluster: Cluster, operator: Mortal, fuse: Fuse) -> None:
        self._cluster = cluster
        self._fuse = fuse
        self._clock = MortalClock(cluster.clock)
        self._transport = InMemoryTransport(fuse, clock=self._clock)
        self._manager = Manager(
            [_instance(operator, fuse)],
            self._transport,
            ManagerOptions(carry_out=fuse.carry_out),
            clock=self._clock,
            randomness=cluster.randomness,
            services=cluster.services.beside(self._clock, fuse.around),
        )
        self._is_ready = False

    @property
    def is_idle(self) -> bool:
        """Whether it runs and has nothing to do."""
        return self._is_ready and self._manager.is_idle

    async def run(self) -> None:
        """Live until the fuse blows, or until cancelled: the end is as sudden."""
        with self._cluster.attended(self):
            try:
                async with background(self._manager.run(), name="manager") as task:
                    try:
                        await wait_ready(self._ready_or_blown(), task)
                        self._is_ready = not self._fuse.is_cut
                        await self._fuse.wait_blown()
                    finally:
                        self._fuse.is_cut = True
                        self._clock.die()
            finally:
                # No task is left, but a thread may be, and it waits for an answer that will never come.
                await self._transport.close()

    async def _ready_or_blown(self) -> None:
        async with asyncio.TaskGroup() as tasks:
            ready = tasks.create_task(self._manager.wait_ready(), name="ready")
            blown = tasks.create_task(self._fuse.wait_blown(), name="blown")
            await asyncio.wait({ready, blown}, return_when=asyncio.FIRST_COMPLETED)
            ready.cancel()
            blown.cancel()


class MortalClock(Clock):
    """A clock with an end: once its owner is dead, nothing that it would wait for has to be waited for."""

    def __init__(self, inner: Clock) -> None:
        self._inner = inner
        self._is_dead = False

    def die(self) -> None:
        """Let no wait that begins from now on take any time."""
        self._is_dead = True

    def now(self) -> datetime:
        """Give the wall-clock time."""
        return self._inner.now()

    def monotonic(self) -> float:
        """Give seconds that never go back."""
        return self._inner.monotonic()

    def call_later(self, seconds: float, callback: Callable[[], object]) -> Timer:
        """Run the callback after that many seconds; for the dead, at once."""
        if self._is_dead:
            return asyncio.get_running_loop().call_soon(callback)
        return self._inner.call_later(seconds, callback)
