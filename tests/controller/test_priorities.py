"""Priorities that the author sets, beside the order of the framework."""

import pytest

from steersman.controller.context import Context
from steersman.controller.keys.ranks import checked_rank
from steersman.errors import Retry
from steersman.manager.manager import ManagerOptions
from steersman.manager.operator import Operator
from steersman.objects.meta import meta
from steersman.testing.cluster import Cluster
from steersman.testing.fake_clock import FakeClock
from steersman.workqueue.pending import LOW, NORMAL, REPEATED, RETRY, Pending, lowered, ranked
from tests.support.widgets import DEFINITION, Widget, WidgetSpec

OPTIONS = ManagerOptions(definitions=[DEFINITION])


def test_a_rank_decides_before_the_order_of_the_framework() -> None:
    """The retry of an important object goes before the change of a less important one."""
    levels = [ranked(rank, own) for rank in (2, 1, 0, -1) for own in (NORMAL, RETRY, REPEATED, LOW)]
    assert levels == sorted(levels, reverse=True)


@pytest.mark.parametrize("rank", [-100, -1, 0, 1, 100])
@pytest.mark.parametrize("own", [NORMAL, RETRY, REPEATED, LOW])
def test_a_retry_keeps_its_rank(rank: int, own: int) -> None:
    """It goes behind changes of its rank, not behind everything."""
    assert lowered(ranked(rank, own), RETRY) == ranked(rank, min(own, RETRY))


def test_no_rank_starves_another() -> None:
    """Important objects that never rest must not stop the others for good."""
    pending = Pending[str, str]()
    pending.add("unimportant", priority=ranked(-5, LOW))
    for turn in range(200):
        pending.add(f"important-{turn}", priority=ranked(5, NORMAL))
        pending.add(f"usual-{turn}")
        item = pending.take()
        assert item is not None
        pending.done(item.key)
        if item.key == "unimportant":
            return
    pytest.fail("it was never handed out")


@pytest.mark.parametrize("rank", [101, -101, 1.0, True, "1", None])
def test_a_rank_is_a_small_integer(rank: object) -> None:
    """Anything else is a mistake of the author, and not to be guessed at."""
    with pytest.raises(ValueError, match="return an integer from -100 to 100"):
        checked_rank(rank)


@pytest.mark.usefixtures("fake_clock")
async def test_important_objects_are_reconciled_first(cluster: Cluster) -> None:
    """Also among the objects that existed at the start, where the order matters most."""
    operator, runs = Operator("ranked"), list[str]()

    @operator.reconciler(Widget, priority=lambda widget: widget.spec.size)
    async def reconcile(widget: Widget, _: Context[Widget]) -> None:
        runs.append(widget.name)

    await cluster.client.create(DEFINITION)
    for name, rank in (("low", -1), ("usual", 0), ("high", 2), ("higher", 3), ("other", 0)):
        await cluster.client.create(Widget(meta(name), WidgetSpec(size=rank)))
    async with cluster.running(operator, options=OPTIONS):
        await cluster.settle()
    assert runs == ["higher", "high", "other", "usual", "low"]


async def test_a_retry_of_an_important_object_goes_first(cluster: Cluster, fake_clock: FakeClock) -> None:
    """The rank of a changed object is the new one."""
    operator, runs = Operator("retried"), list[str]()

    @operator.reconciler(Widget, priority=lambda widget: widget.spec.size)
    async def reconcile(widget: Widget, _: Context[Widget]) -> None:
        runs.append(widget.name)
        if runs.count(widget.name) < 3:
            raise Retry("again", after=1)

    async with cluster.running(operator, options=OPTIONS):
        for name in ("a", "b"):
            await cluster.client.create(Widget(meta(name), WidgetSpec()))
        await cluster.settle()
        assert runs == ["a", "b"]
        b = await cluster.client.get(Widget, "b")
        await cluster.client.patch(b, {"spec": {"size": 1}})
        await fake_clock.advance(10)
    assert runs[2] == "b"


@pytest.mark.usefixtures("fake_clock")
async def test_a_priority_that_fails_is_reported_and_counts_as_zero(cluster: Cluster) -> None:
    """The object is reconciled all the same."""
    operator, runs = Operator("broken"), list[str]()

    def rank(widget: Widget) -> int:
        return {1: 1}[widget.spec.size]

    @operator.reconciler(Widget, priority=rank)
    async def reconcile(widget: Widget, _: Context[Widget]) -> None:
        runs.append(widget.name)

    async with cluster.running(operator, options=OPTIONS, expect_failures=KeyError):
        await cluster.client.create(Widget(meta("a"), WidgetSpec(size=7)))
        await cluster.settle()
        assert runs == ["a"]
        assert {str(failure.key) for failure in cluster.failures} == {"default/a"}
