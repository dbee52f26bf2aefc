"""A controller whose cache lags, because a replica of the API server or a watch does."""

import pytest

from steersman.errors import Retry
from steersman.manager.manager import ManagerOptions
from steersman.manager.operator import Operator
from steersman.objects.meta import meta
from steersman.testing.cluster import Cluster
from steersman.testing.fake_clock import FakeClock
from steersman.testing.faults import Refuse
from tests.controller.stage import OPTIONS, Ctx, counting, create, resize
from tests.support.widgets import Widget, WidgetSpec

#: No result here depends on the speed of the machine.
pytestmark = pytest.mark.usefixtures("fake_clock")


def wiping(wiped: list[str], failures: int = 0) -> Operator:
    """Return an operator whose cleanup wipes the disk named like the object, after some failures."""
    operator = Operator("wiping")

    @operator.reconciler(Widget)
    async def reconcile(_: Widget, __: Ctx) -> None:
        pass

    @reconcile.cleanup
    async def cleanup(widget: Widget, _: Ctx) -> None:
        wiped.append(widget.name)
        if len(wiped) <= failures:
            raise Retry("the disk is busy")

    return operator


async def recreate(cluster: Cluster) -> Widget:
    """Delete an object without its cleanup and create another one of that name."""
    await cluster.client.patch(await cluster.client.get(Widget, "a"), {"metadata": {"finalizers": None}})
    return await cluster.client.create(Widget(meta("a"), WidgetSpec(size=2)))


def lag_behind(cluster: Cluster, obj: Widget, later: Widget) -> None:
    """Make lists "from any cache" show the state of an old version, and watches not catch up."""
    cluster.server.faults.stale = int(later.resource_version) - int(obj.resource_version)
    cluster.faults.inject(Refuse(503, "ServiceUnavailable"), path="/widgets.*watch=", times=None)


async def test_the_first_state_after_a_restart_is_the_newest(cluster: Cluster) -> None:
    """An operator that scales down because of an old spec deletes what is in use."""
    operator, runs, _ = counting()
    async with cluster.running(operator, options=OPTIONS):
        before = await create(cluster, size=3)
        await resize(cluster, 5)
    runs.clear()
    lag_behind(cluster, before, await cluster.client.create(Widget(meta("later"))))
    async with cluster.running(operator, options=ManagerOptions()):
        await cluster.settle()
    assert {widget.name: widget.spec.size for widget in runs} == {"a": 5, "later": 0}


async def test_a_restart_onto_a_lagging_replica_does_not_clean_up_a_new_object(cluster: Cluster) -> None:
    """The replica shows an object that is being deleted, but another one of its name exists since."""
    wiped: list[str] = []
    async with cluster.running(wiping([]), options=OPTIONS):
        await create(cluster)
    await cluster.client.delete(await cluster.client.get(Widget, "a"))
    deleting = await cluster.client.get(Widget, "a")
    lag_behind(cluster, deleting, await recreate(cluster))
    async with cluster.running(wiping(wiped), options=ManagerOptions()):
        await cluster.settle()
    assert wiped == []


async def test_a_cleanup_is_not_repeated_for_another_object_of_that_name(
    cluster: Cluster, fake_clock: FakeClock
) -> None:
    """Its finalizer was removed by hand and the name was used again, which the cache has not seen yet."""
    wiped: list[str] = []
    async with cluster.running(wiping(wiped, failures=1), options=OPTIONS):
        widget = await create(cluster)
        await cluster.client.delete(widget)
        await cluster.eventually(lambda: wiped)
        cluster.faults.hold("/widgets")
        new = await recreate(cluster)
        await fake_clock.advance(60.0)
        assert wiped == ["a"]
        cluster.faults.release("/widgets")
        await cluster.settle()
        await cluster.client.delete(await cluster.client.get(Widget, "a"))
        await cluster.settle()
        assert (wiped, new.spec.size) == (["a", "a"], 2)


async def test_a_cleanup_is_not_repeated_for_a_deleted_object(cluster: Cluster, fake_clock: FakeClock) -> None:
    """There is nothing left to clean up, whatever the cache shows."""
    wiped: list[str] = []
    async with cluster.running(wiping(wiped, failures=1), options=OPTIONS):
        await cluster.client.delete(await create(cluster))
        await cluster.eventually(lambda: wiped)
        cluster.faults.hold("/widgets")
        await cluster.client.patch(await cluster.client.get(Widget, "a"), {"metadata": {"finalizers": None}})
        await fake_clock.advance(60.0)
        assert wiped == ["a"]


async def test_a_cleanup_waits_for_a_server_that_cannot_confirm_the_object(
    cluster: Cluster, fake_clock: FakeClock
) -> None:
    """Without an answer nothing is known, so nothing may be destroyed."""
    wiped: list[str] = []
    async with cluster.running(wiping(wiped), options=OPTIONS):
        widget = await create(cluster)
        cluster.faults.inject(Refuse(500), method="GET", path="/widgets/a$", times=3)
        await cluster.client.delete(widget)
        await cluster.settle()
        assert wiped == []
        await fake_clock.advance(60.0)
        assert wiped == ["a"]
        assert cluster.list(Widget) == []
