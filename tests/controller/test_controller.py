"""Controllers on an embedded server, under a clock that the test moves: what authors are promised."""

import asyncio
import logging
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from itertools import pairwise
from typing import Any

import pytest

from steersman.controller.causes import What
from steersman.controller.context import Context
from steersman.controller.declaration import Reconciler
from steersman.controller.triggers import Watch
from steersman.errors import DeclarationError, Permanent, Retry
from steersman.kinds.core_v1 import ConfigMap, Secret
from steersman.kinds.events_v1 import Event
from steersman.manager.manager import ManagerOptions
from steersman.manager.operator import Operator
from steersman.objects.meta import OwnerReference, meta
from steersman.objects.resource import Unstructured
from steersman.testing.cluster import Cluster
from steersman.testing.fake_clock import FakeClock
from steersman.testing.faults import Before, Lose, Refuse, Reset
from tests.controller.widgets import DEFINITION, Widget, WidgetSpec

Ctx = Context[Widget]
OPTIONS = ManagerOptions(definitions=[DEFINITION])


@asynccontextmanager
async def running(operator: Operator) -> AsyncIterator[Cluster]:
    """Run an operator on a fresh cluster whose time the test moves."""
    async with Cluster.start(clock=FakeClock(), seed=1) as cluster, cluster.running(operator, options=OPTIONS):
        yield cluster


def clock_of(cluster: Cluster) -> FakeClock:
    """Give the clock that the test moves."""
    assert isinstance(cluster.clock, FakeClock)
    return cluster.clock


async def create(cluster: Cluster, name: str = "a", size: int = 1) -> Widget:
    """Create a widget and let everything come to rest."""
    widget = await cluster.client.create(Widget(meta(name), WidgetSpec(size=size)))
    await cluster.settle()
    return widget


async def resize(cluster: Cluster, size: int, name: str = "a") -> None:
    """Change a widget's spec and let everything come to rest."""
    await cluster.client.patch(await cluster.client.get(Widget, name), {"spec": {"size": size}})
    await cluster.settle()


def only(cluster: Cluster) -> Widget:
    """Give the one widget there is."""
    (widget,) = cluster.list(Widget)
    return widget


def counting() -> tuple[Operator, list[Widget], Reconciler[Widget]]:
    """Give an operator that only writes down what it is asked to reconcile."""
    operator = Operator("counting")
    runs: list[Widget] = []

    @operator.reconciler(Widget)
    async def reconcile(widget: Widget, _: Ctx) -> None:
        runs.append(widget)

    return operator, runs, reconcile


# Status.


async def test_the_status_is_written_once_after_the_function_with_the_generation_that_was_read() -> None:
    """Authors set fields; the framework writes."""
    operator = Operator("status")

    @operator.reconciler(Widget)
    async def reconcile(widget: Widget, ctx: Ctx) -> None:
        widget.status.size = widget.spec.size
        ctx.condition("Ready", True, "Done")  # noqa: FBT003 - reads as the condition it is

    async with running(operator) as cluster:
        await create(cluster, size=3)
        status = only(cluster).status
        assert (status.size, status.observed_generation) == (3, 1)
        ready = status.condition("Ready")
        assert ready is not None
        assert (ready.status, ready.observed_generation) == ("True", 1)
        assert cluster.faults.count("PATCH", "/status") == 1
        await resize(cluster, 4)
        assert (only(cluster).status.size, only(cluster).status.observed_generation) == (4, 2)
        assert only(cluster).status.conditions[0].last_transition_time == ready.last_transition_time


async def test_nothing_is_written_when_nothing_changed() -> None:
    """A steady state costs no writes and no loops: own status writes trigger nothing."""
    operator = Operator("steady")
    runs: list[str] = []

    @operator.reconciler(Widget, resync=60.0)
    async def reconcile(widget: Widget, _: Ctx) -> None:
        runs.append(widget.name)
        widget.status.size = widget.spec.size

    async with running(operator) as cluster:
        await create(cluster)
        assert runs == ["a"]
        cluster.faults.clear()
        await clock_of(cluster).advance(300.0)
        assert len(runs) == 6
        assert cluster.faults.writes() == []


async def test_a_field_that_the_server_does_not_have_is_told_even_where_it_is_a_default() -> None:
    """A count of 0 is not the same as no count, for `kubectl get` and for everyone who reads without our class."""
    operator = Operator("zero")

    @operator.reconciler(Widget)
    async def reconcile(widget: Widget, _: Ctx) -> None:
        widget.status.size = 0

    async with running(operator) as cluster:
        await create(cluster, size=3)
        raw = await cluster.client.get(DEFINITION.gvk._replace(group="runtime.example.com", kind="Widget"), "a")
        assert raw.content["status"]["size"] == 0
        cluster.faults.clear()
        await clock_of(cluster).advance(300.0)
        assert cluster.faults.writes() == []


async def test_fields_of_the_status_that_the_class_does_not_know_survive() -> None:
    """A newer version of the operator may have written them."""
    operator = Operator("survive")

    @operator.reconciler(Widget)
    async def reconcile(widget: Widget, _: Ctx) -> None:
        widget.status.size = widget.spec.size

    async with running(operator) as cluster:
        widget = await create(cluster)
        await cluster.client.status.patch(widget, {"status": {"future": {"x": 1}}})
        await resize(cluster, 9)
        raw = await cluster.client.get(DEFINITION.gvk._replace(group="runtime.example.com", kind="Widget"), "a")
        assert raw.content["status"]["future"] == {"x": 1}
        assert raw.content["status"]["size"] == 9


async def test_the_authors_object_is_a_copy_of_its_own() -> None:
    """Whatever is done to it, the cache and the next run know nothing of it."""
    operator = Operator("copy")
    sizes: list[int] = []

    @operator.reconciler(Widget)
    async def reconcile(widget: Widget, _: Ctx) -> None:
        sizes.append(widget.spec.size)
        widget.spec.size = 99

    async with running(operator) as cluster:
        await create(cluster, size=1)
        await cluster.client.patch(only(cluster), {"metadata": {"labels": {"x": "y"}}})
        await cluster.settle()
        assert sizes == [1, 1]
        assert only(cluster).spec.size == 1


# Triggers.


async def test_a_change_during_a_run_leads_to_another_run_and_never_at_the_same_time() -> None:
    """The last state is always seen, by one at a time."""
    operator = Operator("serial")
    gate = asyncio.Event()
    seen: list[int] = []
    running_now = 0

    @operator.reconciler(Widget, workers=4)
    async def reconcile(widget: Widget, _: Ctx) -> None:
        nonlocal running_now
        running_now += 1
        assert running_now == 1
        await gate.wait()
        seen.append(widget.spec.size)
        running_now -= 1

    async with running(operator) as cluster:
        widget = await cluster.client.create(Widget(meta("a"), WidgetSpec(size=1)))
        await clock_of(cluster).settle()
        for size in (2, 3, 4):
            await cluster.client.patch(widget, {"spec": {"size": size}})
        gate.set()
        await cluster.settle()
        assert seen == [1, 4]


async def test_a_run_knows_its_causes() -> None:
    """`ctx.why`: what happened to which object."""
    operator = Operator("why")
    whys: list[list[str]] = []

    @operator.reconciler(Widget, owns=[ConfigMap])
    async def reconcile(widget: Widget, ctx: Ctx) -> None:
        whys.append([str(cause) for cause in ctx.why])
        await ctx.apply(ConfigMap(meta(f"{widget.name}-child"), data={"size": str(widget.spec.size)}))
        if widget.spec.size == 7:
            ctx.requeue_after(30.0)

    async with running(operator) as cluster:
        await create(cluster)
        assert whys == [["Widget default/a created"], ["ConfigMap default/a-child created"]]
        await resize(cluster, 7)
        assert whys[2] == ["Widget default/a changed (spec)"]
        await clock_of(cluster).advance(30.0)
        assert whys[-1] == ["timer"]


async def test_every_log_line_of_a_run_says_which_object_it_is_about(caplog: pytest.LogCaptureFixture) -> None:
    """Lines of the author and of the framework carry the same fields; the framework's also says why it ran."""
    operator = Operator("logging")

    @operator.reconciler(Widget)
    async def reconcile(_: Widget, ctx: Ctx) -> None:
        ctx.log.info("looking", extra={"depth": 3})

    with caplog.at_level(logging.DEBUG, logger="steersman.controller"):
        async with running(operator) as cluster:
            await create(cluster)
    looking = next(line.__dict__ for line in caplog.records if line.message == "looking")
    assert (looking["controller"], looking["kind"], looking["key"]) == ("widget", "Widget", "default/a")
    assert (looking["reconcile"], looking["depth"]) == (1, 3)
    reconciled = next(line.__dict__ for line in caplog.records if line.message == "reconciled")
    assert (reconciled["result"], reconciled["why"]) == ("success", ["Widget default/a created"])


async def test_objects_that_exist_at_the_start_are_reconciled_and_marked_so() -> None:
    """An operator that was away catches up."""
    operator = Operator("existing")
    whys: list[What] = []

    @operator.reconciler(Widget)
    async def reconcile(_: Widget, ctx: Ctx) -> None:
        whys.extend(cause.what for cause in ctx.why)

    async with Cluster.start(clock=FakeClock()) as cluster:
        first = Operator("install")
        async with cluster.running(first, options=OPTIONS):
            await cluster.client.create(Widget(meta("a"), WidgetSpec()))
        async with cluster.running(operator, options=OPTIONS):
            await cluster.settle()
            assert whys == [What.EXISTS]


async def test_watched_kinds_ask_for_what_their_function_gives() -> None:
    """A Secret that several widgets use reconciles them all."""
    operator = Operator("mapped")
    runs: list[str] = []

    def users(secret: Secret) -> list[str]:
        return [f"{secret.namespace}/{name}" for name in secret.labels.get("used-by", "").split(".") if name]

    @operator.reconciler(Widget, watches=[Watch(Secret, to=users)])
    async def reconcile(widget: Widget, _: Ctx) -> None:
        runs.append(widget.name)

    async with running(operator) as cluster:
        for name in "abc":
            await create(cluster, name)
        runs.clear()
        await cluster.client.create(Secret(meta("s", labels={"used-by": "a.c"})))
        await cluster.settle()
        assert sorted(runs) == ["a", "c"]


async def test_a_mapping_that_raises_stops_nothing() -> None:
    """A bug in one mapping costs one trigger."""
    operator = Operator("bad-mapping")
    runs: list[str] = []

    def broken(secret: Secret) -> list[str]:
        raise KeyError(secret.name)

    @operator.reconciler(Widget, watches=[Watch(Secret, to=broken)])
    async def reconcile(widget: Widget, _: Ctx) -> None:
        runs.append(widget.name)

    async with running(operator) as cluster:
        await cluster.client.create(Secret(meta("s")))
        await create(cluster)
        assert runs == ["a"]


# Children.


async def test_children_are_created_found_by_uid_and_counted_truly() -> None:
    """Read your writes: the run after creating three children sees three, so it never creates a fourth."""
    operator = Operator("children")

    @operator.reconciler(Widget, owns=[ConfigMap])
    async def reconcile(widget: Widget, ctx: Ctx) -> None:
        children = sorted(ctx.owned(ConfigMap), key=lambda child: child.name)
        for _ in range(widget.spec.size - len(children)):
            await ctx.create(ConfigMap(meta(generate_name=f"{widget.name}-")))
        for child in children[widget.spec.size :]:
            await ctx.delete(child)
        widget.status.names = [child.name for child in children[: widget.spec.size]]

    async with running(operator) as cluster:
        await cluster.client.create(ConfigMap(meta("foreign", labels={"app": "a"})))
        await create(cluster, size=5)
        assert len(cluster.list(ConfigMap)) == 6
        assert len(only(cluster).status.names) == 5
        await resize(cluster, 2)
        assert len(cluster.list(ConfigMap)) == 3
        assert cluster.faults.count("POST", "/configmaps") == 6
        assert cluster.faults.count("DELETE", "/configmaps") == 3
        await cluster.client.delete(next(child for child in cluster.list(ConfigMap) if child.name != "foreign"))
        await cluster.settle()
        assert len(cluster.list(ConfigMap)) == 3


async def test_a_key_is_held_until_the_cache_has_its_writes() -> None:
    """With a cache that lags behind, a second run never sees a world without its own children."""
    operator = Operator("lagging")
    counts: list[int] = []

    @operator.reconciler(Widget, owns=[ConfigMap])
    async def reconcile(_: Widget, ctx: Ctx) -> None:
        counts.append(len(ctx.owned(ConfigMap)))
        if not ctx.owned(ConfigMap):
            await ctx.create(ConfigMap(meta(generate_name="child-")))

    async with running(operator) as cluster:
        cluster.faults.hold("/configmaps")
        widget = await cluster.client.create(Widget(meta("a"), WidgetSpec(size=1)))
        await clock_of(cluster).settle()
        await cluster.client.patch(widget, {"spec": {"size": 2}})
        await clock_of(cluster).advance(5.0)
        assert counts == [0]
        cluster.faults.release()
        await cluster.settle()
        assert counts == [0, 1]
        assert len(cluster.list(ConfigMap)) == 1


async def test_a_cache_that_never_catches_up_does_not_hold_a_key_for_ever() -> None:
    """After ten seconds a run on an old picture is better than none."""
    operator = Operator("stuck")
    runs: list[int] = []

    @operator.reconciler(Widget, owns=[ConfigMap])
    async def reconcile(widget: Widget, ctx: Ctx) -> None:
        runs.append(widget.spec.size)
        await ctx.apply(ConfigMap(meta("child")))

    async with running(operator) as cluster:
        cluster.faults.hold("/configmaps")
        widget = await cluster.client.create(Widget(meta("a"), WidgetSpec(size=1)))
        await clock_of(cluster).settle()
        await cluster.client.patch(widget, {"spec": {"size": 2}})
        await clock_of(cluster).advance(9.0)
        assert runs == [1]
        await clock_of(cluster).advance(2.0)
        assert runs == [1, 2]


async def test_applied_children_carry_the_owner_and_are_sent_once() -> None:
    """Applying what is there already asks nothing of the server."""
    operator = Operator("applying")

    @operator.reconciler(Widget, owns=[ConfigMap])
    async def reconcile(widget: Widget, ctx: Ctx) -> None:
        await ctx.apply(ConfigMap(meta(widget.name), data={"size": str(widget.spec.size)}))

    async with running(operator) as cluster:
        widget = await create(cluster)
        child = await cluster.client.get(ConfigMap, "a")
        assert child.controller == OwnerReference(
            api_version="runtime.example.com/v1",
            kind="Widget",
            name="a",
            uid=widget.uid,
            controller=True,
            block_owner_deletion=True,
        )
        assert cluster.faults.count("PATCH", "/configmaps/a") == 1
        await cluster.client.patch(child, {"data": {"size": "vandalised"}})
        await cluster.settle()
        assert (await cluster.client.get(ConfigMap, "a")).data == {"size": "1"}


async def test_pruning_deletes_the_children_that_are_no_longer_desired() -> None:
    """What this run did not apply goes; what others made stays."""
    operator = Operator("pruning")

    @operator.reconciler(Widget, owns=[ConfigMap])
    async def reconcile(widget: Widget, ctx: Ctx) -> None:
        for number in range(widget.spec.size):
            await ctx.apply(ConfigMap(meta(f"child-{number}")))
        await ctx.prune(ConfigMap)

    async with running(operator) as cluster:
        await cluster.client.create(ConfigMap(meta("foreign")))
        await create(cluster, size=3)
        await resize(cluster, 1)
        assert [child.name for child in cluster.list(ConfigMap)] == ["child-0", "foreign"]


async def test_a_child_in_another_namespace_cannot_be_owned() -> None:
    """The garbage collector would delete it at once; better to say so."""
    operator = Operator("foreign-namespace")
    messages: list[str] = []

    @operator.reconciler(Widget)
    async def reconcile(_: Widget, ctx: Ctx) -> None:
        try:
            await ctx.create(ConfigMap(meta("child", namespace="elsewhere")))
        except ValueError as error:
            messages.append(str(error))

    async with running(operator) as cluster:
        await create(cluster)
        assert "owned=False" in messages[0]


async def test_reads_come_from_the_cache_where_there_is_one() -> None:
    """A watched kind costs no request; any other is asked of the server."""
    operator = Operator("reading")
    operator.permit(Secret, "get", "list")
    found: list[Any] = []

    @operator.reconciler(Widget, owns=[ConfigMap])
    async def reconcile(_: Widget, ctx: Ctx) -> None:
        found.append(await ctx.get(ConfigMap, "cached"))
        found.append(await ctx.get(Secret, "live"))
        found.append(await ctx.get(Secret, "missing"))
        found.append(len(await ctx.list(ConfigMap)) + len(await ctx.list(Secret)))

    async with running(operator) as cluster:
        await cluster.client.create(ConfigMap(meta("cached")))
        await cluster.client.create(Secret(meta("live")))
        await cluster.settle()
        cluster.faults.clear()
        await create(cluster)
        assert [getattr(one, "name", one) for one in found] == ["cached", "live", None, 2]
        assert cluster.faults.count("GET", "/configmaps/") == 0
        assert cluster.faults.count("GET", "/secrets") == 3


# Failures.


async def test_a_failure_is_tried_again_with_growing_waits() -> None:
    """Five milliseconds, doubled each time; success begins anew."""
    operator = Operator("failing")
    times: list[float] = []

    @operator.reconciler(Widget)
    async def reconcile(_: Widget, __: Ctx) -> None:
        times.append(cluster.clock.monotonic())
        if len(times) < 5:
            raise RuntimeError("not yet")

    async with running(operator) as cluster:
        await create(cluster)
        await clock_of(cluster).advance(1.0)
        waits = [round(later - before, 3) for before, later in pairwise(times)]
        assert waits == [0.005, 0.01, 0.02, 0.04]


@pytest.mark.parametrize("error", [RuntimeError("bug"), SystemExit(3), RecursionError(), asyncio.CancelledError()])
async def test_nothing_an_author_raises_stops_the_others(error: BaseException) -> None:
    """One broken object is one broken object."""
    operator = Operator("raising")
    runs: list[str] = []

    @operator.reconciler(Widget)
    async def reconcile(widget: Widget, _: Ctx) -> None:
        runs.append(widget.name)
        if widget.name == "bad":
            raise error

    async with running(operator) as cluster:
        await create(cluster, "bad")
        await create(cluster, "good")
        await clock_of(cluster).advance(1.0)
        assert runs.count("good") == 1
        assert runs.count("bad") > 3


async def test_retry_waits_as_long_as_it_says_and_keeps_the_status() -> None:
    """A wish of the author, not an accident."""
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


async def test_permanent_is_told_and_not_tried_again_until_the_generation_changes() -> None:
    """A condition, a Warning event, and silence."""
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


async def test_a_conflict_is_tried_again_at_once_with_the_fresh_object() -> None:
    """Somebody else was faster; that is no failure."""
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


async def test_a_reconcile_that_takes_too_long_is_ended_and_tried_again() -> None:
    """One hanging call must not hold a worker for ever."""
    operator = Operator("hanging")
    runs: list[str] = []

    @operator.reconciler(Widget, timeout=5.0)
    async def reconcile(widget: Widget, _: Ctx) -> None:
        runs.append(widget.name)
        if len(runs) == 1:
            await cluster.clock.sleep(1000.0)

    async with running(operator) as cluster:
        await cluster.client.create(Widget(meta("a"), WidgetSpec()))
        await clock_of(cluster).advance(5.1)
        assert runs == ["a", "a"]


async def test_on_error_sees_failures_and_may_replace_them() -> None:
    """One place to turn a library's errors into Retry or Permanent."""
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


async def test_a_malformed_object_is_told_and_stops_nobody() -> None:
    """One object that does not decode gets an event and a condition; all others are reconciled."""
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
    """Libraries that block are welcome."""
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


# Finalizers.


def cleaning(log: list[str], clean: Callable[[], None] = lambda: None) -> Operator:
    """Give an operator with a cleanup, which writes down what happens."""
    operator = Operator("cleaning")

    @operator.reconciler(Widget)
    async def reconcile(widget: Widget, _: Ctx) -> None:
        assert "runtime.example.com/widget" in widget.metadata.finalizers
        log.append("reconcile")

    @reconcile.cleanup
    async def cleanup(_: Widget, __: Ctx) -> None:
        log.append("cleanup")
        clean()

    return operator


async def test_the_finalizer_is_there_before_the_first_run_and_goes_last() -> None:
    """No side effect without the promise to undo it."""
    log: list[str] = []
    async with running(cleaning(log)) as cluster:
        widget = await create(cluster)
        assert only(cluster).metadata.finalizers == ["runtime.example.com/widget"]
        await cluster.client.delete(widget)
        await cluster.settle()
        assert cluster.list(Widget) == []
        assert log == ["reconcile", "cleanup"]


async def test_a_cleanup_that_fails_keeps_the_object() -> None:
    """What could not be undone must not be forgotten."""
    log: list[str] = []

    def fail() -> None:
        if log.count("cleanup") < 3:
            raise RuntimeError("the provider is down")

    async with running(cleaning(log, fail)) as cluster:
        widget = await create(cluster)
        await cluster.client.delete(widget)
        await clock_of(cluster).advance(5.0)
        assert cluster.list(Widget) == []
        assert log.count("cleanup") == 3


async def test_finalizers_of_others_are_never_touched() -> None:
    """Also when they come and go at the same time."""
    log: list[str] = []
    async with running(cleaning(log)) as cluster:
        widget = await create(cluster)
        names = ["other.example.com/keep", "runtime.example.com/widget"]
        await cluster.client.patch(widget, {"metadata": {"finalizers": names}})
        await cluster.settle()
        cluster.faults.inject(Refuse(409, "Conflict"), method="PATCH", path="/widgets/a", times=2)
        await cluster.client.delete(widget)
        await cluster.settle()
        assert only(cluster).metadata.finalizers == ["other.example.com/keep"]
        assert log.count("cleanup") == 1


async def test_an_object_deleted_while_the_operator_was_away_is_cleaned_up() -> None:
    """That is what finalizers are for."""
    log: list[str] = []
    async with Cluster.start(clock=FakeClock()) as cluster:
        async with cluster.running(cleaning(log), options=OPTIONS):
            widget = await create(cluster)
        await cluster.client.delete(widget)
        assert only(cluster).is_deleting
        async with cluster.running(cleaning(log), options=OPTIONS):
            await cluster.settle()
            assert cluster.list(Widget) == []


# Faults at every write.


@pytest.mark.parametrize(
    "fault", [Reset(), Lose(), Refuse(500), Refuse(429, "TooManyRequests"), Refuse(409, "Conflict")], ids=str
)
async def test_a_fault_at_any_request_changes_nothing_in_the_end(fault: Reset | Lose | Refuse) -> None:
    """Broken before, committed but unanswered, refused: the end state is the same, with no child too many."""
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
    """A field that is never twice the same would otherwise hammer the server for ever."""
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
    """What this operator creates, another deletes at once: neither should burn the server."""
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


# Declaring.


def test_wrong_declarations_are_refused_at_once() -> None:
    """A typo fails when the file is loaded, not at night."""
    operator = Operator("wrong")

    @operator.reconciler(Widget)
    async def reconcile(_: Widget, __: Ctx) -> None: ...

    with pytest.raises(DeclarationError, match="two reconcilers"):
        operator.reconciler(Widget)(reconcile.function)
    with pytest.raises(DeclarationError, match="workers"):
        operator.reconciler(Widget, workers=0, name="b")
    with pytest.raises(DeclarationError, match="timeout"):
        operator.reconciler(Widget, timeout=0.0, name="b")
    with pytest.raises(DeclarationError, match="name"):
        Operator("")
