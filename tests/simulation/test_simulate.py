"""Operators under every fault: correct ones pass, incorrect ones are found, and both are explained."""

import asyncio
import gc
import json
import os
import secrets
import signal

import pytest

from steersman import Context, Model, Operator, Resource, Status, custom_resource, meta
from steersman.errors import ConfigError
from steersman.kinds.core_v1 import ConfigMap, Secret
from steersman.protocol.http import Request
from steersman.simulation import NotDeterministic, always, simulate
from steersman.simulation.event_loop import InstanceClock
from steersman.simulation.faults.kinds import KINDS
from steersman.simulation.faults.plans import Plan, parse_plan
from steersman.simulation.network.connection import Connection, Network
from steersman.simulation.reports.report import Report
from steersman.simulation.runs.world import World
from steersman.simulation.simulator import Progress
from steersman.testing import Cluster
from steersman.transport.in_memory import InMemoryTransport


class CrateSpec(Model):
    """The desired state."""

    copies: int = 1


class CrateStatus(Status):
    """The observed state."""

    copies: int = 0


@custom_resource("simulation.example.com/v1")
class Crate(Resource[CrateSpec, CrateStatus]):
    """Wants a number of ConfigMaps."""


def careful() -> Operator:
    """Return an operator that reads before it writes."""
    operator = Operator("careful")

    @operator.reconciler(Crate, owns=[ConfigMap])
    async def reconcile(crate: Crate, ctx: Context[Crate]) -> None:
        for number in range(crate.spec.copies):
            await ctx.apply(ConfigMap(meta(f"{crate.name}-{number}")))
        crate.status.copies = crate.spec.copies

    return operator


def forgetful() -> Operator:
    """Return an operator that trusts a status which it writes later."""
    operator = Operator("forgetful")

    @operator.reconciler(Crate, owns=[ConfigMap])
    async def reconcile(crate: Crate, ctx: Context[Crate]) -> None:
        if crate.status.copies == 0:
            await ctx.create(ConfigMap(meta(generate_name=f"{crate.name}-")))
            crate.status.copies = 1

    return operator


def guessing() -> Operator:
    """Return an operator that generates a password."""
    operator = Operator("guessing")

    @operator.reconciler(Crate, owns=[Secret])
    async def reconcile(crate: Crate, ctx: Context[Crate]) -> None:
        if not ctx.owned(Secret):
            await ctx.create(Secret(meta(crate.name), data={"password": secrets.token_bytes(8)}))

    return operator


module_operator = careful()


async def rollout(cluster: Cluster) -> None:
    """Create, change and delete a crate."""
    crate = await cluster.client.create(Crate(meta("a"), CrateSpec(copies=1)))
    await cluster.settle()
    await cluster.client.patch(crate, {"spec": {"copies": 2}})
    await cluster.settle()
    await cluster.client.delete(crate)


async def creation(cluster: Cluster) -> None:
    """Create a crate."""
    await cluster.client.create(Crate(meta("a")))
    await cluster.eventually(lambda: cluster.list(Crate)[0].status.copies > 0)


async def bare_creation(cluster: Cluster) -> None:
    """Create a crate without waiting."""
    await cluster.client.create(Crate(meta("a")))


def test_a_level_based_operator_survives_every_single_fault() -> None:
    """The promise of the framework, tested at every step. Avoiding false alarms is as important as finding bugs."""
    report = simulate(careful, rollout, faults=["all", "stale-restart"])
    report.raise_if_failed()
    unreached = {name for name, kind in KINDS.items() if kind.place in {"read", "call"}}
    unreached.add("crash-at-await")  # the operator waits for its writes only, where other crashes are
    assert {fault.kind for plan in report.tried for fault in plan.faults} == set(KINDS) - unreached
    assert report.missed == []
    assert "plans passed" in report.summary()


def test_faults_that_no_conformant_server_causes_are_tried_only_on_request() -> None:
    """An impossible fault would be a false alarm; the report lists what it left out, and why."""
    report = simulate(careful, bare_creation, stop_after=0)
    assert "skipped stale-restart: informers start with a consistent list" in report.table()
    assert "stale-restart" in json.loads(report.json())["skipped"]


def test_a_forgetful_operator_is_found_and_explained() -> None:
    """Which write was forgotten, what it caused, and how the end states differ."""
    report = simulate(forgetful, creation, faults="F1")
    assert [str(failure.plan) for failure in report.failures] == ["crash-before@write:2", "crash-after@write:1"]
    with pytest.raises(AssertionError) as failed:
        report.raise_if_failed()
    text = str(failed.value)
    assert "2 of 4 plans failed" in text
    assert "write 1 of 2, POST /api/v1/namespaces/default/configmaps: the operator crashes after the write" in text
    assert "writes that only happen with the fault: POST /api/v1/namespaces/default/configmaps" in text
    assert "O1: the cluster ends differently" in text
    assert '+    "name": "a-*"' in text
    assert "the last reconciles, from the history of the operator:" in text
    assert "because" in text.partition("the last reconciles")[2]
    told = json.loads(report.json())
    assert [one["plan"] for one in told["failures"]] == [str(failure.plan) for failure in report.failures]
    assert "crash-before         F1" in report.table()


def test_a_plan_runs_again_from_its_text() -> None:
    """The name of a plan in a report is enough to reproduce it."""
    assert simulate(forgetful, creation, plans=["crash-after@write:1"]).failures
    assert not simulate(careful, creation, plans=["crash-after@write:1"]).failures


def test_a_pair_that_fails_is_shrunk_to_the_fault_that_matters() -> None:
    """Of two faults usually one is to blame."""
    report = simulate(forgetful, creation, plans=["clock-ahead@write:2 + crash-after@write:1"])
    assert [failure.plan for failure in report.failures] == [parse_plan("crash-after@write:1")]


def test_generated_values_are_not_compared() -> None:
    """A password differs in every run; a fault that loses the Secret is still found."""
    simulate(guessing, bare_creation, faults=["F1", "F4"]).raise_if_failed()


def test_each_run_is_repeatable() -> None:
    """The same seed gives the same trace, with any fault, also for an operator whose modules are imported again."""
    for operator in (careful, module_operator):
        report = simulate(operator, bare_creation, faults=["F1", "F9", "F11", "watch-reset"], twice=True)
        report.raise_if_failed()
        assert len(report.tried) > 10
        is_replicated = any(plan.replicas > 1 for plan in report.tried)
        assert is_replicated == (operator is careful)
        assert ("skipped leader-cut-off" in report.table()) == (operator is module_operator)


def test_no_deposed_leader_writes_in_any_order_of_arrival() -> None:
    """Two replicas, one of which loses its network or dies at a write, with requests that arrive in another order."""
    plans = [
        f"order@seed:{seed} + {kind}@write:{write}"
        for kind in ("leader-cut-off", "leader-crash")
        for seed in (1, 2, 3)
        for write in (1, 2)
    ]
    report = simulate(careful, bare_creation, plans=plans)
    report.raise_if_failed()
    assert len(report.tried) == len(plans)


def test_a_write_without_the_lease_is_noticed() -> None:
    """The oracle itself must be able to fail."""
    world = World(careful())
    network = Network(world.cluster.server, world.clock, Plan())

    async def write() -> None:
        holders = iter(["", "replica-2"])
        connection = Connection(network, 1, InstanceClock(world.clock), lambda: next(holders))
        transport = InMemoryTransport(connection, clock=world.clock)
        for name in ("a", "b"):
            await transport.request(Request("DELETE", f"/api/v1/namespaces/default/configmaps/{name}"))

    world.run(write, seed=1)
    assert network.deposed_writes == [
        "write 2, DELETE /api/v1/namespaces/default/configmaps/b, although replica-2 holds the lease"
    ]


def test_two_replicas_that_reconcile_an_object_at_the_same_time_are_found() -> None:
    """A reconciler that holds on after its leadership is lost: its successor works beside it."""

    def stubborn() -> Operator:
        operator = Operator("stubborn")

        @operator.reconciler(Crate, owns=[ConfigMap])
        async def reconcile(crate: Crate, ctx: Context[Crate]) -> None:
            try:
                await asyncio.sleep(8)  # noqa: TID251 - an operator may do that
            except asyncio.CancelledError:
                await asyncio.sleep(60)  # noqa: TID251 - same
                raise
            await ctx.apply(ConfigMap(meta(crate.name)))

        return operator

    report = simulate(stubborn, bare_creation, plans=["leader-cut-off@write:1"])
    [failure] = report.failures
    found = [one.text for one in failure.findings if one.oracle == "O6"]
    assert found
    assert all(text.startswith("replica-1 and replica-2 reconcile Crate default/a at the same") for text in found)


def test_an_operator_that_depends_on_more_than_its_seed_is_rejected() -> None:
    """Memory outside of its instances makes one run depend on another."""
    runs: list[int] = []

    def counting() -> Operator:
        operator = Operator("counting")
        runs.append(1)

        @operator.reconciler(Crate, owns=[ConfigMap])
        async def reconcile(crate: Crate, ctx: Context[Crate]) -> None:
            await ctx.apply(ConfigMap(meta(f"{crate.name}-{len(runs)}")))

        return operator

    with pytest.raises(NotDeterministic, match="same seed differ: step"):
        simulate(counting, bare_creation)


def test_a_plain_function_is_rejected_because_it_needs_a_thread() -> None:
    """The message says what to do."""

    def plain() -> Operator:
        operator = Operator("plain")

        @operator.reconciler(Crate)
        def reconcile(crate: Crate, _: Context[Crate]) -> None:
            crate.status.copies = 1

        return operator

    with pytest.raises(NotDeterministic, match="async def"):
        simulate(plain, bare_creation)


def test_an_invariant_is_checked_after_every_write() -> None:
    """A state that lasts for one write is noticed, although the end state does not show it."""

    @always
    def never_more_than_one(cluster: Cluster) -> None:
        assert len(cluster.list(ConfigMap, namespace="default", selector="app=crate")) <= 1, "two at once"

    def replacing() -> Operator:
        operator = Operator("replacing")

        @operator.reconciler(Crate, owns=[ConfigMap])
        async def reconcile(crate: Crate, ctx: Context[Crate]) -> None:
            name = f"{crate.name}-{crate.spec.copies}"
            await ctx.apply(ConfigMap(meta(name, labels={"app": "crate"})))
            for other in ctx.owned(ConfigMap):
                if other.name != name:
                    await ctx.delete(other)

        return operator

    with pytest.raises(AssertionError, match=r"never_more_than_one does not hold .* two at once"):
        simulate(replacing, rollout, invariants=[never_more_than_one])


def test_a_scenario_that_fails_without_a_fault_is_an_error() -> None:
    """Every plan would fail, for a reason that has nothing to do with it."""

    async def wrong(cluster: Cluster) -> None:
        await creation(cluster)
        raise ValueError("the scenario is wrong")

    with pytest.raises(AssertionError, match="fails without any fault"):
        simulate(careful, wrong)


def test_an_operator_that_writes_at_rest_is_found_without_a_fault() -> None:
    """A hot loop costs an API server more than any fault."""

    def restless() -> Operator:
        operator = Operator("restless")

        @operator.reconciler(Crate, resync=30)
        async def reconcile(crate: Crate, _: Context[Crate]) -> None:
            crate.status.copies += 1

        return operator

    with pytest.raises(AssertionError, match=r"O4: PATCH .*/status is written although everything is at rest"):
        simulate(restless, bare_creation)


def test_an_operator_that_never_rests_is_named_by_the_line_that_waits() -> None:
    """A reconcile that does not end looks like a slow one; the author needs the place."""

    def endless() -> Operator:
        operator = Operator("endless")

        @operator.reconciler(Crate)
        async def reconcile(_: Crate, __: Context[Crate]) -> None:
            await asyncio.Event().wait()

        return operator

    with pytest.raises(AssertionError, match=r"not idle within 900 s: its code waits at reconcile \(test_simulate.py:"):
        simulate(endless, bare_creation)


def test_an_operator_that_writes_without_end_is_stopped() -> None:
    """Endless writes must end the run."""

    def stormy() -> Operator:
        operator = Operator("stormy")

        @operator.reconciler(Crate, owns=[ConfigMap])
        async def reconcile(crate: Crate, ctx: Context[Crate]) -> None:
            old = ctx.owned(ConfigMap)
            await ctx.create(ConfigMap(meta(generate_name=f"{crate.name}-")))
            for one in old:
                await ctx.delete(one)

        return operator

    with pytest.raises(AssertionError, match="O4: the operator writes without end"):
        simulate(stormy, bare_creation)


def test_progress_is_reported_and_an_interrupt_keeps_the_results() -> None:
    """Ctrl-C after a minute must not lose the minute."""

    def interrupt(report: Report, plans: int) -> None:
        assert plans == 4
        if len(report.tried) == 2:
            raise KeyboardInterrupt

    progress: Progress = interrupt
    report = simulate(careful, creation, faults="F1", on_progress=progress)
    assert (len(report.tried), report.left) == (2, 2)
    assert "2 not run" in report.summary()
    with pytest.raises(KeyboardInterrupt):
        report.raise_if_failed()  # what was not tried has not passed


def test_several_faults_at_once_are_tried_within_a_budget() -> None:
    """Pairs and random walks are endless; time is not."""
    report = simulate(forgetful, creation, faults=["F1", "F10"], with_pairs=5, with_walks=5)
    assert any(len(plan.faults) > 2 for plan in report.tried)
    assert {len(failure.plan.faults) for failure in report.failures} == {1}, "shrunk to the fault that matters"
    cut = simulate(forgetful, creation, faults=["F1", "F10"], with_walks=1_000, budget=0.0)
    assert len(cut.tried) == 1
    assert cut.left > 100


def test_ctrl_c_lets_the_plan_at_work_end() -> None:
    """An aborted run leaves coroutines behind, whose tracebacks would hide the results."""
    runs = []

    async def interrupted(cluster: Cluster) -> None:
        await creation(cluster)
        runs.append(1)
        if len(runs) == 5:
            signal.raise_signal(signal.SIGINT)
        await cluster.settle()

    report = simulate(careful, interrupted, faults="F1")
    gc.collect()  # a coroutine that was left behind complains when it is destroyed, and pytest takes that for an error
    assert (len(report.tried), report.is_interrupted) == (2, True)
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_a_second_ctrl_c_does_not_wait_for_a_plan_that_hangs() -> None:
    """A reconciler may never return; what it has begun is cancelled, so that nothing complains when it is destroyed."""
    runs = []

    async def hanging(cluster: Cluster) -> None:
        await creation(cluster)
        runs.append(1)
        if len(runs) == 5:
            signal.raise_signal(signal.SIGINT)
            signal.raise_signal(signal.SIGINT)

    report = simulate(careful, hanging, faults="F1")
    gc.collect()
    assert (len(report.tried), report.is_interrupted) == (1, True)


def test_worker_processes_find_the_same() -> None:
    """A plan fails in whichever process it runs; the explanation needs none of the worker's objects."""
    alone = simulate(forgetful, creation, faults=["F1", "F4"])
    shared = simulate(forgetful, creation, faults=["F1", "F4"], jobs=2)
    assert shared.tried == alone.tried
    assert [failure.plan for failure in shared.failures] == [failure.plan for failure in alone.failures]
    assert shared.text().partition("\n")[2] == alone.text().partition("\n")[2]


def test_a_worker_process_that_crashes_does_not_pass() -> None:
    """Its plans are run in the parent, where the reason is shown."""
    parent = os.getpid()

    async def deadly(cluster: Cluster) -> None:
        await creation(cluster)
        if os.getpid() != parent:
            os._exit(1)

    report = simulate(forgetful, deadly, faults="crash-after", jobs=2, stop_after=1)
    assert [str(failure.plan) for failure in report.failures] == ["crash-after@write:1"]


def test_ctrl_c_before_the_first_plan_ends_the_simulation() -> None:
    """There is nothing to report yet."""

    async def interrupted(cluster: Cluster) -> None:
        await creation(cluster)
        signal.raise_signal(signal.SIGINT)

    with pytest.raises(KeyboardInterrupt):
        simulate(careful, interrupted)
    gc.collect()


def test_a_plan_that_was_not_reached_has_not_passed() -> None:
    """A step that the run does not have was not tried; a test of it alone would pass whatever the operator does."""
    report = simulate(careful, creation, plans=["crash-after@write:99", "crash-after@write:1"])
    assert report.summary().startswith("creation: 1 plan passed, 1 not reached in ")
    assert "not reached: crash-after@write:99" in report.table()
    assert json.loads(report.json())["notReached"] == ["crash-after@write:99"]
    report.raise_if_failed()
    alone = simulate(careful, creation, plans=["crash-after@write:99"])
    with pytest.raises(AssertionError, match=r"crash-after@write:99 .* 2 writes"):
        alone.raise_if_failed()


def test_a_pair_of_which_only_one_fault_strikes_was_not_reached() -> None:
    """It has tried no more than the single fault does."""
    report = simulate(careful, creation, plans=["clock-ahead@write:1 + crash-after@write:99"])
    assert [str(plan) for plan in report.missed] == ["clock-ahead@write:1 + crash-after@write:99"]


def test_it_cannot_run_inside_another_event_loop() -> None:
    """An `async def` test gets a sentence instead of an asyncio error."""

    async def test() -> None:
        simulate(careful, creation)

    with pytest.raises(ConfigError, match="plain `def` test"):
        asyncio.run(test())
