"""Does an operator end where it should, whichever of its writes is its last? Tried at every one of them.

A story says what people do and what they wait for. It runs once undisturbed; that shows which writes the operator makes
and where it ends. Then it runs again on a fresh cluster for each write, and the operator is gone at that write: nothing
of it goes on, nothing of it is answered. A new instance starts, and the cluster must end as it did undisturbed, without
more creates, updates or deletes of any object.

A new instance remembers nothing: the operator's own packages are imported once more for each (``fresh_import``), unless
a function makes it. Its webhooks are served as in ``cluster.running``. While no instance lives, what the server asks
them waits for the next one, as a story is not about the seconds in between.
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
from steersman.controller.reports.observer import ReconcileFailure
from steersman.errors import ConfigError, SteersmanError
from steersman.manager.definitions import operator_definitions, operator_policies
from steersman.manager.install import install_definitions
from steersman.manager.manager import Manager, ManagerOptions
from steersman.manager.operator import Operator
from steersman.objects.resource import Unstructured
from steersman.protocol.http import App, Exchange, Request
from steersman.testing.change_counts import ChangeCounts, Counts, excess
from steersman.testing.cluster import Cluster
from steersman.testing.end_state import Normalise, as_it_is, difference, end_state, versions_of
from steersman.testing.failures import Expected
from steersman.testing.fake_clock import FakeClock
from steersman.testing.fresh_import import ImportedOperator
from steersman.testing.fuse import Crash, Doom, EachOnce, Fuse
from steersman.testing.webhook_front import InProcessFront, WebhookGate, in_process_address
from steersman.transport.in_memory import InMemoryTransport

#: What people do, and what they wait for: with ``cluster.client`` and ``cluster.eventually``.
Story: TypeAlias = Callable[[Cluster], Awaitable[None]]
#: An operator that is a global of its module, ``"module:operator"``, or a function that makes one for each instance.
#: The function may take the fuse of that instance, whose ``carry_out`` is for what the operator writes elsewhere than
#: by HTTP, such as commands to a database.
Mortal: TypeAlias = Operator | str | Callable[[], Operator] | Callable[[Fuse], Operator]

#: Virtual seconds after the story in which whatever was begun may end.
_AFTERMATH = 60.0


@dataclass(frozen=True, slots=True)
class Ending:
    """How a run of a story ended."""

    #: What the first instance of the operator wrote, in order.
    writes: list[str]
    state: list[str]
    #: How often each object was created, updated and deleted.
    changes: Counts


async def survive_crashes(
    operator: Mortal,
    story: Story,
    *,
    clock: Callable[[], Clock] = FakeClock,
    normalise: Normalise = as_it_is,
    expect_failures: Expected = (),
) -> list[str]:
    """Crash an operator right after, and right before, each of its writes; return the writes it makes undisturbed.

    Raises ``AssertionError`` for crashes after which the cluster does not end as it does undisturbed, an object was
    created, updated or deleted more often, a reconcile fails unexpectedly, or the story waits in vain. Time is virtual;
    an operator with plain ``def`` reconcilers needs ``clock=RealClock``. ``normalise`` takes out of an object what
    differs between any two runs, such as a password; uids, times and what the server assigns are.
    """
    maker = InstanceMaker(operator)

    async def run(crash: Crash | None) -> Ending:
        return await _run_story(maker, story, crash, cluster_clock=clock(), normalise=normalise, expect=expect_failures)

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


async def run_story(
    operator: Mortal, story: Story, crash: Crash | None, *, clock: Clock, normalise: Normalise = as_it_is
) -> Ending:
    """Run a story once, with a crash or without one, and return how it ended."""
    return await _run_story(InstanceMaker(operator), story, crash, cluster_clock=clock, normalise=normalise)


async def _run_story(
    maker: "InstanceMaker",
    story: Story,
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
        async with _dying_once(cluster, maker, crash, expect) as first:
            await story(cluster)
            await cluster.settle()
            if isinstance(cluster_clock, FakeClock):
                await cluster_clock.advance(_AFTERMATH)
            if crash is not None and not first.is_cut:
                raise AssertionError(f"write {crash.write} never came: the operator does not do the same each time")
            return Ending(list(first.writes), end_state(cluster.server, known, normalise), changes.counts())


@asynccontextmanager
async def dying_once(
    cluster: Cluster, operator: Mortal, crash: Doom | None, *, expect_failures: Expected = ()
) -> AsyncIterator[Fuse]:
    """Run an operator inside the block; after its crash another instance, which lives on. Yields the fuse of the first.

    The block begins when the first instance runs, with the definitions of its kinds installed, and its webhooks.
    """
    maker = InstanceMaker(operator)
    await maker.install(cluster)
    async with _dying_once(cluster, maker, crash, expect_failures) as first:
        yield first


@asynccontextmanager
async def _dying_once(
    cluster: Cluster, maker: "InstanceMaker", crash: Doom | None, expect: Expected
) -> AsyncIterator[Fuse]:
    lives = _Lives(cluster, maker)
    first = Fuse(cluster.faults, crash)

    async def supervise() -> None:
        await lives.live(first)
        await lives.live(Fuse(cluster.faults))

    async with lives.supervised(supervise, expect):
        yield first


@asynccontextmanager
async def dying_once_at_each_write(
    cluster: Cluster, operator: Mortal, *, expect_failures: Expected = ()
) -> AsyncIterator[list[list[str]]]:
    """Run an operator inside the block that dies at every write it makes; yield what each instance wrote.

    For a story that takes too long to be told once for each write, such as one with real processes. An instance dies at
    the first write at which none before it did: each dies at something else, all that is written is the end of one, and
    the last one lives on. The definitions of its kinds are installed; how it should end, the story has to say.
    """
    maker = InstanceMaker(operator)
    await maker.install(cluster)
    lives = _Lives(cluster, maker)
    doom = EachOnce()
    written: list[list[str]] = []

    async def supervise() -> None:
        while True:
            fuse = Fuse(cluster.faults, doom)
            await lives.live(fuse)
            written.append(list(fuse.writes))

    async with lives.supervised(supervise, expect_failures):
        yield written


async def run_until_crash(
    cluster: Cluster, operator: Mortal, doom: Doom, *, expect_failures: Expected = ()
) -> list[str]:
    """Run an instance of an operator on a cluster that is there, until it is gone at its write; return what it wrote.

    It is for stories that take too long to be told once for each write: one instance after the other dies in the same.
    Afterwards nobody is left, and questions to webhooks are refused.
    """
    fuse = Fuse(cluster.faults, doom)
    maker = InstanceMaker(operator)
    await maker.install(cluster)
    lives = _Lives(cluster, maker)
    with cluster.judging(expect_failures):
        await lives.live(fuse)
    lives.webhooks.close()
    return list(fuse.writes)


async def _try(expected: Ending, run: Awaitable[Ending]) -> str:
    """Return what is wrong with a run; empty if nothing is."""
    try:
        ending = await run
    except (AssertionError, SteersmanError) as error:
        return f"the story failed: {error}"
    found = [difference(expected.state, ending.state), *excess(expected.changes, ending.changes)]
    return "\n".join(filter(None, found))


def webhook_service(operator: Operator) -> str:
    """Return the name of the Service that leads to the webhooks of any instance of an operator."""
    return f"webhooks-of-{operator.name}"


class InstanceMaker:
    """Makes one instance of an operator after the other."""

    def __init__(self, operator: Mortal) -> None:
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
        """The operator as the test imported it; only of one that is imported."""
        if self._imported is None:
            raise ConfigError("the operator is made by a function: there is no original")
        return self._imported.original

    async def install(self, cluster: Cluster) -> None:
        """Install the definitions and policies of the operator, with its webhooks, as a release of it would."""
        if self._definitions is None:
            # Those of the original, if there is one: it takes time to make them of a class for the first time.
            operator = self._imported.original if self._imported is not None else self._made(Fuse(cluster.faults))
            self._definitions = operator_definitions([operator], in_process_address(webhook_service(operator)))
            self._policies = operator_policies([operator])
        await cluster.drive(self._install(cluster.client, self._definitions))

    async def _install(self, client: Client, definitions: list[Unstructured]) -> None:
        await install_definitions(client, definitions)
        for policy in self._policies:
            await client.apply(policy, force=True)

    @contextmanager
    def instance(self, fuse: Fuse) -> Iterator[Operator]:
        """Make an instance that lives in the block."""
        if self._imported is not None:
            with self._imported.fresh() as operator:
                yield operator
        else:
            yield self._made(fuse)

    def _made(self, fuse: Fuse) -> Operator:
        if self._function is None:
            raise ConfigError("the operator is imported: no function makes it")
        return self._function(fuse) if _takes_fuse(self._function) else self._function()


def _takes_fuse(function: Callable[..., Operator]) -> bool:
    """Return whether a function has a parameter that must be given by position."""
    positional = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    parameters = inspect.signature(function).parameters.values()
    return any(parameter.kind in positional and parameter.default is parameter.empty for parameter in parameters)


class _Lives:
    """Instances of one operator on one cluster, one after the other."""

    def __init__(self, cluster: Cluster, maker: InstanceMaker) -> None:
        self._cluster = cluster
        self._maker = maker
        self._started = asyncio.Event()
        self.webhooks = WebhookGate()

    async def live(self, fuse: Fuse) -> None:
        """Let one instance live until its fuse blows."""
        with self._maker.instance(fuse) as operator:
            service = webhook_service(operator)
            options = self._options(service, fuse)
            try:
                await _Life(self._cluster, operator, fuse, options).run(self._started.set)
            finally:
                if fuse.is_blown:
                    self.webhooks.wait_for_next()

    def _options(self, service: str, fuse: Fuse) -> ManagerOptions:
        cluster = self._cluster

        def serve(namespace: str, service: str, app: App) -> None:
            self.webhooks.open(app)
            cluster.serve_webhooks(namespace, service, self.webhooks)

        def on_failure(failure: ReconcileFailure) -> None:
            # What is gone does not fail: its requests end without an answer.
            if not fuse.is_cut:
                cluster.record_failure(failure)

        return ManagerOptions(
            carry_out=fuse.carry_out,
            installer=InMemoryTransport(_WhileWhole(fuse, cluster.faults), clock=cluster.clock),
            webhooks=InProcessFront(service, serve),
            on_failure=on_failure,
        )

    @asynccontextmanager
    async def supervised(self, supervise: Callable[[], Awaitable[None]], expect: Expected) -> AsyncIterator[None]:
        """Run what lets instances live beside the block, which begins when the first one has started."""

        async def run() -> None:
            await supervise()

        with self._cluster.judging(expect):
            async with background(run(), name="supervisor") as task:
                await self._cluster.drive(wait_ready(self._started.wait(), task))
                yield


@dataclass(frozen=True, slots=True)
class _WhileWhole:
    """An app that a process can reach until its fuse is cut; nothing that passes counts as a write of the operator."""

    fuse: Fuse
    app: App

    def handle(self, request: Request, exchange: Exchange) -> Awaitable[None] | None:
        """Pass on while the process lives."""
        return None if self.fuse.is_cut else self.app.handle(request, exchange)


class _Life:
    """One instance of an operator, from its start to its sudden end."""

    def __init__(self, cluster: Cluster, operator: Operator, fuse: Fuse, options: ManagerOptions) -> None:
        self._cluster = cluster
        self._fuse = fuse
        self._clock = MortalClock(cluster.clock)
        self._transport = InMemoryTransport(fuse, clock=self._clock)
        self._manager = Manager(
            [operator],
            self._transport,
            options,
            clock=self._clock,
            randomness=cluster.randomness,
            services=cluster.services.beside(self._clock, fuse.around),
        )
        self._is_ready = False

    @property
    def is_idle(self) -> bool:
        """Whether it runs and has nothing to do."""
        return self._is_ready and self._manager.is_idle

    async def run(self, on_start: Callable[[], None]) -> None:
        """Live until the fuse blows, or until cancelled: the end is as sudden."""
        with self._cluster.attended(self):
            try:
                async with background(self._manager.run(), name="manager") as task:
                    try:
                        await wait_ready(self._ready_or_blown(), task)
                        self._is_ready = not self._fuse.is_cut
                        on_start()
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
