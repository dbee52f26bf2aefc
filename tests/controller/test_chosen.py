"""Features for operators that act as a part of a cluster: selected kinds, finishing deletions, background work."""

import pytest

from steersman.client.client import Client
from steersman.clock import Clock
from steersman.controller.context import Context
from steersman.controller.triggers import Chosen
from steersman.kinds.core_v1 import ConfigMap, Namespace, Node, Service, ServicePort, ServiceSpec
from steersman.manager.manager import ManagerOptions
from steersman.manager.operator import Operator
from steersman.objects.meta import meta
from steersman.testing.cluster import Cluster
from steersman.testing.fake_clock import FakeClock
from tests.support.widgets import DEFINITION, Widget, WidgetSpec

OPTIONS = ManagerOptions(definitions=[DEFINITION])


def _chooses(service: Service, config_map: ConfigMap) -> bool:
    selector = service.spec.selector or {}
    return bool(selector) and selector.items() <= config_map.labels.items()


async def test_an_object_is_triggered_by_changes_of_objects_it_selects(cluster: Cluster, fake_clock: FakeClock) -> None:
    """A Service has no list of its pods, and pods do not name their Services: only labels connect them."""
    runs: list[str] = []
    operator = Operator("chooser")

    @operator.reconciler(Service, watches=[Chosen(ConfigMap, by=_chooses)])
    async def reconcile(service: Service, ctx: Context[Service]) -> None:
        runs.append(service.name)
        assert ctx.now() == fake_clock.now()

    async with cluster.running(operator):
        for color in ("red", "blue"):
            await cluster.client.create(
                Service(meta(color), spec=ServiceSpec(selector={"color": color}, ports=[ServicePort(port=80)]))
            )
        await cluster.client.create(Namespace(meta("elsewhere")))
        await cluster.settle()
        runs.clear()
        one = await cluster.client.create(ConfigMap(meta("a", labels={"color": "red"})))
        await cluster.client.create(ConfigMap(meta("a", namespace="elsewhere", labels={"color": "red"})))
        await cluster.settle()
        assert runs == ["red"]
        runs.clear()
        await cluster.client.patch(one, {"metadata": {"labels": {"color": "blue"}}})
        await cluster.settle()
        assert sorted(runs) == ["blue", "red"], "the one that chose it before hears of it as well"


async def test_cluster_scoped_kinds_are_listed_for_namespaced_objects(cluster: Cluster, fake_clock: FakeClock) -> None:
    """A namespaced object may list nodes: those have no namespace, and all of them are returned."""
    found: list[list[str]] = []
    operator = Operator("lister")

    @operator.reconciler(ConfigMap, watches=[Chosen(Node, by=lambda *_: True)])
    async def reconcile(_config_map: ConfigMap, ctx: Context[ConfigMap]) -> None:
        found.append([node.name for node in await ctx.list(Node)])

    async with cluster.running(operator):
        await cluster.client.create(ConfigMap(meta("a")))
        await cluster.client.create(Node(meta("n")))
        await fake_clock.advance(0)
        assert found[-1] == ["n"]


async def test_a_reconciler_that_finishes_deletions_is_called_during_deletion(
    cluster: Cluster, fake_clock: FakeClock
) -> None:
    """A node must stop pods that are being deleted, though it has no finalizer on them."""
    seen: list[bool] = []
    operator = Operator("finisher")

    @operator.reconciler(Widget, while_deleting=True)
    async def reconcile(widget: Widget, _ctx: Context[Widget]) -> None:
        seen.append(widget.is_deleting)

    async with cluster.running(operator, options=OPTIONS):
        widget = await cluster.client.create(Widget(meta("a", finalizers=["example.com/held"]), WidgetSpec()))
        await cluster.settle()
        await cluster.client.delete(widget)
        await fake_clock.advance(0)
        assert seen == [False, True]


async def test_background_work_runs_with_the_operators_client_and_clock(
    cluster: Cluster, fake_clock: FakeClock
) -> None:
    """A node renews its lease without any change: such work has no object that triggers it."""
    operator = Operator("beater")
    operator.permit(ConfigMap, "create")

    @operator.background
    async def beat(client: Client, clock: Clock) -> None:
        for number in range(100):
            await client.create(ConfigMap(meta(f"beat-{number}"), data={"a": "b"}))
            await clock.sleep(10)

    async with cluster.running(operator):
        await fake_clock.advance(25)
        assert [one.name for one in cluster.list(ConfigMap, namespace="default")] == ["beat-0", "beat-1", "beat-2"]
        first = await cluster.client.get(ConfigMap, "beat-0")
        (entry,) = first.metadata.managed_fields
        assert entry.manager == "beater"


async def test_background_work_that_fails_ends_the_manager(cluster: Cluster, fake_clock: FakeClock) -> None:
    """A failed background task would stay unnoticed: the process ends and is restarted."""
    operator = Operator("broken")

    @operator.background
    async def fail(_client: Client, clock: Clock) -> None:
        await clock.sleep(1)
        raise LookupError("no heart")

    with pytest.raises(ExceptionGroup) as failed:
        async with cluster.running(operator):
            await fake_clock.advance(2)
    assert failed.group_contains(LookupError, match="no heart")


@pytest.mark.usefixtures("fake_clock")
async def test_an_empty_update_causes_no_loop(cluster: Cluster, caplog: pytest.LogCaptureFixture) -> None:
    """Reading a child through an empty update does not make later changes by other writers its own."""
    operator = Operator("looker")

    @operator.reconciler(Widget, owns=[ConfigMap])
    async def reconcile(widget: Widget, ctx: Context[Widget]) -> None:
        children = ctx.owned(ConfigMap)
        if not children:
            await ctx.create(ConfigMap(meta("child"), data={"count": "0"}))
            return
        same = await ctx.update(children[0])
        widget.status.size = int((same.data or {})["count"])

    async with cluster.running(operator, options=OPTIONS):
        await cluster.client.create(Widget(meta("a"), WidgetSpec()))
        await cluster.settle()
        child = await cluster.client.get(ConfigMap, "child")
        for count in range(30):
            await cluster.client.patch(child, {"data": {"count": str(count)}})
            await cluster.settle()
            assert cluster.list(Widget)[0].status.size == count
    assert "triggers itself" not in caplog.text
