"""One run of a scenario under a plan, with the operator as a program beside an embedded cluster.

The order of a run::

    cluster, CRDs ─▶ workload controllers and node ─▶ gateway ─▶ process ─▶ rest ─▶ scenario (faults strike) ─▶ rest
      ─▶ faults that still last end ─▶ rest ─▶ end state

A fault that lasts until its end, such as a watch that is silent, ends when the scenario is over: what is compared is
where everything ends when the world behaves again.
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

from steersman.apiserver.access.authentication import ADMIN
from steersman.clock import Clock, RealClock
from steersman.concurrency import background
from steersman.errors import WaitTimeout
from steersman.localcluster.local_cluster import local_operators
from steersman.localcluster.process_node.processes.spawning import LocalProcess, Processes
from steersman.localcluster.simulated_node.node import NAME as SIMULATED
from steersman.manager.install import install_definitions
from steersman.manager.manager import Manager, ManagerOptions
from steersman.objects.resource import Unstructured
from steersman.simulation.binaries.comparison import compared
from steersman.simulation.binaries.elections import end_terms, without_elections
from steersman.simulation.binaries.gateway import CommandConnection, CommandNetwork, Gateway
from steersman.simulation.binaries.program import OperatorExited, Program, ProgramLog, is_running, started, stop
from steersman.simulation.binaries.simulated_pods import SimulatedPods
from steersman.simulation.binaries.step_matching import StepMatcher, same_view
from steersman.simulation.binaries.traffic import Traffic
from steersman.simulation.event_loop import InstanceClock, WriteStorm
from steersman.simulation.faults.plans import Fault, Plan, View
from steersman.simulation.faults.recording import Recording, RestStep
from steersman.simulation.runs.run import MOST_WRITES, Lifetimes, Outcome, untouched
from steersman.testing.cluster import Cluster
from steersman.testing.crashes.change_counts import ChangeCounts
from steersman.testing.crashes.end_state import end_state, versions_of
from steersman.testing.crashes.scenarios import Scenario
from steersman.testing.eventually import Condition
from steersman.transport.in_memory import InMemoryTransport

#: Seconds between two looks at a program that may be at rest.
_LOOK_EVERY = 0.1
#: Seconds before a program that ended by itself is started again: the first time, and at most.
_FIRST_DELAY, _LONGEST_DELAY = 0.1, 5.0
#: How often a program may end by itself in one run.
_MOST_EXITS = 20
#: Seconds after which faults that last are ended, although the operator is not at rest.
_LASTING = 20.0
#: Seconds that the controllers of the cluster get to finish.
_GRACE = 1.0


@dataclass(frozen=True, slots=True, kw_only=True)
class CommandSetup:
    """What all runs of one program share."""

    program: Program
    scenario: Scenario
    #: The CRDs that the program needs.
    definitions: Sequence[Unstructured] = ()
    #: Versions that Kubernetes has removed, each with the one that answers for it.
    old_versions: Mapping[str, str] = field(default_factory=dict)
    #: Seconds without traffic that count as rest.
    quiet: float = 3.0
    #: Seconds within which there must be rest.
    patience: float = 120.0
    #: Where logs and kubeconfigs are.
    directory: Path


class CommandCluster(Cluster):
    """The cluster of a scenario, in real time. ``settle`` is also a step at which faults strike."""

    def __init__(self, clock: Clock, setup: CommandSetup) -> None:
        super().__init__(clock=clock)
        self.patience = setup.patience
        self.traffic = Traffic(setup.quiet)
        #: Called when everything is at rest.
        self.at_rest: Callable[[], Awaitable[None]] = self.wait_quiet
        #: Ends faults that last, such as a silent watch.
        self.end_faults: Callable[[], object] = lambda: None
        #: Whether the program runs or waits for a processor.
        self.is_running: Callable[[], bool] = lambda: False

    async def settle(self, *, within: float | None = None) -> None:
        """Wait until there is no traffic any more."""
        del within
        await self.wait_rest()
        await self.at_rest()
        await self.wait_rest()

    async def eventually(self, condition: Condition, *, within: float | None = None, message: str = "") -> None:
        """Wait until a condition holds, for at least as long as rest may take."""
        await super().eventually(condition, within=max(within or 0.0, self.patience), message=message)

    async def wait_rest(self) -> None:
        """Wait until there is no traffic; faults that keep the operator from coming to rest end after a while.

        An operator whose watch is silent does not hear that an owner was deleted. It creates children, and they are
        collected, for as long as the watch is silent.
        """
        if not await self.try_quiet(min(_LASTING, self.patience)):
            self.end_faults()
            await self.wait_quiet()

    async def wait_quiet(self) -> None:
        """Wait until there was no traffic for some seconds."""
        if not await self.try_quiet(self.patience):
            raise WaitTimeout(self._restless(self.clock.monotonic()))

    async def try_quiet(self, within: float) -> bool:
        """Wait until there was no traffic for some seconds; return whether that came in time."""
        until = self.clock.monotonic() + within
        while (left := self.traffic.seconds_left()) > 0:
            if self.clock.monotonic() + left > until:
                return False
            pause = min(left, _LOOK_EVERY)
            await self.clock.sleep(pause)
            self.traffic.look(pause, is_running=self.is_running())
        return True

    def _restless(self, now: float) -> str:
        if self.traffic.is_expecting:
            return f"the operator sent no request within {self.patience:g} s after it was started"
        quiet = self.traffic.quiet
        return (
            f"no rest within {self.patience:g} s: there were never {quiet:g} s without traffic; lately "
            f"{self.traffic.busiest(now)}. If the operator polls more often than that, choose a shorter --quiet"
        )


async def run_command(
    setup: CommandSetup, processes: Processes, plan: Plan, recorded: Recording | None, *, name: str
) -> Outcome:
    """Run the scenario under a plan; ``recorded`` is the undisturbed run that the plan was made for."""
    return await _CommandRun(setup, processes, plan, recorded, name).run()


class _CommandRun:
    """The parts of one run."""

    def __init__(
        self, setup: CommandSetup, processes: Processes, plan: Plan, recorded: Recording | None, name: str
    ) -> None:
        self._setup = setup
        self._processes = processes
        self._plan = plan
        self._recorded = recorded
        self._clock = RealClock()
        self._cluster = CommandCluster(self._clock, setup)
        self._traffic = self._cluster.traffic
        self._network = CommandNetwork(
            self._cluster.server, self._clock, plan, most_writes=MOST_WRITES, matcher=StepMatcher(plan, recorded)
        )
        self._gateway = Gateway(self._cluster.server, self._clock, self._traffic)
        self._kubeconfig = setup.directory / f"{name}.kubeconfig"
        self.log = ProgramLog(setup.directory / f"{name}.log")
        self._connection: CommandConnection | None = None
        self._next_view: View | None = None
        self._exits: list[str] = []
        #: The version of the cluster before the scenario.
        self._start = ""

    async def run(self) -> Outcome:
        """Run the scenario, let everything come to rest, and look at the end."""
        cluster, server = self._cluster, self._cluster.server
        outcome = Outcome(self._plan, self._network.recording, self._network.struck)
        async with AsyncExitStack() as stack:
            stack.push_async_callback(cluster.transport.close)
            stack.push_async_callback(cluster.webhooks.close)
            await install_definitions(cluster.client, self._setup.definitions)
            await stack.enter_async_context(_local_cluster(cluster))
            server.nodes[SIMULATED] = SimulatedPods()
            await stack.enter_async_context(self._gateway.serving(self._setup.old_versions))
            known = versions_of(server)
            lifetimes = Lifetimes(known)
            server.objects.observers.append(without_elections(lifetimes.observe))
            changes = ChangeCounts(server, lambda document: compared(lifetimes.without_stillborn(document)))
            cluster.at_rest = lambda: self._at_rest(lifetimes)
            cluster.end_faults = self._end_faults
            # Before the task runs: there is no rest until the first process has sent a request.
            self._traffic.expect()
            try:
                async with background(self._keep_running(), name="operator"):
                    await self._play()
            except Exception as error:  # noqa: BLE001 - whatever a scenario raises under a fault is a result
                outcome.error = error
            outcome.state = end_state(server, known, lambda document: compared(untouched(document)))
            # How often an object is updated depends on which intermediate states a program sees in real time.
            outcome.changes = {key: count for key, count in changes.counts().items() if key[0] != "updated"}
            outcome.destroyed = lifetimes.destroyed
            outcome.exits = self._exits
            outcome.recording.stale_lists = frozenset(self._gateway.listed_in_any_version)
        return outcome

    async def _play(self) -> None:
        cluster, recording = self._cluster, self._network.recording
        await cluster.wait_quiet()
        self._start = str(cluster.server.objects.version)
        await self._setup.scenario(cluster)
        await cluster.wait_rest()
        if not recording.rests or recording.rests[-1].version != cluster.server.objects.version:
            await cluster.settle()
        self._end_faults()
        await cluster.wait_quiet()
        if len(recording.writes) >= self._network.most_writes:
            raise WriteStorm(f"the operator writes without end: {recording.writes[-1]} is its last of many writes")

    def _end_faults(self) -> None:
        if self._connection is not None:
            self._connection.heal()
            for watch in list(self._connection.watches):
                watch.break_silence()
        self._note_delivery()

    def _note_delivery(self) -> None:
        """Take note that events arrive which were held back: the program needs time to act on them."""
        if self._plan.faults:
            self._traffic.change(self._clock.monotonic(), "events that were held back")

    async def _at_rest(self, lifetimes: Lifetimes) -> None:
        recording = self._network.recording
        number = len(recording.rests) + 1
        version = self._cluster.server.objects.version
        # Informers may be started while the scenario runs.
        recording.watched = {path: known or self._start for path, known in recording.watched.items()}
        recording.rests.append(RestStep(number, len(recording.writes), len(recording.events), version))
        self._network.trace(f"rest {number} at {version}")
        if self._connection is not None:
            self._connection.release()
        self._note_delivery()
        fault = self._plan.at("rest", number)
        if fault is None:
            return
        view = self._view_of(fault)
        if fault.view is not None and view is None:
            return
        self._network.strikes(fault)
        lifetimes.begin_stale_read()
        await self._restart(view)
        lifetimes.end_stale_read()

    def _view_of(self, fault: Fault) -> View | None:
        if fault.view is None or self._recorded is None:
            return None
        return same_view(fault.view, self._recorded, self._network.recording)

    async def _restart(self, view: View | None) -> None:
        self._next_view = view
        self._traffic.expect()
        if self._connection is not None:
            self._connection.crash()
        await self._cluster.eventually(lambda: not self._traffic.is_expecting, message="the operator sends no request")
        await self._cluster.wait_rest()
        if self._connection is not None:
            self._connection.catch_up()
        self._note_delivery()
        await self._cluster.wait_rest()

    # The operator's processes, one after the other.

    async def _keep_running(self) -> None:
        delay = _FIRST_DELAY
        for number in range(1, 10 * _MOST_EXITS):
            view, self._next_view = self._next_view, None
            connection = CommandConnection(self._network, number, InstanceClock(self._clock), lambda: "")
            connection.view = view
            if not await self._live(connection):
                delay = min(delay * 2, _LONGEST_DELAY)
                await self._clock.sleep(delay)

    async def _live(self, connection: CommandConnection) -> bool:
        """Run one process to its end; return whether that was planned."""
        self._gateway.admit(connection, self._kubeconfig)
        executable = self._setup.program.with_values(self._kubeconfig)
        self._traffic.expect()
        async with started(executable, self._processes, self.log) as process:
            self._connection = connection
            self._cluster.is_running = lambda: is_running(process.pid)
            code = await self._code_or_fault(process, connection)
            if code is None and not connection.is_cut:
                await stop(process, self._clock)
        connection.crash()
        self._traffic.forget_requests()
        self._traffic.expect()
        end_terms(self._cluster.server)
        if code is not None:
            self._note_exit(code)
        return code is None

    @staticmethod
    async def _code_or_fault(process: LocalProcess, connection: CommandConnection) -> int | None:
        """Wait until a process ends by itself, and return its exit code; ``None`` if a fault ends it."""
        async with asyncio.TaskGroup() as tasks:
            ended = tasks.create_task(process.wait(), name="process")
            faulted = tasks.create_task(connection.wait_ended(), name="fault")
            await asyncio.wait({ended, faulted}, return_when=asyncio.FIRST_COMPLETED)
            code = ended.result() if ended.done() and not faulted.done() else None
            ended.cancel()
            faulted.cancel()
        return code

    def _note_exit(self, code: int) -> None:
        self._exits.append(f"exit code {code}")
        self._network.trace(f"the program ended with exit code {code}")
        # Programs may end because of a fault, and are started again as by a kubelet. Without one it is their own fault.
        if not self._network.struck or len(self._exits) >= _MOST_EXITS:
            raise OperatorExited(f"the operator ended by itself with exit code {code}{self._last_words()}")

    def _last_words(self) -> str:
        lines = self.log.last_lines()
        hint = ""
        if "address already in use" in lines:
            hint = "\nTwo of its processes use the same port: pass --jobs 1, or give each a {port} of its own."
        return f"; its last log lines:\n{lines}{hint}"


@asynccontextmanager
async def _local_cluster(cluster: Cluster) -> AsyncIterator[None]:
    """Run workload controllers and a simulated node inside the block, directly on the server."""
    transport = InMemoryTransport(cluster.server.acting_as(ADMIN), clock=cluster.clock)
    manager = Manager(local_operators(), transport, ManagerOptions(grace=_GRACE), clock=cluster.clock)
    try:
        async with background(manager.run(), name="local cluster"):
            await manager.wait_ready()
            yield
    finally:
        await transport.close()
