"""`World`: one API server that is set back to its beginning for every run, and the cluster that scenarios see.

The definitions of the operator are installed once. A run begins from that snapshot, with the clock at zero and the
seed as it was, so that only what the run itself does takes time.
"""

import asyncio
from collections.abc import Awaitable, Callable, Coroutine
from contextlib import suppress
from typing import Any, TypeVar

from steersman.apiserver.storage.history import Event
from steersman.client.client import Client
from steersman.errors import WaitTimeout
from steersman.manager.definitions import operator_definitions, operator_policies
from steersman.manager.install import install_definitions
from steersman.manager.operator import Operator
from steersman.objects.resource import resource_of
from steersman.randomness import Randomness
from steersman.simulation.event_loop import SimulatedClock, SimulationLoop
from steersman.simulation.network.user import UserTransport
from steersman.simulation.runs.await_points import author_line
from steersman.simulation.runs.repeated_writes import RepeatingServer
from steersman.testing.cluster import Cluster
from steersman.testing.crashes.end_state import versions_of
from steersman.testing.crashes.scenarios import webhook_service
from steersman.testing.eventually import Condition
from steersman.testing.webhook_listener import in_process_address

T = TypeVar("T")

#: Virtual seconds that pass at each rest, so that retries come before the next step of the scenario.
_RECOVERY = 10.0
#: Virtual seconds in which everything must come to rest.
_PATIENCE = 900.0
_REST_LOOKS = 3
#: Turns in which a run that breaks off may end.
_MOST_CANCELS = 100


class SimulatedCluster(Cluster):
    """The cluster of a scenario. ``settle`` is also a step at which faults strike."""

    server_class = RepeatingServer
    server: RepeatingServer

    def __init__(self, clock: SimulatedClock) -> None:
        super().__init__(clock=clock, seed=0)
        # The server has its own: what it generates must not depend on how often the operator uses chance.
        self.randomness = Randomness(0)
        #: The connection of the scenario.
        self.user = UserTransport(self.faults, clock=clock)
        self.user.reset()
        self.transport = self.user
        self.client = Client(self.user, clock=clock, randomness=self.randomness)
        self._simulated = clock
        #: Whether the operator has nothing to do; set for each run.
        self.is_idle: Callable[[], bool] = lambda: True
        #: Called when everything is at rest; set for each run.
        self.at_rest: Callable[[], Awaitable[None]] = _nothing

    async def settle(self, *, within: float | None = None) -> None:
        """Wait until the operator has nothing to do and has had time for its retries."""
        del within
        await self.wait_idle()
        await self.at_rest()
        await self._simulated.advance(_RECOVERY)
        await self.wait_idle()

    async def eventually(self, condition: Condition, *, within: float | None = None, message: str = "") -> None:
        """Wait until a condition holds; virtual time costs nothing, so there is always enough of it."""
        await super().eventually(condition, within=max(within or 0.0, _PATIENCE), message=message)

    async def wait_idle(self) -> None:
        """Wait until the operator has nothing to do, letting time pass where it waits for an answer."""
        until = self._simulated.monotonic() + _PATIENCE
        looks, version = 0, -1
        while self._simulated.monotonic() <= until:
            await self._simulated.settle()
            now = self.server.objects.version
            is_idle = self.is_idle()
            looks, version = (looks + 1 if is_idle and now == version else 0), now
            if looks == _REST_LOOKS:
                return
            if not is_idle and (left := self._simulated.next_timer()) is not None:
                await self._simulated.advance(left)
        raise WaitTimeout(f"the operator was not idle within {_PATIENCE:g} s{_waiting_lines()}")


def _waiting_lines() -> str:
    """Return the lines at which the code of authors waits, apart from the scenario, which asks."""
    tasks = World.running_loop().unfinished_tasks()
    lines = {author_line(task.get_coro()) for task in tasks if task is not asyncio.current_task()}
    return f": its code waits at {', '.join(sorted(filter(None, lines)))}" if any(lines) else ""


async def _nothing() -> None:
    """Do nothing."""


class World:
    """The server, the clock and the randomness of all runs of one operator."""

    def __init__(self, operator: Operator) -> None:
        self.clock = SimulatedClock()
        self.cluster = SimulatedCluster(self.clock)
        self._operator = operator
        self._observers = list(self.cluster.server.objects.observers)
        self._run(self._install)
        self._snapshot = self.cluster.server.snapshot()
        #: How the kinds are served that the operator reconciles.
        self.reconciled = [resource_of(reconciler.kind) for reconciler in operator.reconcilers]
        #: The version of every object that is there at the beginning of a run.
        self.known = versions_of(self.cluster.server)

    async def _install(self) -> None:
        address = in_process_address(webhook_service(self._operator))
        await install_definitions(self.cluster.client, operator_definitions([self._operator], address))
        for policy in operator_policies([self._operator]):
            await self.cluster.client.apply(policy, force=True)

    def run(self, work: Callable[[], Coroutine[Any, Any, T]], *, seed: int) -> tuple[T, list[str]]:
        """Run something from the beginning; return its result and what went wrong unnoticed."""
        self.clock.reset()
        self.cluster.user.reset()
        self.cluster.randomness.reseed(seed)
        self.cluster.server.objects.observers[:] = self._observers
        self.cluster.server.begin(seed)
        loop = SimulationLoop(self.clock)
        try:
            return loop.run_until_complete(self._from_snapshot(work)), self._leaks(loop)
        except BaseException:
            _abandon(loop)
            raise
        finally:
            loop.close()

    async def _from_snapshot(self, work: Callable[[], Coroutine[Any, Any, T]]) -> T:
        self.cluster.server.restore(self._snapshot)
        return await work()

    def observe(self, observer: Callable[[Event], None]) -> None:
        """Notify a function of every write that the server carries out in this run."""
        self.cluster.server.objects.observers.append(observer)

    @staticmethod
    def running_loop() -> SimulationLoop:
        """Return the event loop of this run."""
        loop = asyncio.get_running_loop()
        assert isinstance(loop, SimulationLoop)  # noqa: S101 - ``run`` starts no other
        return loop

    def _run(self, work: Callable[[], Coroutine[Any, Any, T]]) -> T:
        loop = SimulationLoop(self.clock)
        try:
            return loop.run_until_complete(work())
        finally:
            loop.close()

    @staticmethod
    def _leaks(loop: SimulationLoop) -> list[str]:
        left = loop.unfinished_tasks()
        names = [task.get_name() for task in left]
        for task in left:
            task.cancel()
        if left:
            loop.run_until_complete(_turn(loop))
        return [*loop.unhandled, *(f"task {name!r} still runs after the end" for name in names)]


def _abandon(loop: SimulationLoop) -> None:
    """Cancel everything that a run has begun: a coroutine that is destroyed while it waits prints a traceback."""
    for _ in range(_MOST_CANCELS):
        left = loop.unfinished_tasks()
        if not left:
            return
        for task in left:
            task.cancel()
        # Whatever broke the run off may break its end off, too; the tasks are cancelled here, not this one.
        with suppress(Exception, KeyboardInterrupt, SystemExit):
            loop.run_until_complete(_turn(loop))


async def _turn(loop: asyncio.AbstractEventLoop) -> None:
    turned = loop.create_future()
    loop.call_soon(turned.set_result, None)
    await turned
