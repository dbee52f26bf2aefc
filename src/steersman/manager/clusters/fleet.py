"""`Fleet`: operators in several clusters. Each cluster has a manager of its own; a cluster that is away stops no other.

::

    provider ──clusters──▶ Fleet ──▶ member "eu": manager, caches, queues, election, history
                             │  └──▶ member "us": the same, of its own
                             └─ one page of metrics (label ``cluster``), one ``/readyz`` that names who is away

A manager that ends for any reason (its server does not answer, its leadership is lost, a background function raised) is
started again after a pause, as a new process would be: with a new identity and without memory. Writes of its former
runs are rejected by the fence of the leadership that they began with. If a run of a deposed leader does not end, the
whole process exits, as it does with one cluster: nothing else could stop it.

What is not known: whether a server that does not answer is gone. So nothing is concluded from it: the manager tries
again, for as long as the provider lists the cluster.
"""

import asyncio
import logging
import threading
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from contextlib import AsyncExitStack, aclosing, asynccontextmanager, contextmanager
from dataclasses import replace
from functools import partial
from typing import TypeAlias
from urllib.parse import parse_qsl

from msgspec import Struct
from msgspec.json import encode
from prometheus_client import CollectorRegistry, Gauge, generate_latest

from steersman.clock import Clock
from steersman.errors import ConfigError
from steersman.manager.clusters.provider import ClusterProvider, cluster_changes
from steersman.manager.health import Checks, ProbeApp
from steersman.manager.manager import Manager, ManagerOptions
from steersman.manager.metrics.merging import merged_metrics
from steersman.manager.operator import Operator
from steersman.manager.process.forced_exit import AFTER_GRACE, LOST_LEADERSHIP, force_exit_after
from steersman.protocol.http import Exchange, Request, Response
from steersman.randomness import Randomness
from steersman.serving.server import Listen, Server
from steersman.transport.base import Transport
from steersman.transport.config import ClusterConfig

_log = logging.getLogger("steersman.clusters")

#: Seconds until a manager that ended is started again: twice as long each time, up to the second number.
_PAUSE, _LONGEST_PAUSE = 1.0, 30.0
_JSON = [("content-type", "application/json"), ("cache-control", "no-store")]
#: Seconds after which a manager counts as healthy again.
_HEALTHY = 60.0

#: Opens a connection to a cluster.
Connect: TypeAlias = Callable[[ClusterConfig], Transport]


class Connections(Struct, frozen=True):
    """How a fleet connects to its clusters."""

    connect: Connect
    #: Opens the connection of an elector, in its thread; without it elections run on the fleet's event loop.
    connect_elector: Connect | None = None


class _Member:
    """One cluster and its manager."""

    def __init__(self, name: str, config: ClusterConfig, previous: "asyncio.Task[None] | None") -> None:
        self.name = name
        self.config = config
        #: The task of a former manager of this cluster, which must have ended before this one begins.
        self.previous = previous
        self.manager: Manager | None = None
        self.task: asyncio.Task[None] | None = None
        #: Why its last manager ended.
        self.problem = ""

    def check(self) -> str:
        """Return why this cluster is not ready; empty if it is."""
        manager = self.manager
        if manager is None or not manager.controllers:
            return self.problem or "not started yet"
        # Whether it leads is another question: a replica that waits for a lease is ready.
        failing = manager.readiness.failing(exclude=["started"])
        return "; ".join(f"{check}: {reason}" for check, reason in failing.items())

    @property
    def is_started(self) -> bool:
        """Whether its controllers run."""
        return self.manager is not None and not self.manager.readiness.failing()


class Fleet:
    """Runs operators in the clusters of a provider until it is cancelled."""

    def __init__(
        self,
        operators: Sequence[Operator],
        provider: ClusterProvider,
        options: ManagerOptions,
        *,
        connections: Connections,
        clock: Clock,
        randomness: Randomness | None = None,
    ) -> None:
        """Create a fleet. The Lease of ``options.election`` is in each cluster; without a namespace, in its own."""
        for operator in operators:
            if operator.servers:
                raise ConfigError(
                    f"operator {operator.name!r} has a server of its own (add_server), and a process can run it once: "
                    "run this operator in one cluster"
                )
        if options.webhooks is not None or options.web_view is not None:
            raise ConfigError(
                "webhooks and the web view belong to one cluster: serve them by an operator that runs there"
            )
        self._operators = tuple(operators)
        self._provider = provider
        self._options = options
        self._connections = connections
        self._clock = clock
        self._randomness = randomness if randomness is not None else Randomness()
        self._members: dict[str, _Member] = {}
        #: Tasks of managers that stop.
        self._ending: dict[str, asyncio.Task[None]] = {}
        self.health, self.readiness = Checks(), Checks()
        self.readiness.add("started", self._check_started)
        self.readiness.add("clusters", lambda: "" if self._is_known else "which clusters there are is not known yet")
        self._is_known = False
        self._registry = CollectorRegistry()
        self._ready = Gauge(
            "steersman_cluster_ready", "Whether the operator works in a cluster.", ["cluster"], registry=self._registry
        )

    @property
    def managers(self) -> Mapping[str, Manager]:
        """The managers that run, by the names of their clusters."""
        return {name: member.manager for name, member in self._members.items() if member.manager is not None}

    def metrics(self) -> bytes:
        """Return one page of metrics: those of the managers have the label ``cluster``."""
        for name, member in self._members.items():
            self._ready.labels(name).set(not member.check())
        pages = {name: manager.metrics.own_text() for name, manager in self.managers.items()}
        authors = [operator.metrics for operator in self._operators]
        return merged_metrics(pages, label="cluster") + b"".join(map(generate_latest, [self._registry, *authors]))

    async def run(self) -> None:
        """Run until cancelled; a failure of the provider ends it."""
        async with AsyncExitStack() as stack:
            if self._options.probes is not None:
                app = ProbeApp(self.health, self.readiness, self.metrics)
                await stack.enter_async_context(Server(app, clock=self._clock, listen=self._options.probes))
            for listen in self._options.history:
                await self._serve_history(stack, listen)
            tasks = await stack.enter_async_context(_tasks_that_never_fail())
            found = await stack.enter_async_context(aclosing(self._provider.clusters()))
            async for clusters in found:
                self._adjust(tasks, clusters)
                self._is_known = True
            await asyncio.get_running_loop().create_future()

    def _check_started(self) -> str:
        waiting = [name for name, member in self._members.items() if not member.is_started]
        return f"not all controllers run yet in {', '.join(waiting)}" if waiting else ""

    async def _serve_history(self, stack: AsyncExitStack, listen: Listen) -> None:
        """Answer ``steer why``; operators that cannot listen work all the same."""
        try:
            await stack.enter_async_context(Server(FleetHistoryApp(self), clock=self._clock, listen=listen))
        except ConfigError as error:
            _log.warning("steer why cannot ask this operator", extra={"error": str(error)})

    def _adjust(self, tasks: asyncio.TaskGroup, clusters: Mapping[str, ClusterConfig]) -> None:
        known = {name: member.config for name, member in self._members.items()}
        changes = cluster_changes(known, clusters)
        for name in changes.leave:
            member = self._members.pop(name)
            self.readiness.remove(f"cluster/{name}")
            self._ready.remove(name)
            assert member.task is not None  # noqa: S101 - it was started below
            member.task.cancel()
            self._ending[name] = member.task
            member.task.add_done_callback(partial(self._ended, name))
            _log.info("leaving a cluster", extra={"cluster": name})
        for name, config in changes.join.items():
            member = self._members[name] = _Member(name, config, self._ending.pop(name, None))
            self.readiness.add(f"cluster/{name}", member.check)
            self._ready.labels(name).set(0)
            member.task = tasks.create_task(self._keep(member), name=f"cluster/{name}")
            _log.info("joining a cluster", extra={"cluster": name, "server": config.server})

    def _ended(self, name: str, task: asyncio.Task[None]) -> None:
        if self._ending.get(name) is task:
            del self._ending[name]

    async def _keep(self, member: _Member) -> None:
        """Run the manager of a cluster, and start it again whenever it ends."""
        if member.previous is not None:
            await asyncio.wait({member.previous})
        pause = _PAUSE
        while True:
            started = self._clock.monotonic()
            try:
                await self._run_once(member)
            except Exception as error:  # noqa: BLE001 - whatever ends one cluster must not end the others
                member.problem = _reason(error)
            finally:
                member.manager = None
            pause = _PAUSE if self._clock.monotonic() - started > _HEALTHY else pause
            extra = {"cluster": member.name, "error": member.problem, "restart_in": pause}
            _log.warning("an operator does not run in a cluster and is started again", extra=extra)
            await self._clock.sleep(pause)
            pause = min(2 * pause, _LONGEST_PAUSE)

    async def _run_once(self, member: _Member) -> None:
        transport = self._connections.connect(member.config)
        try:
            with _end_of_deposed() as on_lost:
                options = self._member_options(member, on_lost)
                member.manager = Manager(self._operators, transport, options, clock=self._clock)
                await member.manager.run()
        finally:
            await transport.close()

    def _member_options(self, member: _Member, on_lost: Callable[[], object]) -> ManagerOptions:
        """Return the options of one cluster: what belongs to the process is left out, the Lease is of the cluster."""
        config, elector = member.config, self._connections.connect_elector
        options = replace(
            self._options,
            probes=None,
            history=(),
            cluster=f"{member.name} ({config.server})",
            cluster_name=member.name,
            elector_transport=None if elector is None else partial(elector, config),
        )
        if options.election is None:
            return options
        election = replace(
            options.election,
            namespace=options.election.namespace or config.namespace,
            identity=f"{options.instance}_{self._randomness.uid()}",
            on_lost=on_lost,
        )
        return replace(options, election=election)


class FleetHistoryApp:
    """Answers ``steer why`` about each cluster: ``/clusters`` has their names, other pages take ``cluster=NAME``."""

    def __init__(self, fleet: Fleet) -> None:
        self._fleet = fleet

    def handle(self, request: Request, exchange: Exchange) -> None:
        """Answer one request."""
        path, _, query = request.target.partition("?")
        managers = self._fleet.managers
        name = dict(parse_qsl(query)).get("cluster", "")
        if path == "/clusters":
            exchange.respond(Response(200, _JSON, encode(list(managers))))
        elif name in managers:
            managers[name].history_app.handle(request, exchange)
        else:
            text = f"the operator does not run in cluster {name[:100]!r}; it runs in {', '.join(managers) or 'none'}"
            exchange.respond(Response(404, _JSON, encode({"error": text})))


@asynccontextmanager
async def _tasks_that_never_fail() -> AsyncIterator[asyncio.TaskGroup]:
    """Yield a group whose tasks do not raise: the failure of the block is raised as it is, not in a group."""
    try:
        async with asyncio.TaskGroup() as tasks:
            yield tasks
    except BaseExceptionGroup as group:
        raise group.exceptions[0] from None


@contextmanager
def _end_of_deposed() -> Iterator[Callable[[], object]]:
    """Yield what is called when leadership is lost: the process exits unless the block ends within seconds."""
    loop, timers = asyncio.get_running_loop(), list[threading.Timer]()

    def on_lost() -> None:
        message = "the process ends by force: leadership was lost in a cluster and not everything stopped"
        timers.append(force_exit_after(AFTER_GRACE, LOST_LEADERSHIP, message, loop=loop))

    try:
        yield on_lost
    finally:
        for timer in timers:
            timer.cancel()


def _reason(error: BaseException) -> str:
    """Return an error in one line; of a group, its first one."""
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return f"{type(error).__name__}: {error}"
