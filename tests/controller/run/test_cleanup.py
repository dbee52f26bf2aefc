"""Finalizers and cleanups: added before the first run, removed last."""

from collections.abc import Callable

from steersman.manager.operator import Operator
from steersman.testing.cluster import Cluster
from steersman.testing.fake_clock import FakeClock
from steersman.testing.faults import Refuse
from tests.controller.stage import OPTIONS, Ctx, clock_of, create, only, running
from tests.support.widgets import Widget


def cleaning(log: list[str], clean: Callable[[], None] = lambda: None) -> Operator:
    """Return an operator with a cleanup, which records what happens."""
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


async def test_the_finalizer_is_added_before_the_first_run_and_removed_last() -> None:
    """No side effect may happen before the cleanup is guaranteed."""
    log: list[str] = []
    async with running(cleaning(log)) as cluster:
        widget = await create(cluster)
        assert only(cluster).metadata.finalizers == ["runtime.example.com/widget"]
        await cluster.client.delete(widget)
        await cluster.settle()
        assert cluster.list(Widget) == []
        assert log == ["reconcile", "cleanup"]


async def test_a_cleanup_that_fails_keeps_the_object() -> None:
    """Effects that could not be undone must not be forgotten."""
    log: list[str] = []

    def fail() -> None:
        if log.count("cleanup") < 3:
            raise RuntimeError("the provider is down")

    async with running(cleaning(log, fail), expect_failures=RuntimeError) as cluster:
        widget = await create(cluster)
        await cluster.client.delete(widget)
        await clock_of(cluster).advance(5.0)
        assert cluster.list(Widget) == []
        assert log.count("cleanup") == 3


async def test_finalizers_of_other_controllers_are_never_changed() -> None:
    """Also when they are added and removed at the same time."""
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
