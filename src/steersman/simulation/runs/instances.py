"""Instances of an operator: each is created without old state, runs until it crashes or stops, and is replaced.

An instance remembers nothing of the one before. An operator that a module holds is imported once more for each; one
that a function makes is made by it.
"""

import asyncio
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TypeAlias

from steersman.concurrency import background, wait_ready
from steersman.controller.reports.failures import ReconcileFailure
from steersman.errors import LeadershipLost, SteersmanError
from steersman.history.history import History
from steersman.history.records import Reconcile, Result
from steersman.manager.leader.election import ElectionOptions
from steersman.manager.leader.lease import LeaseTiming
from steersman.manager.manager import Manager, ManagerOptions
from steersman.manager.operator import Operator
from steersman.protocol.http import App
from steersman.simulation.event_loop import InstanceClock, NotDeterministic, WriteStorm
from steersman.simulation.faults.plans import View
from steersman.simulation.network.connection import Connection, Network
from steersman.simulation.network.webhooks import SimulatedWebhooks
from steersman.simulation.runs.await_points import current_connection
from steersman.simulation.runs.overlaps import ReconcileSpan
from steersman.testing.cluster import Cluster
from steersman.testing.crashes.fresh_import import ImportedOperator
from steersman.testing.crashes.scenarios import webhook_service
from steersman.testing.webhook_listener import InProcessListener, WebhookGate
from steersman.transport.in_memory import InMemoryTransport

#: An operator that is a global of its module, ``"module:operator"``, or a function that makes one for each instance.
OperatorSource: TypeAlias = Operator | str | Callable[[], Operator]

#: The lease of the replicas of a simulated operator.
LEASE = ("kube-system", "simulated-operator")
#: As usual, but with fewer renewals: each is a request, and minutes pass in a run.
_TIMING = LeaseTiming(retry=5.0)
#: Virtual seconds until a process that ended is started again, and how often that is done.
_RESTART_DELAY = 1.0
_MOST_RESTARTS = 20
#: How many reconciles of an instance are kept for explanations.
_RECONCILES = 5


class OperatorFactory:
    """Makes one instance of an operator after the other."""

    def __init__(self, source: OperatorSource) -> None:
        self._function: Callable[[], Operator] | None = None
        self._imported: ImportedOperator | None = None
        match source:
            case Operator():
                self._imported = ImportedOperator.find(source)
            case str():
                self._imported = ImportedOperator.parse(source)
            case function:
                self._function = function

    @property
    def can_replicate(self) -> bool:
        """Whether two instances can live at the same time: a module can be imported again for only one of them."""
        return self._function is not None

    def original(self) -> Operator:
        """Return an instance for its declarations."""
        return self._function() if self._function is not None else self._of_module().original

    @contextmanager
    def instance(self) -> Iterator[Operator]:
        """Make an instance that lives in the block."""
        if self._function is not None:
            yield self._function()
        else:
            with self._of_module().fresh() as operator:
                yield operator

    def _of_module(self) -> ImportedOperator:
        assert self._imported is not None  # noqa: S101 - either is set in __init__
        return self._imported


class Instance:
    """One process of the operator, from its start to its end."""

    def __init__(self, replica: "Replica", operator: Operator, view: View | None) -> None:
        cluster, network = replica.cluster, replica.network
        self.clock = InstanceClock(cluster.clock)
        self.connection = Connection(network, replica.next_number(), self.clock, replica.holder)
        self.connection.view = view
        self._transport = InMemoryTransport(self.connection, clock=self.clock)
        self._manager = Manager(
            [operator],
            self._transport,
            self._options(replica, operator),
            clock=self.clock,
            randomness=cluster.randomness,
            services=cluster.services.beside(self.clock, self.connection.around),
        )
        self.is_ready = False
        if replica.election is not None:
            self._manager.history.listen(lambda reconcile: self._note_span(replica, reconcile))

    def _note_span(self, replica: "Replica", reconcile: Reconcile) -> None:
        """Note when a reconcile ran; what goes on in a process that has crashed is not real."""
        if not self.connection.is_cut:
            end = replica.cluster.clock.monotonic()
            name = str(reconcile.object)
            replica.spans.append(
                ReconcileSpan(replica.identity, reconcile.controller, name, end - reconcile.seconds, end)
            )

    def _options(self, replica: "Replica", operator: Operator) -> ManagerOptions:
        cluster = replica.cluster

        def serve(namespace: str, service: str, app: App) -> None:
            replica.webhooks.open(SimulatedWebhooks(replica.network, app))
            cluster.serve_webhooks(namespace, service, replica.webhooks)

        def on_failure(failure: ReconcileFailure) -> None:
            if not self.connection.is_cut:
                replica.failures.append(failure)

        return ManagerOptions(
            carry_out=self.connection.carry_out,
            installer=InMemoryTransport(cluster.server, clock=self.clock),
            webhooks=InProcessListener(webhook_service(operator), serve),
            on_failure=on_failure,
            election=replica.election,
            grace=0.0 if replica.network.plan.has("drain-timeout") else ManagerOptions().grace,
        )

    @property
    def is_idle(self) -> bool:
        """Whether it has nothing to do."""
        return self._manager.is_idle

    @property
    def history(self) -> History:
        """What it has done."""
        return self._manager.history

    async def run(self) -> None:
        """Run until it crashes, is asked to stop, or loses leadership; when cancelled, the end is a crash."""
        current_connection.set(self.connection)
        try:
            async with background(self._manager.run(), name="manager") as task:
                try:
                    await wait_ready(self._ready_or_ended(), task)
                    self.is_ready = not self.connection.is_cut
                    await self.connection.wait_ended()
                except asyncio.CancelledError:
                    self.connection.crash()
                    raise
                finally:
                    self.is_ready = False
                    if self.connection.is_cut:
                        self.clock.die()
        finally:
            current_connection.set(None)
            await self._transport.close()

    async def _ready_or_ended(self) -> None:
        async with asyncio.TaskGroup() as tasks:
            ready = tasks.create_task(self._manager.wait_ready(), name="ready")
            ended = tasks.create_task(self.connection.wait_ended(), name="ended")
            await asyncio.wait({ready, ended}, return_when=asyncio.FIRST_COMPLETED)
            ready.cancel()
            ended.cancel()


class Replica:
    """One pod of the operator: when its process ends, another one is started."""

    def __init__(
        self, cluster: Cluster, network: Network, factory: OperatorFactory, *, number: int, replicas: int
    ) -> None:
        self.cluster = cluster
        self.network = network
        self._factory = factory
        self._number = number
        self._replicas = replicas
        self._started = 0
        self.instance: Instance | None = None
        self.webhooks = WebhookGate()
        self.failures: list[ReconcileFailure] = []
        #: Why processes ended by themselves.
        self.exits: list[str] = []
        #: The last reconciles of each instance, and why any of them gave up, by object.
        self.reconciles: list[Reconcile] = []
        self.given_up: dict[str, str] = {}
        #: When it reconciled; noted where there are other replicas.
        self.spans: list[ReconcileSpan] = []
        #: The old state that the next instance reads.
        self.next_view: View | None = None

    @property
    def identity(self) -> str:
        """The name under which it takes part in elections."""
        return f"replica-{self._number}"

    @property
    def election(self) -> ElectionOptions | None:
        """The election that it takes part in, if it has competitors."""
        if self._replicas == 1:
            return None
        namespace, name = LEASE
        return ElectionOptions(name=name, namespace=namespace, identity=self.identity, timing=_TIMING)

    def holder(self) -> str:
        """Return the replica that holds the lease, if it is another one."""
        if self._replicas == 1:
            return ""
        record = self.network.server.objects.store.get("leases.coordination.k8s.io", *LEASE)
        holder: str = record.decode()["spec"].get("holderIdentity") or "" if record is not None else ""
        return "" if holder == self.identity else holder or "no replica"

    def next_number(self) -> int:
        """Return the number of a new instance: 1, 2, … for the first replica, 101, 102, … for the second."""
        self._started += 1
        return self._started + 100 * (self._number - 1)

    async def run(self) -> None:
        """Run one instance after the other."""
        for _ in range(_MOST_RESTARTS):
            await self._live()
        raise SteersmanError(
            f"the operator ended {_MOST_RESTARTS} times: {self.exits[-1] if self.exits else 'crashed'}"
        )

    def _note_history(self, history: History) -> None:
        self.reconciles += history.newest(_RECONCILES)
        for last in history.each_last():
            self.given_up.pop(str(last.object), None)
            if last.result is Result.GAVE_UP:
                self.given_up[str(last.object)] = last.reason

    async def _live(self) -> None:
        if len(self.network.recording.writes) >= self.network.most_writes:
            raise WriteStorm(
                f"the operator writes without end: after {self.network.most_writes} writes it was cut off; the last is "
                f"{self.network.recording.writes[-1]}"
            )
        view, self.next_view = self.next_view, None
        with self._factory.instance() as operator:
            self.instance = Instance(self, operator, view)
            try:
                await self.instance.run()
            except NotDeterministic:
                raise
            except LeadershipLost:
                self.network.trace(f"{self.identity} lost leadership")
            except (SteersmanError, TimeoutError) as error:
                # As in a cluster, where the kubelet starts a container again whose process ended.
                self.exits.append(f"{type(error).__name__}: {error}")
                self.network.trace(f"{self.identity} ended")
            finally:
                self._note_history(self.instance.history)
                self.instance = None
                self.webhooks.wait_for_next()
        await self.cluster.clock.sleep(_RESTART_DELAY)
