"""One run of a scenario under a plan, and what is known of it afterwards."""

from collections.abc import Iterable, Mapping, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass, field

from steersman.apiserver.storage.history import Event
from steersman.apiserver.storage.record import Record
from steersman.concurrency import background
from steersman.controller.reports.failures import ReconcileFailure
from steersman.errors import Conflict, NotFound
from steersman.history.records import Reconcile
from steersman.json_types import JsonObject
from steersman.simulation.event_loop import NotDeterministic, Stuck
from steersman.simulation.faults.plans import Fault, Plan
from steersman.simulation.faults.recording import Recording, RestStep
from steersman.simulation.invariants import Invariant
from steersman.simulation.network.connection import TOUCHED, Network
from steersman.simulation.runs.await_points import AwaitPoints
from steersman.simulation.runs.instances import OperatorFactory, Replica
from steersman.simulation.runs.overlaps import overlaps
from steersman.simulation.runs.recreation import Recreation
from steersman.simulation.runs.world import World
from steersman.testing.crashes.change_counts import ChangeCounts, Counts
from steersman.testing.crashes.end_state import LEFT_OUT, end_state, records_of
from steersman.testing.crashes.scenarios import Scenario

#: Virtual seconds after the scenario in which whatever was begun may end: longer than an informer needs to give up a
#: silent watch; with only the leader at fault, longer than another replica needs to take over.
AFTERMATH = 90.0
AFTERMATH_OF_LEADER = 30.0
#: Virtual seconds after that in which nothing may be written; fewer with two replicas, which renew a lease meanwhile.
QUIET = 120.0
QUIET_WITH_LEASE = 30.0
#: Writes after which a run is cut off: a scenario is a few steps, so that many are a storm.
MOST_WRITES = 1_000


@dataclass(slots=True)
class Outcome:
    """What is known of a run after its end."""

    plan: Plan
    recording: Recording
    #: Faults that struck; a plan whose fault did not strike proves nothing.
    struck: list[Fault]
    #: The objects of the cluster, each as normalised text.
    state: list[str] = field(default_factory=list)
    #: Objects that are left although all of their owners are gone.
    orphans: list[str] = field(default_factory=list)
    #: How often each object was created, updated and deleted.
    changes: Counts = field(default_factory=dict)
    failures: list[ReconcileFailure] = field(default_factory=list)
    #: Objects that existed at a rest and were deleted because of a stale read.
    destroyed: list[str] = field(default_factory=list)
    #: Writes of the operator while everything should have been at rest.
    late_writes: list[str] = field(default_factory=list)
    #: Writes of a replica that did not hold the lease.
    deposed_writes: list[str] = field(default_factory=list)
    #: Objects that two replicas reconciled at the same time.
    overlaps: list[str] = field(default_factory=list)
    #: Invariants that did not hold after a write, each with the write.
    violations: list[str] = field(default_factory=list)
    #: Unhandled exceptions and tasks that were left behind.
    leaks: list[str] = field(default_factory=list)
    #: Why processes ended by themselves.
    exits: list[str] = field(default_factory=list)
    #: The last reconciles, oldest first, and why any of them gave up, by object.
    reconciles: list[Reconcile] = field(default_factory=list, repr=False)
    given_up: dict[str, str] = field(default_factory=dict)
    #: The exception with which the scenario ended.
    error: Exception | None = None

    @property
    def is_complete(self) -> bool:
        """Whether every fault of the plan struck, and the scenario could go on."""
        return set(self.plan.faults) <= set(self.struck) and not self.is_void

    @property
    def is_void(self) -> bool:
        """Whether the scenario ended because it knows an object by more than its name, which was created again."""
        return self.plan.repeats == "everything" and isinstance(self.error, Conflict | NotFound)


def run_plan(
    world: World,
    factory: OperatorFactory,
    scenario: Scenario,
    plan: Plan,
    *,
    seed: int,
    invariants: Sequence[Invariant] = (),
) -> Outcome:
    """Run a scenario under a plan from the beginning."""
    run = _Run(world, factory, scenario, plan, invariants, MOST_WRITES)
    outcome, leaks = world.run(run.run, seed=seed)
    outcome.leaks = leaks
    for failure in outcome.failures:
        if isinstance(failure.error, NotDeterministic):
            raise failure.error
    return outcome


class _Run:
    """The parts of one run."""

    def __init__(
        self,
        world: World,
        factory: OperatorFactory,
        scenario: Scenario,
        plan: Plan,
        invariants: Sequence[Invariant],
        most_writes: int,
    ) -> None:
        self._world = world
        self._scenario = scenario
        self._plan = plan
        self._invariants = invariants
        self._network = Network(world.cluster.server, world.clock, plan, most_writes=most_writes)
        count = plan.replicas
        self._replicas = [
            Replica(world.cluster, self._network, factory, number=number, replicas=count)
            for number in range(1, count + 1)
        ]
        self._recreation = Recreation(world.cluster, world.reconciled)
        self._network.has_objects = self._recreation.has_objects
        self._network.recreate = self._recreation.recreate
        self._network.recreate_soon = self._recreation.request
        self._violations: list[str] = []
        self._lifetimes = Lifetimes(world.known)

    async def run(self) -> Outcome:
        """Run the scenario, let everything come to rest, and look at the end."""
        cluster = self._world.cluster
        cluster.is_idle, cluster.at_rest = self._is_idle, self._at_rest
        if not self._plan.faults or any(fault.place == "await" for fault in self._plan.faults):
            loop = self._world.running_loop()
            loop.before_step = AwaitPoints(self._network, loop).before_step
        self._world.observe(self._lifetimes.observe)
        self._world.observe(self._recreation.observe)
        changes = ChangeCounts(cluster.server, self._lifetimes.without_stillborn)
        self._world.observe(self._check_invariants)
        outcome = Outcome(self._plan, self._network.recording, self._network.struck)
        try:
            await self._play(outcome)
        except (NotDeterministic, Stuck):
            raise
        except Exception as error:  # noqa: BLE001 - whatever a scenario raises under a fault is a result
            outcome.error = error
        outcome.state = end_state(cluster.server, self._world.known, untouched)
        outcome.orphans = self._lifetimes.orphans(records_of(cluster.server))
        outcome.changes = changes.counts()
        outcome.destroyed = self._lifetimes.destroyed
        outcome.violations, outcome.deposed_writes = self._violations, self._network.deposed_writes
        for replica in self._replicas:
            outcome.failures += replica.failures
            outcome.exits += replica.exits
            outcome.reconciles += replica.reconciles
            outcome.given_up |= replica.given_up
        outcome.overlaps = overlaps([span for replica in self._replicas for span in replica.spans])
        await cluster.server.settle()
        return outcome

    async def _play(self, outcome: Outcome) -> None:
        cluster, clock, recording = self._world.cluster, self._world.clock, self._network.recording
        async with AsyncExitStack() as stack:
            await stack.enter_async_context(background(self._recreation.run(), name="recreation"))
            for replica in self._replicas:
                await stack.enter_async_context(background(replica.run(), name=replica.identity))
                await cluster.wait_idle()
            start = str(cluster.server.objects.version)
            recording.watched = dict.fromkeys(recording.watched, start)
            await self._scenario(cluster)
            await cluster.settle()
            for replica in self._replicas:
                if replica.instance is not None:
                    replica.instance.connection.heal()
            is_of_leader = bool(self._plan.faults) and all(fault.about.replicas > 1 for fault in self._plan.faults)
            await clock.advance(AFTERMATH_OF_LEADER if is_of_leader else AFTERMATH)
            await cluster.wait_idle()
            writes = len(recording.writes)
            await clock.advance(QUIET if self._plan.replicas == 1 else QUIET_WITH_LEASE)
            outcome.late_writes = [str(step) for step in recording.writes[writes:]]

    def _is_idle(self) -> bool:
        """Return whether an instance is at work, and none has anything to do."""
        ready = [one.instance for one in self._replicas if one.instance is not None and one.instance.is_ready]
        return bool(ready) and self._recreation.is_idle and all(instance.is_idle for instance in ready)

    async def _at_rest(self) -> None:
        recording = self._network.recording
        number = len(recording.rests) + 1
        version = self._world.cluster.server.objects.version
        recording.rests.append(RestStep(number, len(recording.writes), len(recording.events), version))
        self._network.trace(f"rest {number} at {version}")
        for replica in self._replicas:
            if replica.instance is not None:
                replica.instance.connection.release()
        fault = self._plan.at("rest", number)
        if fault is not None:
            await self._restart(fault)

    async def _restart(self, fault: Fault) -> None:
        self._network.strikes(fault)
        replica = self._replicas[0]
        self._lifetimes.begin_stale_read()
        replica.next_view = fault.view
        if replica.instance is not None:
            replica.instance.connection.crash()
        await self._world.cluster.wait_idle()
        if replica.instance is not None:
            replica.instance.connection.catch_up()
        await self._world.cluster.wait_idle()
        self._lifetimes.end_stale_read()

    def _check_invariants(self, event: Event) -> None:
        for invariant in self._invariants:
            problem = invariant.problem(self._world.cluster)
            if problem:
                write = f"{event.type} {event.resource} {event.record.path}"
                self._violations.append(f"{invariant.name} does not hold after {write}: {problem}")


class Lifetimes:
    """Follows which objects exist, and finds three kinds of them.

    Stillborn are those that were created after their owner was gone, and which the garbage collector takes right away:
    an operator whose cache still has a deleted owner creates them until it hears of the deletion. That is unavoidable
    and harmless, so they do not count as created and deleted.

    Destroyed are those that existed at a rest and were deleted because of a stale read. What a stale read created and
    the present state took away again is harmless.

    Orphans are those that are left at the end although all of their owners are gone. The garbage collector deletes
    them, so what is left has a finalizer that nothing removes, or an owner of a kind that is not served.
    """

    def __init__(self, known: Mapping[str, int]) -> None:
        self._present = set(known)
        self._stillborn: set[str] = set()
        self._at_rest: frozenset[str] = frozenset()
        self.destroyed: list[str] = []

    def begin_stale_read(self) -> None:
        """Protect what exists now."""
        self._at_rest = frozenset(self._present)

    def end_stale_read(self) -> None:
        """Protect nothing any more."""
        self._at_rest = frozenset()

    def observe(self, event: Event) -> None:
        """Take note of a write."""
        record = event.record
        if event.type == "DELETED":
            self._present.discard(record.uid)
            if record.uid in self._at_rest and event.resource not in LEFT_OUT:
                self.destroyed.append(f"{event.resource} {record.path}")
            return
        self._present.add(record.uid)
        if event.type == "ADDED" and record.owner_uids and self._present.isdisjoint(record.owner_uids):
            self._stillborn.add(record.uid)

    def orphans(self, records: Iterable[Record]) -> list[str]:
        """Return those of some records whose owners are gone."""
        return [
            f"{record.decode()['kind']} {record.path}"
            for record in records
            if record.owner_uids and self._present.isdisjoint(record.owner_uids)
        ]

    def without_stillborn(self, document: JsonObject) -> JsonObject | None:
        """Return an object as it is counted; ``None`` if it does not count."""
        return None if document["metadata"]["uid"] in self._stillborn else untouched(document)


def untouched(document: JsonObject) -> JsonObject:
    """Return an object without the label of the competing client."""
    labels = document["metadata"].get("labels")
    if labels and labels.pop(TOUCHED, None) is not None and not labels:
        del document["metadata"]["labels"]
    return document
