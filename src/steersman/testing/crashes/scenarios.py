"""Runs a scenario with a crash at each write of the operator, and compares the end states.

A scenario is what users do and what they wait for. It runs once undisturbed, which records the writes of the operator
and the end state of the cluster. Then it runs again on a fresh cluster for each write, and the operator crashes at that
write: all its tasks stop, and none of its requests is answered. A new instance starts, and the cluster must reach the
same end state, without more creates, updates or deletes of any object.

A new instance remembers nothing: the operator's own packages are imported again for each one (``fresh_import``), unless
a function creates the operator. Webhooks are served as in ``cluster.running``. While no instance is alive, webhook
calls wait for the next one, because a scenario is not about the seconds in between.
"""

import asyncio
import inspect
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from datetime import datetime
from typing import TypeAlias

from steersman.client.client import Client
from steersman.clock import Clock, Timer
from steersman.concurrency import background, wait_ready
from steersman.controller.reports.failures import ReconcileFailure
from steersman.errors import ConfigError, SteersmanError
from steersman.manager.definitions import operator_definitions, operator_policies
from steersman.manager.install import install_definitions
from steersman.manager.manager import Manager, ManagerOptions
from steersman.manager.operator import Operator
from steersman.objects.resource import Unstructured
from steersman.protocol.http import App, Exchange, Request
from steersman.testing.cluster import Cluster
from steersman.testing.crashes.change_counts import ChangeCounts, Counts, excess
from steersman.testing.crashes.crash_switch import Crash, CrashAtEachWrite, CrashPoint, CrashSwitch
from steersman.testing.crashes.end_state import Normalise, as_it_is, difference, end_state, versions_of
from steersman.testing.crashes.fresh_import import ImportedOperator
from steersman.testing.failures import Expected
from steersman.testing.fake_clock import FakeClock
from steersman.testing.webhook_listener import InProcessListener, WebhookGate, in_process_address
from steersman.transport.in_memory import InMemoryTransport

#: What users do, and what they wait for, with ``cluster.client`` and ``cluster.eventually``.
Scenario: TypeAlias = Callable[[Cluster], Awaitable[None]]
#: An operator that is a global of its module, ``"module:operator"``, or a function that creates one for each instance.
#: The function may take the switch of that instance; its ``carry_out`` is for writes that are not HTTP requests, such
#: as commands to a database.
CrashableOperator: TypeAlias = Operator | str | Callable[[], Operator] | Callable[[CrashSwitch], Operator]

#: Virtual seconds after the scenario in which work that has begun may finish.
_AFTERMATH = 60.0


@dataclass(frozen=True, slots=True)
class Ending:
    """How a run of a scenario ended."""

    #: The writes of the first instance of the operator, in order.
    writes: list[str]
    state: list[str]
    #: How often each object was created, updated and deleted.
    changes: Counts


async def survive_crashes(
    operator: CrashableOperator,
    scenario: Scenario,
    *,
    clock: Callable[[], Clock] = FakeClock,
    normalise: Normalise = as_it_is,
    expect_failures: Expected = (),
) -> list[str]:
    """Crash an operator right after, and right before, each of its writes; return its writes without a crash.

    Raises ``AssertionError`` for crashes after which the cluster ends in another state, an object was created, updated
    or deleted more often, a reconcile failed unexpectedly, or a wait of the scenario timed out. Time is virtual; an
    operator with plain ``def`` reconcilers needs ``clock=RealClock``. ``normalise`` removes from an object what differs
    between any two runs, such as a password; uids, times and values that the server assigns are removed anyway.
    """
    maker = InstanceMaker(operator)

    async def run(crash: Crash | None) -> Ending:
        return await _run_scenario(
            maker, scenario, crash, cluster_clock=clock(), normalise=normalise, expect=expect_failures
        )

    expected = await run(None)
    failures = []
    for number, write in enumerate(expected.writes, start=1):
        for crash in (Crash(number, "after"), Crash(number, "before")):
            failure = await _try(expected, run(crash))
            if failure:
                failures.append(f"crashed {crash.moment} write {number} of {len(expected.writes)}, {write}:\n{failure}")
    if failures:
        raise AssertionError("\n\n".join(failures))
    return expected.writes


async def run_scenario(
    operator: CrashableOperator,
    scenario: Scenario,
    crash: Crash | None,
    *,
    clock: Clock,
    normalise: Normalise = as_it_is,
) -> Ending:
    """Run a scenario once, with a crash or without one, and return how it ended."""
    return await _run_scenario(InstanceMaker(operator), scenario, crash, cluster_clock=clock, normalise=normalise)


async def _run_scenario(
    maker: "InstanceMaker",
    scenario: Scenario,
    crash: Crash | None,
    *,
    cluster_clock: Clock,
    normalise: Normalise,
    expect: Expected = (),
) -> Ending:
    async with Cluster.start(clock=cluster_clock, seed=0) as cluster:
        await maker.install(cluster)
        known = versions_of(cluster.server)
        changes = ChangeCounts(cluster.server, normalise)
        async with _crash_once(cluster, maker, crash, expect) as first:
            await scenario(cluster)
            await cluster.settle()
            if isinstance(cluster_clock, FakeClock):
                await cluster_clock.advance(_AFTERMATH)
            if crash is not None and not first.is_cut:
                raise AssertionError(f"write {crash.write} never came: the operator does not do the same each time")
            return Ending(list(first.writes), end_state(cluster.server, known, normalise), changes.counts())


@asynccontextmanager
async def crash_once(
    cluster: Cluster, operator: CrashableOperator, crash: CrashPoint | None, *, expect_failures: Expected = ()
) -> AsyncIterator[CrashSwitch]:
    """Run an operator inside the block, and after its crash a second instance; yield the switch of the first one.

    The block begins when the first instance runs and its CRDs and webhooks are installed.
    """
    maker = InstanceMaker(operator)
    await maker.install(cluster)
    async with _crash_once(cluster, maker, crash, expect_failures) as first:
        yield first


@asynccontextmanager
async def _crash_once(
    cluster: Cluster, maker: "InstanceMaker", crash: CrashPoint | None, expect: Expected
) -> AsyncIterator[CrashSwitch]:
    instances = _Instances(cluster, maker)
    first = CrashSwitch(cluster.faults, crash)

    async def supervise() -> None:
        await instances.run(first)
        await instances.run(CrashSwitch(cluster.faults))

    async with instances.supervised(supervise, expect):
        yield first


@asynccontextmanager
async def crash_once_at_each_write(
    cluster: Cluster, operator: CrashableOperator, *, expect_failures: Expected = ()
) -> AsyncIterator[list[list[str]]]:
    """Run an operator inside the block that crashes once at every write it makes; yield the writes of each instance.

    For a scenario that takes too long to run once for each write, such as one with real processes. An instance crashes
    at the first write at which no earlier one did, so each distinct write is the last one of some instance, and the
    final instance stays alive. The CRDs of the operator are installed; the scenario itself checks the end state.
    """
    maker = InstanceMaker(operator)
    await maker.install(cluster)
    instances = _Instances(cluster, maker)
    crash_point = CrashAtEachWrite()
    written: list[list[str]] = []

    async def supervise() -> None:
        while True:
            switch = CrashSwitch(cluster.faults, crash_point)
            await instances.run(switch)
            written.append(list(switch.writes))

    async with instances.supervised(supervise, expect_failures):
        yield written


async def run_until_crash(
    cluster: Cluster, operator: CrashableOperator, crash_point: CrashPoint, *, expect_failures: Expected = ()
) -> list[str]:
    """Run an instance of an operator on an existing cluster until it crashes; return its writes.

    For scenarios that take too long to run once for each write: several instances crash in the same run, one after the
    other. Afterwards no instance is left, and webhook calls are refused.
    """
    switch = CrashSwitch(cluster.faults, crash_point)
    maker = InstanceMaker(operator)
    await maker.install(cluster)
    instances = _Instances(cluster, maker)
    with cluster.checking(expect_failures):
        await instances.run(switch)
    instances.webhooks.close()
    return list(switch.writes)


async def _try(expected: Ending, run: Awaitable[Ending]) -> str:
    """Return what is wrong with a run; empty if nothing is."""
    try:
        ending = await run
    except (AssertionError, SteersmanError) as error:
        return f"the scenario failed: {error}"
    found = [difference(expected.state, ending.state), *excess(expected.changes, ending.changes)]
    return "\n".join(filter(None, found))


def webhook_service(operator: Operator) -> str:
    """Return the name of the Service of an operator's webhooks, which all its instances share."""
    return f"webhooks-of-{operator.name}"


class InstanceMaker:
    """Creates the instances of an operator, one after the other."""

    def __init__(self, operator: CrashableOperator) -> None:
        self._definitions: list[Unstructured] | None = None
        self._policies: list[Unstructured] = []
        self._imported: ImportedOperator | None = None
        self._function: Callable[..., Operator] | None = None
        match operator:
            case Operator():
                self._imported = ImportedOperator.find(operator)
            case str():
                self._imported = ImportedOperator.parse(operator)
            case function:
                self._function = function

    @property
    def original(self) -> Operator:
        """The operator as the test imported it; ``ConfigError`` if a function creates it."""
        if self._imported is None:
            raise ConfigError("the operator is created by a function: there is no original")
        return self._imported.original

    async def install(self, cluster: Cluster) -> None:
        """Install the CRDs, policies and webhooks of the operator, as its release would."""
        if self._definitions is None:
            # Prefer the original: generating the CRD of a class for the first time takes a while.
            operator = (
                self._imported.original if self._imported is not None else self._create(CrashSwitch(cluster.faults))
            )
            self._definitions = operator_definitions([operator], in_process_address(webhook_service(operator)))
            self._policies = operator_policies([operator])
        await cluster.drive(self._install(cluster.client, self._definitions))

    async def _install(self, client: Client, definitions: list[Unstructured]) -> None:
        await install_definitions(client, definitions)
        for policy in self._policies:
            await client.apply(policy, force=True)

    @contextmanager
    def instance(self, switch: CrashSwitch) -> Iterator[Operator]:
        """Create an instance for the block."""
        if self._imported is not None:
            with self._imported.fresh() as operator:
                yield operator
        else:
            yield self._create(switch)

    def _create(self, switch: CrashSwitch) -> Operator:
        if self._function is None:
            raise ConfigError("the operator is imported: no function creates it")
        return self._function(switch) if _takes_switch(self._function) else self._function()


def _takes_switch(function: Callable[..., Operator]) -> bool:
    """Return whether a function has a required positional parameter."""
    positional = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    parameters = inspect.signature(function).parameters.values()
    return any(parameter.kind in positional and parameter.default is parameter.empty for parameter in parameters)


class _Instances:
    """The instances of one operator on one cluster, one after the other."""

    def __init__(self, cluster: Cluster, maker: InstanceMaker) -> None:
        self._cluster = cluster
        self._maker = maker
        self._started = asyncio.Event()
        self.webhooks = WebhookGate()

    async def run(self, switch: CrashSwitch) -> None:
        """Run one instance until its switch crashes it."""
        with self._maker.instance(switch) as operator:
            service = webhook_service(operator)
            options = self._options(service, switch)
            try:
                await _Instance(self._cluster, operator, switch, options).run(self._started.set)
            finally:
                if switch.is_crashed:
                    self.webhooks.wait_for_next()

    def _options(self, service: str, switch: CrashSwitch) -> ManagerOptions:
        cluster = self._cluster

        def serve(namespace: str, service: str, app: App) -> None:
            self.webhooks.open(app)
            cluster.serve_webhooks(namespace, service, self.webhooks)

        def on_failure(failure: ReconcileFailure) -> None:
            # A crashed instance does not report failures: its requests just stay unanswered.
            if not switch.is_cut:
                cluster.record_failure(failure)

        return ManagerOptions(
            carry_out=switch.carry_out,
            installer=InMemoryTransport(_UncountedApp(switch, cluster.faults), clock=cluster.clock),
            webhooks=InProcessListener(service, serve),
            on_failure=on_failure,
        )

    @asynccontextmanager
    async def supervised(self, supervise: Callable[[], Awaitable[None]], expect: Expected) -> AsyncIterator[None]:
        """Run the supervisor beside the block, which begins when the first instance has started."""

        async def run() -> None:
            await supervise()

        with self._cluster.checking(expect):
            async with background(run(), name="supervisor") as task:
                await self._cluster.drive(wait_ready(self._started.wait(), task))
                yield


@dataclass(frozen=True, slots=True)
class _UncountedApp:
    """An app that is reachable until the switch is cut; its requests do not count as writes of the operator."""

    switch: CrashSwitch
    app: App

    def handle(self, request: Request, exchange: Exchange) -> Awaitable[None] | None:
        """Pass a request on while the instance is alive."""
        return None if self.switch.is_cut else self.app.handle(request, exchange)


class _Instance:
    """One instance of an operator, from its start to its crash."""

    def __init__(self, cluster: Cluster, operator: Operator, switch: CrashSwitch, options: ManagerOptions) -> None:
        self._cluster = cluster
        self._switch = switch
        self._clock = CrashableClock(cluster.clock)
        self._transport = InMemoryTransport(switch, clock=self._clock)
        self._manager = Manager(
            [operator],
            self._transport,
            options,
            clock=self._clock,
            randomness=cluster.randomness,
            services=cluster.services.beside(self._clock, switch.around),
        )
        self._is_ready = False

    @property
    def is_idle(self) -> bool:
        """Whether the instance runs and has nothing to do."""
        return self._is_ready and self._manager.is_idle

    async def run(self, on_start: Callable[[], None]) -> None:
        """Run until the switch crashes the instance, or until cancelled, which ends it as abruptly."""
        with self._cluster.waiting_for(self):
            try:
                async with background(self._manager.run(), name="manager") as task:
                    try:
                        await wait_ready(self._ready_or_crashed(), task)
                        self._is_ready = not self._switch.is_cut
                        on_start()
                        await self._switch.wait_for_crash()
                    finally:
                        self._switch.is_cut = True
                        self._clock.crash()
            finally:
                # No task is left, but a thread may still wait for a response that will never arrive.
                await self._transport.close()

    async def _ready_or_crashed(self) -> None:
        async with asyncio.TaskGroup() as tasks:
            ready = tasks.create_task(self._manager.wait_ready(), name="ready")
            crashed = tasks.create_task(self._switch.wait_for_crash(), name="crashed")
            await asyncio.wait({ready, crashed}, return_when=asyncio.FIRST_COMPLETED)
            ready.cancel()
            crashed.cancel()


class CrashableClock(Clock):
    """A clock whose waits take no time once its instance has crashed, so that leftover work ends at once."""

    def __init__(self, inner: Clock) -> None:
        self._inner = inner
        self._is_crashed = False

    def crash(self) -> None:
        """End every wait that begins from now on at once."""
        self._is_crashed = True

    def now(self) -> datetime:
        """Return the wall-clock time."""
        return self._inner.now()

    def monotonic(self) -> float:
        """Return seconds that never go back."""
        return self._inner.monotonic()

    def call_later(self, seconds: float, callback: Callable[[], object]) -> Timer:
        """Run the callback after that many seconds; after the crash, at once."""
        if self._is_crashed:
            return asyncio.get_running_loop().call_soon(callback)
        return self._inner.call_later(seconds, callback)
