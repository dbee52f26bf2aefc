"""`Manager`: runs operators. It starts its parts in order, stops them in reverse, and never lets two leaders work.

Start::

    webhook listener ─▶ CRDs, policies ─▶ webhook configurations ─▶ servers ─▶ probes ─▶ election ─▶ event recorders
      ─▶ caches ─▶ (wait for leadership) ─▶ (wait for sync) ─▶ controllers and background functions ─▶ ready

Each part is entered into one ``AsyncExitStack``, so that stopping is the reverse of starting, whatever failed halfway.
Reasons for the order:

- The listener is first, because the address of the webhooks may be known only when its port is open; CRDs and
  configurations contain it.
- Caches fill while this process waits for leadership, so that a new leader works at once.
- Caches must be in sync *after* leadership was won: the former leader may have written until then.

Stop (``run`` is cancelled): ``ready`` becomes false; the controllers take no new keys and finish their runs within the
grace period, which is cut off at its end; caches stop; the event recorders send what they have; the lease is released,
so that a successor starts at once; probes, servers and webhooks end. The lease is released after the last write and
never before: that order keeps two leaders from writing. If runs were cut off, the lease is left to expire, because the
server may still carry out a request that was cancelled here.

An operator with shards (``Operator(shards=N)``) takes part in the work as soon as its caches are in sync. Its
controllers run all the time, and ``ShardMoves`` begins and ends their work on each shard.

Losing leadership stops in the same order, but without a grace period: runs are cancelled at once, because another
process may lead soon. Writes of runs that are still ending are rejected by the fence (``Leadership.check``), which is
part of every client of a controller.
"""

import asyncio
import logging
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, AbstractContextManager, AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any, Protocol

from msgspec import structs

from steersman.client.client import Client
from steersman.client.events import EventRecorder
from steersman.clock import Clock
from steersman.concurrency import background, cleanup, wait_ready
from steersman.controller.controller import Controller
from steersman.controller.declaration import Reconciler
from steersman.controller.options import ControllerOptions, RunTracer
from steersman.controller.recording.run_notes import RecordingTransport
from steersman.controller.recording.secret_learning import SecretLearningTransport
from steersman.controller.reports.failures import FailureListener, ignore_failure
from steersman.controller.run.external_writes import CarryOut, carry_out_at_once
from steersman.controller.shards import ShardAccess
from steersman.errors import ConfigError, LeadershipLost
from steersman.history.history import History
from steersman.history.recordings import Recordings
from steersman.history.records import LeadershipChange, ObjectName, WebhookCall
from steersman.history.redaction import Redactor, SecretMemory
from steersman.history.state import LeadershipState
from steersman.informer.changes import Change
from steersman.informer.informer import Informer, Selection
from steersman.informer.informers import Informers
from steersman.informer.list_watch_driver import ApiConnection
from steersman.kinds.apiextensions_v1 import CustomResourceDefinition
from steersman.manager.health import Checks, ProbeApp, freshness_check
from steersman.manager.history_app import HistoryApp
from steersman.manager.install import install_definitions
from steersman.manager.introspection import LiveIntrospection, OperatorFacts
from steersman.manager.leader.election import ElectionOptions
from steersman.manager.leader.leadership import Leadership
from steersman.manager.leader.shard_election import ShardElector
from steersman.manager.leader.shard_leadership import ShardLeadership
from steersman.manager.leader.shard_moves import ShardMoves
from steersman.manager.leader.thread import elect_here, elect_in_thread, electing_here, electing_in_thread
from steersman.manager.metrics.counting_transport import CountingTransport
from steersman.manager.metrics.metrics import Metrics
from steersman.manager.operator import BackgroundFunction, Operator
from steersman.manager.shard_work import ManagerShards, ShardWork, written_versions
from steersman.manager.tracing.propagation import PropagatingTransport
from steersman.manager.web_view import WebViewServing, serving_web_view
from steersman.objects.resource import KubeObject, Unstructured
from steersman.protocol.http import WriteFence
from steersman.randomness import Randomness
from steersman.serving.server import Listen, Server
from steersman.transport.base import Transport
from steersman.transport.fenced import FencedTransport
from steersman.transport.services import HttpServices, ServiceCall
from steersman.webhook.operator_webhooks import OperatorWebhooks, converted_definitions, need_webhooks
from steersman.webhook.serving.address import Address
from steersman.webhook.serving.listener import WebhookListener
from steersman.webhook.serving.metrics import WebhookMetrics

_log = logging.getLogger("steersman.manager")

#: Seconds that recorders get to send their last events.
_LAST_EVENTS = 2.0


class TracingBackend(RunTracer, Protocol):
    """Makes spans of runs and reviews; OpenTelemetry itself is imported only where it is used."""

    def add_call(self, call: WebhookCall) -> None:
        """Make the span of a review."""

    def headers(self) -> Mapping[str, str]:
        """Return the headers that carry the current span to another process."""

    def service_call(self, call: ServiceCall) -> AbstractContextManager[None]:
        """Make the span of a request to an HTTP service, which lasts as long as the block."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ManagerOptions:
    """How operators are run."""

    #: The namespaces to watch; empty for all.
    namespaces: tuple[str, ...] = ()
    #: Create or update the definitions of the operators' custom kinds before anything else.
    install_crds: bool = False
    #: Further definitions to create or update.
    definitions: Sequence[KubeObject | Unstructured] = ()
    #: Transport for installing CRDs and configurations, if the operators themselves have no permission for that.
    installer: Transport | None = None
    #: Take part in a leader election, and work only while leading.
    election: ElectionOptions | None = None
    #: Number of shards of the operators that take part in an election; ``None`` for what they declare.
    shards: int | None = None
    #: Creates the elector's own connection; without it the election runs on the manager's event loop.
    elector_transport: Callable[[], Transport] | None = None
    #: Where probes and metrics are served; ``None`` for nowhere.
    probes: Listen | None = None
    #: Where the history is served for ``steer why``: private sockets and loopback ports.
    history: tuple[Listen, ...] = ()
    #: Where the web view is served, and to whom; ``None`` for nowhere.
    web_view: WebViewServing | None = None
    #: Keep what reconciles read and send, for tests and replays: each operator's ``module:name`` by its name.
    #: ``None`` keeps nothing.
    record: Mapping[str, str] | None = None
    #: Seconds that current runs get to finish.
    grace: float = 30.0
    #: Seconds that caches get to sync.
    sync_timeout: float = 120.0
    #: Name of this process in events.
    instance: str = ""
    #: Address of the API server, for people.
    cluster: str = ""
    #: Name of the cluster: that of its context, or what a provider of clusters calls it.
    cluster_name: str = ""
    #: How the API server reaches the operators' webhooks; without it they are not served.
    webhooks: WebhookListener | None = None
    #: Carries out ``ctx.external_write``; crash tests count and interrupt writes here.
    carry_out: CarryOut = carry_out_at_once
    #: Makes spans of reconciles and reviews (``steersman.manager.tracing``); ``None`` makes none.
    tracing: TracingBackend | None = None
    #: Notified of each reconcile that fails unexpectedly, such as to send it to an error tracker.
    on_failure: FailureListener = ignore_failure


class Manager:
    """Runs operators against one cluster until it is cancelled."""

    def __init__(
        self,
        operators: Sequence[Operator],
        transport: Transport,
        options: ManagerOptions | None = None,
        *,
        clock: Clock,
        randomness: Randomness | None = None,
        services: HttpServices | None = None,
    ) -> None:
        self._operators = tuple(operators)
        #: HTTP services that reconcilers call; closed here unless the caller passed it in.
        self._services = services if services is not None else HttpServices(clock)
        self._closes_services = services is None
        self._options = options if options is not None else ManagerOptions()
        self._clock = clock
        self._randomness = randomness if randomness is not None else Randomness()
        self.metrics = Metrics()
        for operator in self._operators:
            self.metrics.include_shared(operator.metrics)
        #: What the operators did and why.
        self.history = History()
        self.history.listen_to_ends(self.metrics.count)
        self._secrets = SecretMemory()
        self._secrets.before_forgetting(self.history.make_records)
        #: What the newest reconciles read and sent; ``None`` unless that was asked for.
        self.recordings = None if self._options.record is None else Recordings()
        self._informers: Informers | None = None
        self.health = Checks()
        self.readiness = Checks()
        self.readiness.add("started", lambda: "" if self._ready.is_set() else "not all controllers run yet")
        self._transport = self._counted(transport)
        self._ready = asyncio.Event()
        self._leadership: Leadership | None = None
        self._moves: ShardMoves | None = None
        #: Whether the history says that this process leads.
        self._leads = False
        self._controllers: list[Controller[Any]] = []
        self._started = clock.now()
        #: Background functions, with the name of their operator and its client.
        self._background: list[tuple[str, Client, BackgroundFunction]] = []
        self._probes: Server | None = None

    def _counted(self, transport: Transport) -> CountingTransport:
        """Return a transport that counts, and that passes the trace context on if there is one."""
        tracing = self._options.tracing
        if tracing is None:
            return CountingTransport(transport, self._count_request)
        self.history.listen(tracing.add_call, WebhookCall)
        self._services.observe(tracing.service_call)
        return PropagatingTransport(transport, self._count_request, tracing.headers)

    # State.

    @property
    def controllers(self) -> tuple[Controller[Any], ...]:
        """Controllers of all operators; none before the manager runs."""
        return tuple(self._controllers)

    @property
    def probe_url(self) -> str:
        """URL of probes and metrics; empty if they are not served."""
        return self._probes.url if self._probes is not None else ""

    @property
    def is_idle(self) -> bool:
        """Whether every controller has handled all changes that its caches have received."""
        is_settled = self._moves is None or self._moves.is_idle
        return is_settled and all(controller.is_idle for controller in self._controllers)

    def reconcile_now(self, name: ObjectName) -> bool:
        """Request a run of an object; return whether an operator reconciles it."""
        kinds = [(one, one.reconciler.resource.gvk) for one in self._controllers]
        found = [one for one, gvk in kinds if name.kind == gvk.kind and name.group in ("", gvk.group)]
        return sum(controller.reconcile_now(name.key) for controller in found) > 0

    async def wait_ready(self) -> None:
        """Wait until every controller runs."""
        await self._ready.wait()

    # Running.

    async def run(self) -> None:
        """Run until cancelled; ``LeadershipLost`` ends it at once, without grace."""
        async with AsyncExitStack() as stack:
            if self._closes_services:
                stack.push_async_callback(self._services.close)
            await self._serve_webhooks(stack)
            for operator in self._operators:
                for server in operator.servers:
                    task = await stack.enter_async_context(background(server.run(), name=f"server/{operator.name}"))
                    await wait_ready(server.wait_ready(), task)
            await self._serve_probes(stack)
            await self._serve_history(stack)
            if self._options.web_view is not None:
                serving = self._options.web_view
                actions = None if serving.make_actions is None else serving.make_actions(self.reconcile_now)
                view = serving_web_view(serving, self.introspection, self._operators, self._clock, actions)
                await stack.enter_async_context(view)
            leadership = self._leadership = await stack.enter_async_context(self._election())
            informers = self._informers = Informers(ApiConnection(self._transport, self._clock, self._randomness))
            await self._build_controllers(stack, informers, leadership)
            await stack.enter_async_context(background(informers.run(), name="informers"))
            await self._await_kinds(stack, informers)
            if isinstance(leadership, ShardLeadership):
                # A replica that has a slot gets shards: it must be able to work on them.
                await self._sync(None)
                leadership.join()
            await self._lead(leadership)
            await self._sync(leadership)
            await stack.enter_async_context(self._working(leadership))
            self._ready.set()
            _log.info("running", extra={"operators": [operator.name for operator in self._operators]})
            await self._stay(leadership)

    async def _serve_webhooks(self, stack: AsyncExitStack) -> None:
        """Serve webhooks, then install CRDs and configurations with their address."""
        if not need_webhooks(self._operators):
            await self._install(None)
            return
        if self._options.webhooks is None:
            _log.warning("webhooks are not served: pass --webhook-service or --webhook-url")
            await self._install(None)
            return
        metrics = WebhookMetrics()
        self.metrics.include(metrics.registry)
        webhooks = OperatorWebhooks(
            self._operators,
            self._options.webhooks,
            lambda name: self._client(self._transport, name),
            installer_of=self._installer,
            clock=self._clock,
            on_call=self._add_call,
        )
        stack.callback(self.history.listen(metrics.add, WebhookCall))
        served = await stack.enter_async_context(webhooks.serving())
        metrics.show_active(webhooks.active)
        await self._install(served.address)
        await stack.enter_async_context(webhooks.registered(served))
        self.readiness.add("webhook-certificate", served.check)
        metrics.show_expiry(lambda: served.valid_until)

    def _add_call(self, call: WebhookCall) -> None:
        masked: WebhookCall = Redactor(self._secrets).record(call)
        self.history.add_call(masked)

    async def _install(self, webhooks: Address | None) -> None:
        client = self._installer(self._operators[0].name)
        definitions, policies = list(self._options.definitions), []
        converted: list[str] = []
        if self._options.install_crds:
            # Imported here: the schema compiler is large, and most deployed operators do not install CRDs.
            from steersman.manager.definitions import operator_definitions, operator_policies  # noqa: PLC0415 - see above

            definitions += operator_definitions(self._operators, webhooks)
            policies = operator_policies(self._operators)
            converted = converted_definitions(self._operators)
        if definitions:
            await install_definitions(client, definitions, converted=converted)
        for policy in policies:
            await client.apply(policy, force=True)

    def _installer(self, field_manager: str) -> Client:
        return self._client(self._options.installer or self._transport, field_manager)

    def _client(self, transport: Transport, field_manager: str) -> Client:
        return Client(transport, field_manager=field_manager, clock=self._clock, randomness=self._randomness)

    async def _serve_probes(self, stack: AsyncExitStack) -> None:
        if self._options.probes is not None:
            app = ProbeApp(self.health, self.readiness, self.metrics.text)
            self._probes = await stack.enter_async_context(Server(app, clock=self._clock, listen=self._options.probes))

    @property
    def introspection(self) -> LiveIntrospection:
        """The operators as ``steer why`` and the web view see them."""
        facts = OperatorFacts(
            tuple(operator.name for operator in self._operators),
            self._options.cluster,
            self._options.namespaces,
            self._started,
            self.recordings,
        )
        return LiveIntrospection(
            facts,
            self.history,
            self._clock,
            controllers=lambda: self._controllers,
            informers=lambda: self._informers or (),
            leadership=self._leadership_state,
        )

    def _leadership_state(self) -> LeadershipState | None:
        election = self._options.election
        if election is None:
            return None
        leadership = self._leadership
        state = LeadershipState(
            leadership is not None and leadership.is_valid, f"{election.namespace}/{election.name}", election.identity
        )
        if not isinstance(leadership, ShardLeadership):
            return state
        return structs.replace(state, shards=tuple(sorted(leadership.holdings.open)), shard_count=leadership.count)

    @cached_property
    def history_app(self) -> HistoryApp:
        """What ``steer why`` asks."""
        resources = [one.resource for operator in self._operators for one in operator.reconcilers]
        return HistoryApp(self.introspection, resources)

    async def _serve_history(self, stack: AsyncExitStack) -> None:
        """Answer ``steer why``; an operator that cannot listen works all the same."""
        for listen in self._options.history:
            try:
                await stack.enter_async_context(Server(self.history_app, clock=self._clock, listen=listen))
            except ConfigError as error:
                _log.warning("steer why cannot ask this operator", extra={"error": str(error)})

    async def _build_controllers(
        self, stack: AsyncExitStack, informers: Informers, leadership: Leadership | None
    ) -> None:
        learning = SecretLearningTransport(self._transport, self._secrets)
        transport = self._fenced(learning, leadership)
        shards = None
        if isinstance(leadership, ShardLeadership):
            shards = ManagerShards(leadership, lambda fence, name: self._client(self._fenced(learning, fence), name))
        self._controllers.clear()
        self._background.clear()
        for operator in self._operators:
            client = self._client(transport, operator.name)
            events = EventRecorder(client, controller=operator.name, instance=self._options.instance, clock=self._clock)
            await stack.enter_async_context(self._sending_events(events, operator.name))
            self._controllers += [
                self._build(reconciler, client, events, informers=informers, fence=leadership, shards=shards)
                for reconciler in operator.reconcilers
            ]
            # Background functions run once: with shards, on the replica that holds the first one.
            own = client if shards is None else shards.client(0, client)
            self._background += [(operator.name, own, function) for function in operator.background_functions]
        for controller in self._controllers:
            controller.attach()
        self.metrics.observe(self._controllers, informers)
        required: dict[str, dict[Informer[Any], None]] = {}
        for controller in self._controllers:
            self.readiness.add(f"workers/{controller.reconciler.name}", controller.worker_problem)
            for informer in controller.required_informers():
                required.setdefault(str(informer.resource.gvr), {})[informer] = None
        for resource, caches in required.items():
            self.readiness.add(f"informer/{resource}", freshness_check(*caches))

    def _fenced(self, transport: Transport, fence: WriteFence | None) -> Transport:
        """Return a transport whose writes are fenced, and recorded if that was asked for."""
        fenced = transport if fence is None else FencedTransport(transport, fence)
        return fenced if self.recordings is None else RecordingTransport(fenced)

    @asynccontextmanager
    async def _sending_events(self, events: EventRecorder, name: str) -> AsyncIterator[None]:
        """Send events inside the block; at its end wait a moment for those that were not sent yet."""
        async with background(events.run(), name=f"events/{name}"):
            try:
                yield
            finally:
                await cleanup(events.wait_sent(), clock=self._clock, within=_LAST_EVENTS)

    def _build(
        self,
        reconciler: Reconciler[Any],
        client: Client,
        events: EventRecorder,
        *,
        informers: Informers,
        fence: WriteFence | None,
        shards: ShardAccess | None,
    ) -> Controller[Any]:
        name = reconciler.name
        self.metrics.controller(name, reconciler.options.workers)
        options = ControllerOptions(
            client=client,
            informers=informers,
            events=events,
            clock=self._clock,
            services=self._services,
            fence=fence,
            shards=shards,
            carry_out=self._options.carry_out,
            namespaces=self._options.namespaces,
            cluster=self._options.cluster_name,
            history=self.history,
            recordings=self.recordings,
            target=(self._options.record or {}).get(client.field_manager, ""),
            secrets=self._secrets,
            tracer=self._options.tracing,
            queue_observer=self.metrics.queue(name),
            on_failure=self._options.on_failure,
        )
        return Controller(reconciler, options)

    async def _await_kinds(self, stack: AsyncExitStack, informers: Informers) -> None:
        """Retry optional kinds that are not served yet whenever a CRD changes, without waiting for the back-off."""
        required = [informer for controller in self._controllers for informer in controller.required_informers()]
        optional = [informer for informer in informers if informer not in required]
        if not optional:
            return
        link = ApiConnection(self._transport, self._clock, self._randomness)
        definitions = Informer(CustomResourceDefinition, link, Selection(metadata_only=True))

        def nudge(_: Change) -> None:
            for informer in optional:
                if not informer.is_synced:
                    informer.nudge()

        definitions.add_handler(nudge, name="optional-kinds")
        await stack.enter_async_context(background(definitions.run(), name="informer/definitions"))

    async def _sync(self, leadership: Leadership | None) -> None:
        for controller in self._controllers:
            await controller.wait_synced(within=self._options.sync_timeout)
        if leadership is not None:
            leadership.check()

    # Leadership.

    @asynccontextmanager
    async def _election(self) -> AsyncIterator[Leadership | None]:
        election = self._options.election
        if election is None:
            yield None
            return
        self.metrics.leader.labels(election.name).set(0)
        self.history.listen(
            lambda change: self.metrics.leader.labels(election.name).set(change.is_leader), LeadershipChange
        )
        async with self._electing(election) as leadership:
            try:
                yield leadership
            finally:
                if self._leads:
                    reason = "stopping" if leadership.is_valid else "the lease could not be renewed in time"
                    self._note_leadership(election, is_leader=False, reason=reason)

    def _electing(self, election: ElectionOptions) -> AbstractAsyncContextManager[Leadership]:
        connect = self._options.elector_transport
        here = ApiConnection(self._transport, self._clock, self._randomness)
        count = self._shard_count()
        if not count:
            return elect_here(here, election) if connect is None else elect_in_thread(connect, self._clock, election)
        shards = ShardLeadership(self._clock, count)
        if connect is None:
            return electing_here(here, election, shards, ShardElector)
        return electing_in_thread(connect, self._clock, election, shards, ShardElector)

    def _shard_count(self) -> int:
        """Return the number of shards: operators of one process share their slots, so they have the same number."""
        counts = {operator.shards for operator in self._operators}
        if self._options.shards is not None:
            return self._options.shards
        if len(counts) > 1:
            declared = ", ".join(f"{operator.name} has {operator.shards}" for operator in self._operators)
            raise ConfigError(f"operators of one process need the same number of shards: {declared}")
        return counts.pop()

    def _note_leadership(self, election: ElectionOptions, *, is_leader: bool, reason: str = "") -> None:
        self._leads = is_leader
        self.history.add_leadership(
            LeadershipChange(
                at=self._clock.now(),
                is_leader=is_leader,
                lease=f"{election.namespace}/{election.name}",
                identity=election.identity,
                reason=reason,
            )
        )

    async def _lead(self, leadership: Leadership | None) -> None:
        if leadership is not None and self._options.election is not None:
            election = self._options.election
            if not leadership.is_valid:
                lease = f"{election.namespace}/{election.name}"
                _log.info("waiting for leadership", extra={"lease": lease, "identity": election.identity})
            await leadership.wait_acquired()
            self._note_leadership(election, is_leader=True)

    @staticmethod
    async def _stay(leadership: Leadership | None) -> None:
        if leadership is None:
            await asyncio.get_running_loop().create_future()
            return
        await leadership.wait_lost()
        raise LeadershipLost("the lease could not be renewed in time: stopping")

    @asynccontextmanager
    async def _working(self, leadership: Leadership | None) -> AsyncIterator[None]:
        """Run the controllers inside the block; at its end let them finish their runs, unless leadership is lost."""
        async with background(self._run_controllers(leadership), name="controllers"):
            try:
                yield
            finally:
                self._ready.clear()
                grace = self._options.grace if leadership is None or leadership.is_valid else 0.0
                if not await cleanup(self._drain(), clock=self._clock, within=grace):
                    _log.warning("runs were cancelled at the end of the grace period", extra={"grace": grace})
                    if leadership is not None:
                        leadership.may_release = False
                if isinstance(leadership, ShardLeadership):
                    leadership.written = written_versions(self._controllers)

    async def _run_controllers(self, leadership: Leadership | None) -> None:
        async with asyncio.TaskGroup() as tasks:
            for controller in self._controllers:
                tasks.create_task(controller.run(), name=f"controller/{controller.reconciler.name}")
            if isinstance(leadership, ShardLeadership):
                work = ShardWork(self._controllers, [partial(self._in_background, *one) for one in self._background])
                self._moves = ShardMoves(leadership, work.adopt, work.drain)
                tasks.create_task(work.run(), name="shards/background")
                tasks.create_task(self._moves.run(), name="shards")
                return
            for one in self._background:
                tasks.create_task(self._in_background(*one), name=f"background/{one[0]}")

    async def _in_background(self, name: str, client: Client, function: BackgroundFunction) -> None:
        del name
        await function(client, self._clock)

    async def _drain(self) -> None:
        async with asyncio.TaskGroup() as tasks:
            for controller in self._controllers:
                tasks.create_task(controller.drain(), name=f"drain/{controller.reconciler.name}")

    def _count_request(self, method: str, code: str) -> None:
        self.metrics.count_request(method, code)

    def __repr__(self) -> str:
        state = "ready" if self._ready.is_set() else "not ready"
        return f"<Manager {state} controllers={self._controllers!r}>"
