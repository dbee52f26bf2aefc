"""Controllers on an embedded server, with a clock that the test advances: the promises to authors."""

import asyncio
import logging

import pytest

from steersman.controller.triggers import Watch
from steersman.errors import DeclarationError
from steersman.history.records import CauseType
from steersman.kinds.core_v1 import ConfigMap, Secret
from steersman.manager.operator import Operator
from steersman.objects.meta import meta
from steersman.testing.cluster import Cluster
from steersman.testing.fake_clock import FakeClock
from tests.controller.stage import OPTIONS, Ctx, clock_of, create, only, resize, running
from tests.support.widgets import DEFINITION, Widget, WidgetSpec

# Status.


async def test_the_status_is_written_once_with_the_generation_that_was_read() -> None:
    """Authors set fields; the framework writes them after the function."""
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


async def test_nothing_is_written_if_nothing_changed() -> None:
    """A steady state causes no writes and no loops: own status writes trigger nothing."""
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


async def test_a_default_that_the_server_does_not_have_is_written() -> None:
    """A count of 0 is not the same as no count, for `kubectl get` and for every client without our class."""
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


async def test_the_authors_object_is_a_copy() -> None:
    """Changes to it affect neither the cache nor the next run."""
    operator = Operator("copy")
    sizes: list[int] = []

    @operator.reconciler(Widget)
    async def reconcile(widget: Widget, _: Ctx) -> None:
        sizes.append(widget.spec.size)
        widget.spec.size = 99

    async def story() -> None:
        async with running(operator) as cluster:
            await create(cluster, size=1)
            await cluster.client.patch(only(cluster), {"metadata": {"labels": {"x": "y"}}})
            await cluster.settle()
            assert sizes == [1, 1]
            assert only(cluster).spec.size == 1

    with pytest.raises(AssertionError, match="changes spec of the Widget"):
        await story()


# Triggers.


async def test_a_change_during_a_run_causes_another_run_afterwards() -> None:
    """The last state is always reconciled, and runs of one object never overlap."""
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
    """`ctx.why` contains what happened to which object."""
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


async def test_every_log_line_of_a_run_names_its_object(caplog: pytest.LogCaptureFixture) -> None:
    """Lines of the author and of the framework have the same fields; the framework's also say why it ran."""
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
    assert (reconciled["result"], reconciled["why"]) == ("done", ["Widget default/a created"])


async def test_objects_that_exist_at_the_start_are_reconciled_and_marked_so() -> None:
    """An operator that was stopped catches up."""
    operator = Operator("existing")
    whys: list[CauseType] = []

    @operator.reconciler(Widget)
    async def reconcile(_: Widget, ctx: Ctx) -> None:
        whys.extend(cause.type for cause in ctx.why)

    async with Cluster.start(clock=FakeClock()) as cluster:
        first = Operator("install")
        async with cluster.running(first, options=OPTIONS):
            await cluster.client.create(Widget(meta("a"), WidgetSpec()))
        async with cluster.running(operator, options=OPTIONS):
            await cluster.settle()
            assert whys == [CauseType.EXISTS]


async def test_watched_kinds_trigger_the_keys_that_their_function_returns() -> None:
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


async def test_a_mapping_that_raises_does_not_stop_the_controller() -> None:
    """A bug in one mapping loses one trigger."""
    operator = Operator("bad-mapping")
    runs: list[str] = []

    def broken(secret: Secret) -> list[str]:
        raise KeyError(secret.name)

    @operator.reconciler(Widget, watches=[Watch(Secret, to=broken)])
    async def reconcile(widget: Widget, _: Ctx) -> None:
        runs.append(widget.name)

    async with running(operator, expect_failures=KeyError) as cluster:
        await cluster.client.create(Secret(meta("s")))
        await create(cluster)
        assert runs == ["a"]


# Declaring.


def test_wrong_declarations_are_rejected_at_once() -> None:
    """A typo fails when the file is loaded, not later in production."""
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
