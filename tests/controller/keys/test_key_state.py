"""What a controller stores about a key: one object, deleted in one place."""

import pytest

from steersman import Operator, meta
from steersman.controller.context import Context
from steersman.errors import Blocked
from steersman.kinds.core_v1 import ConfigMap, Secret
from steersman.objects.resource import resource_of
from steersman.testing.cluster import Cluster
from steersman.testing.fake_clock import FakeClock
from tests.controller.stage import OPTIONS
from tests.support.widgets import Widget, WidgetSpec


@pytest.fixture
def operator() -> Operator:
    """Return an operator that uses everything that is stored about a key, and keeps writing one object."""
    operator = Operator("remembering")

    @operator.reconciler(Widget, owns=[ConfigMap], waits_for=[Secret])
    async def reconcile(widget: Widget, ctx: Context[Widget]) -> None:
        runs: list[None] = ctx.memory(list)
        runs.append(None)
        ctx.follow(resource_of(Secret), lambda _: None)
        await ctx.apply(ConfigMap(meta(widget.name), data={"run": str(len(runs))}))
        if widget.spec.size:
            raise Blocked("NoSecret", "it is missing", kind=Secret, name="absent")

    operator.permit(Secret, "get", "list", "watch")
    return operator


async def test_the_key_of_a_deleted_object_leaves_nothing_behind(operator: Operator) -> None:
    """Timers, watches and index entries of each object must end with it, or memory would grow for years."""
    clock = FakeClock()
    async with (
        Cluster.start(clock=clock, seed=1) as cluster,
        cluster.running(operator, options=OPTIONS) as manager,
    ):
        (controller,) = manager.controllers
        widget = await cluster.client.create(Widget(meta("a"), WidgetSpec(size=1)))
        await clock.advance(60.0)
        state = controller._states.find(widget.key)
        assert state is not None
        assert state.memory is not None
        assert state.watches
        assert state.awaited is not None
        assert state.streak is not None
        await cluster.client.delete(widget)
        await clock.advance(60.0)
        assert len(controller._states) == 0
        assert not controller._waits
        assert not controller._barrier
        assert len(controller._barrier._expectations) == 0
        assert controller._watches.backlog == 0
        assert cluster.faults.watches("/secrets") == []


async def test_a_loop_that_ended_with_its_object_is_not_counted(operator: Operator) -> None:
    """The gauge is an alarm: it must not stay on for an object that does not exist any more."""
    clock = FakeClock()
    async with (
        Cluster.start(clock=clock, seed=1) as cluster,
        cluster.running(operator, options=OPTIONS) as manager,
    ):
        widget = await cluster.client.create(Widget(meta("a"), WidgetSpec()))
        await clock.advance(60.0)
        assert b'steersman_hot_loops{controller="widget"} 1.0' in manager.metrics.text()
        await cluster.client.delete(widget)
        await clock.advance(600.0)
        assert b'steersman_hot_loops{controller="widget"} 0.0' in manager.metrics.text()
