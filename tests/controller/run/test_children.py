"""Children of reconciled objects: created, found, counted, applied, pruned."""

from typing import Any

from steersman.kinds.core_v1 import ConfigMap, Secret
from steersman.manager.operator import Operator
from steersman.objects.meta import OwnerReference, meta
from steersman.testing.faults import Refuse
from tests.controller.stage import Ctx, clock_of, create, only, resize, running
from tests.support.widgets import Widget, WidgetSpec


async def test_children_are_created_found_by_uid_and_counted_correctly() -> None:
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


async def test_a_key_waits_until_the_cache_has_its_writes() -> None:
    """With a cache that lags, a second run never sees a state without its own children."""
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
        await clock_of(cluster).advance(2.0)
        assert counts == [0]
        cluster.faults.release()
        await cluster.settle()
        assert counts == [0, 1]
        assert len(cluster.list(ConfigMap)) == 1


async def test_a_watch_that_falls_silent_makes_no_second_child() -> None:
    """The connection is open and the server answers, so only the missing event shows that the watch is dead."""
    operator = Operator("silent")
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
        await clock_of(cluster).advance(60.0)
        assert counts == [0, 1]
        assert len(cluster.list(ConfigMap)) == 1


async def test_a_watch_with_other_events_is_kept_although_one_is_missing() -> None:
    """It is only behind; a new watch of an overloaded server would be further behind."""
    operator = Operator("behind")

    @operator.reconciler(Widget, owns=[ConfigMap])
    async def reconcile(_: Widget, ctx: Ctx) -> None:
        await ctx.apply(ConfigMap(meta("child")))

    async with running(operator) as cluster:
        (watch,) = cluster.faults.watches("/configmaps")
        version = (await cluster.client.create(ConfigMap(meta("other")))).resource_version.encode()
        await clock_of(cluster).settle()
        cluster.faults.hold("/configmaps")
        widget = await cluster.client.create(Widget(meta("a"), WidgetSpec(size=1)))
        await clock_of(cluster).settle()
        await cluster.client.patch(widget, {"spec": {"size": 2}})
        await clock_of(cluster).advance(4.0)
        watch.inner.write(b'{"type":"BOOKMARK","object":{"metadata":{"resourceVersion":"%s"}}}\n' % version)
        await clock_of(cluster).advance(4.0)
        assert cluster.faults.watches("/configmaps") == [watch]


async def test_a_cache_that_never_catches_up_does_not_block_a_key_forever() -> None:
    """After ten seconds a run with an old state is better than none: no watch of this server delivers anything."""
    operator = Operator("stuck")
    runs: list[int] = []

    @operator.reconciler(Widget, owns=[ConfigMap])
    async def reconcile(widget: Widget, ctx: Ctx) -> None:
        runs.append(widget.spec.size)
        await ctx.apply(ConfigMap(meta("child")))

    async with running(operator) as cluster:
        cluster.faults.hold("/configmaps")
        cluster.faults.inject(Refuse(503, "ServiceUnavailable"), path="/configmaps.*watch=", times=None)
        widget = await cluster.client.create(Widget(meta("a"), WidgetSpec(size=1)))
        await clock_of(cluster).settle()
        await cluster.client.patch(widget, {"spec": {"size": 2}})
        await clock_of(cluster).advance(9.0)
        assert runs == [1]
        await clock_of(cluster).advance(2.0)
        assert runs == [1, 2]


async def test_applied_children_have_the_owner_and_are_sent_once() -> None:
    """Applying an unchanged child sends no request."""
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
    """Children that this run did not apply are deleted; objects of other owners stay."""
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
    """The garbage collector would delete it at once, so it is an error."""
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


async def test_reads_use_the_cache_if_there_is_one() -> None:
    """Reading a watched kind needs no request; any other is read from the server."""
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
