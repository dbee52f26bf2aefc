"""Runs that fail, faults at every write, and loops."""

import asyncio
import logging
from itertools import pairwise

import pytest

from steersman.controller.context import Context
from steersman.errors import Permanent, Retry
from steersman.kinds.core_v1 import ConfigMap
from steersman.kinds.events_v1 import Event
from steersman.manager.operator import Operator
from steersman.objects.meta import meta
from steersman.objects.resource import Unstructured
from steersman.testing.cluster import Cluster
from steersman.testing.fake_clock import FakeClock
from steersman.testing.faults import Before, Lose, Refuse, Reset
from tests.controller.stage import OPTIONS, Ctx, clock_of, counting, create, only, resize, running
from tests.support.widgets import DEFINITION, Widget, WidgetSpec

# Failures.


async def test_a_failure_is_retried_with_growing_delays() -> None:
    """Five milliseconds, doubled each time; success resets the delay."""
    operator = Operator("failing")
    times: list[float] = []

    @operator.reconciler(Widget)
    async def reconcile(_: Widget, __: Ctx) -> None:
        times.append(cluster.clock.monotonic())
        if len(times) < 5:
            raise RuntimeError("not yet")

    async with running(operator, expect_failures=RuntimeError) as cluster:
        await create(cluster)
        await clock_of(cluster).advance(1.0)
        waits = [round(later - before, 3) for before, later in pairwise(times)]
        assert waits == [0.005, 0.01, 0.02, 0.04]


@pytest.mark.parametrize("error", [RuntimeError("bug"), SystemExit(3), RecursionError(), asyncio.CancelledError()])
async def test_no_exception_of_an_author_stops_other_objects(error: BaseException) -> None:
    """One broken object must not affect the others."""
    operator = Operator("raising")
    runs: list[str] = []

    @operator.reconciler(Widget)
    async def reconcile(widget: Widget, _: Ctx) -> None:
        runs.append(widget.name)
        if widget.name == "bad":
            raise error

    async with running(operator, expect_failures=(RuntimeError, SystemExit)) as cluster:
        await create(cluster, "bad")
        await create(cluster, "good")
        await clock_of(cluster).advance(1.0)
        assert runs.count("good") == 1
        assert runs.count("bad") > 3


async def test_retry_waits_as_long_as_it_says_and_keeps_the_status() -> None:
    """The author asked for it; it is not a failure."""
    operator = Operator("retrying")
    times: list[float] = []

    @operator.reconciler(Widget)
    async def reconcile(widget: Widget, _: Ctx) -> None:
        times.append(cluster.clock.monotonic())
        widget.status.size = len(times)
        if len(times) == 1:
            raise Retry("the volume is not there yet", after=20.0)

    async with running(operator) as cluster:
        await create(cluster)
        assert only(cluster).status.size == 1
        await clock_of(cluster).advance(25.0)
        assert times[1] - times[0] == pytest.approx(20.0)


async def test_permanent_is_reported_and_not_retried_until_the_generation_changes() -> None:
    """A condition, a Warning event, and no further runs."""
    operator = Operator("permanent")
    runs: list[int] = []

    @operator.reconciler(Widget, resync=10.0)
    async def reconcile(widget: Widget, _: Ctx) -> None:
        runs.append(widget.spec.size)
        if widget.spec.size > 10:
            raise Permanent("TooBig", "at most 10")

    async with running(operator) as cluster:
        await create(cluster, size=11)
        ready = only(cluster).status.condition("Ready")
        assert ready is not None
        assert (ready.status, ready.reason, ready.message) == ("False", "TooBig", "at most 10")
        assert [(event.type, event.reason) for event in cluster.list(Event)] == [("Warning", "TooBig")]
        await clock_of(cluster).advance(100.0)
        assert runs == [11]
        await resize(cluster, 5)
        assert runs[:2] == [11, 5]
        assert only(cluster).status.condition("Ready") is None


async def test_a_conflict_is_retried_at_once_with_the_fresh_object() -> None:
    """Another client wrote first; that is not a failure."""
    operator = Operator("conflicting")
    operator.permit(Widget, "patch")
    results: list[str] = []

    @operator.reconciler(Widget)
    async def reconcile(widget: Widget, ctx: Ctx) -> None:
        widget.metadata.labels["seen"] = "yes"
        await ctx.update(widget)
        results.append("ok")

    async with running(operator) as cluster:
        cluster.faults.inject(Refuse(409, "Conflict"), method="PATCH", path="/widgets/a", times=3)
        await create(cluster)
        await clock_of(cluster).advance(1.0)
        assert results[:1] == ["ok"]
        assert cluster.faults.count("PATCH", "/widgets/a") >= 4


async def test_a_reconcile_that_takes_too_long_is_cancelled_and_retried() -> None:
    """One hanging call must not block a worker forever."""
    operator = Operator("hanging")
    runs: list[str] = []

    @operator.reconciler(Widget, timeout=5.0)
    async def reconcile(widget: Widget, _: Ctx) -> None:
        runs.append(widget.name)
        if len(runs) == 1:
            await cluster.clock.sleep(1000.0)

    async with running(operator, expect_failures=TimeoutError) as cluster:
        await cluster.client.create(Widget(meta("a"), WidgetSpec()))
        await clock_of(cluster).advance(5.1)
        assert runs == ["a", "a"]


async def test_on_error_sees_failures_and_may_replace_them() -> None:
    """This is the one place to turn a library's errors into Retry or Permanent."""
    operator = Operator("translating")
    seen: list[str] = []

    @operator.reconciler(Widget)
    async def reconcile(_: Widget, __: Ctx) -> None:
        raise KeyError("disk")

    @reconcile.on_error
    async def translate(_: Widget, __: Ctx, error: BaseException) -> None:
        seen.append(type(error).__name__)
        raise Permanent("NoDisk", "there is no such disk") from error

    async with running(operator) as cluster:
        await create(cluster)
        assert seen == ["KeyError"]
        ready = only(cluster).status.condition("Ready")
        assert ready is not None
        assert ready.reason == "NoDisk"


async def test_a_malformed_object_is_reported_and_does_not_stop_the_others() -> None:
    """An object that cannot be decoded gets an event and a condition; all others are reconciled."""
    operator, runs, _ = counting()
    async with running(operator) as cluster:
        bad = {"apiVersion": "runtime.example.com/v1", "kind": "Widget", "spec": {"size": "large"}}
        await cluster.client.create(Unstructured({**bad, "metadata": {"name": "bad", "namespace": "default"}}))
        await cluster.client.create(Widget(meta("good"), WidgetSpec(size=1)))
        await cluster.settle()
        assert [widget.name for widget in runs] == ["good"]
        assert [(event.type, event.reason) for event in cluster.list(Event)] == [("Warning", "Malformed")]
        raw = await cluster.client.get(DEFINITION.gvk._replace(group="runtime.example.com", kind="Widget"), "bad")
        assert raw.content["status"]["conditions"][0]["reason"] == "Malformed"
        await cluster.client.patch(raw, {"spec": {"size": 3}})
        await cluster.settle()
        assert [widget.name for widget in runs] == ["good", "bad"]


async def test_plain_functions_run_in_a_thread_and_can_use_the_context() -> None:
    """Blocking libraries are supported."""
    operator = Operator("plain")

    @operator.reconciler(Widget, owns=[ConfigMap])
    def reconcile(widget: Widget, ctx: Ctx) -> None:
        ctx.wait(ctx.apply(ConfigMap(meta(widget.name))))
        ctx.event("Applied", "the child is there")
        widget.status.size = widget.spec.size

    async with Cluster.start() as cluster, cluster.running(operator, options=OPTIONS):
        await cluster.client.create(Widget(meta("a"), WidgetSpec(size=4)))
        await cluster.eventually(lambda: only(cluster).status.size == 4)
        assert len(cluster.list(ConfigMap)) == 1
        await cluster.eventually(lambda: len(cluster.list(Event)) == 1)


# Faults at every write.


@pytest.mark.parametrize(
    "fault", [Reset(), Lose(), Refuse(500), Refuse(429, "TooManyRequests"), Refuse(409, "Conflict")], ids=str
)
async def test_a_fault_at_any_request_does_not_change_the_end_state(fault: Reset | Lose | Refuse) -> None:
    """Failed before, committed but unanswered, or rejected: the end state is the same, with no child too many."""
    for position in range(5):
        operator = Operator("faulty")

        @operator.reconciler(Widget, owns=[ConfigMap])
        async def reconcile(widget: Widget, ctx: Ctx) -> None:
            for number in range(widget.spec.size):
                await ctx.apply(ConfigMap(meta(f"{widget.name}-{number}"), data={"n": str(number)}))
            await ctx.prune(ConfigMap)
            widget.status.size = widget.spec.size

        @reconcile.cleanup
        async def cleanup(_: Widget, __: Ctx) -> None:
            pass

        async with running(operator) as cluster:
            await cluster.client.create(Widget(meta("a"), WidgetSpec(size=3)))
            skipped = cluster.faults.inject(Before(lambda: None), method="PATCH", times=position)
            struck = cluster.faults.inject(fault, method="PATCH")
            await clock_of(cluster).advance(60.0)
            await cluster.settle()
            assert (skipped.struck, struck.struck) == (position, 1)
            assert only(cluster).status.size == 3
            assert [child.data for child in cluster.list(ConfigMap)] == [{"n": "0"}, {"n": "1"}, {"n": "2"}]


# Loops.


async def test_a_key_that_triggers_itself_is_named_and_slowed_down(caplog: pytest.LogCaptureFixture) -> None:
    """A field with a new value in every run would otherwise load the server forever."""
    operator = Operator("flapping")
    runs = 0

    @operator.reconciler(Widget, owns=[ConfigMap])
    async def reconcile(widget: Widget, ctx: Ctx) -> None:
        nonlocal runs
        runs += 1
        await ctx.apply(ConfigMap(meta(widget.name), data={"run": str(runs)}))

    with caplog.at_level(logging.WARNING):
        async with running(operator) as cluster:
            await cluster.client.create(Widget(meta("a"), WidgetSpec()))
            await clock_of(cluster).advance(60.0)
            assert runs < 30
            warning = next(line for line in caplog.records if "triggers itself" in line.message)
            assert warning.__dict__["fields"] == ["/data/run"]
            assert warning.__dict__["target"] == "ConfigMap default/a"


async def test_a_fight_over_an_object_is_slowed_down_too() -> None:
    """If another client always deletes what this operator creates, both would load the server."""
    maker, breaker = Operator("maker"), Operator("breaker")
    made = 0

    @maker.reconciler(Widget, owns=[ConfigMap])
    async def make(widget: Widget, ctx: Ctx) -> None:
        nonlocal made
        made += 1
        await ctx.apply(ConfigMap(meta(widget.name)))

    @breaker.reconciler(ConfigMap)
    async def destroy(child: ConfigMap, ctx: Context[ConfigMap]) -> None:
        await ctx.delete(child)

    async with Cluster.start(clock=FakeClock(), seed=1) as cluster, cluster.running(maker, breaker, options=OPTIONS):
        await cluster.client.create(Widget(meta("a"), WidgetSpec()))
        await clock_of(cluster).advance(60.0)
        assert 10 <= made < 30
