"""What a reconciler uses beyond its declared kinds: HTTP services, kinds known only at run time, external triggers."""

from collections.abc import Callable

import pytest

from steersman import Context, Model, Operator, Resource, Status, custom_resource, meta
from steersman.history.records import CauseType
from steersman.informer.changes import Added, Change, record_of
from steersman.informer.informer import Selection
from steersman.kinds.core_v1 import ConfigMap
from steersman.manager.manager import ManagerOptions
from steersman.objects.identity import GroupVersionKind, GroupVersionResource
from steersman.protocol.http import Exchange, Request, Response
from steersman.testing.cluster import Cluster

#: No result here depends on the speed of the machine.
pytestmark = pytest.mark.usefixtures("fake_clock")


class LookoutSpec(Model):
    """The kinds to watch."""

    plural: str = ""


class LookoutStatus(Status):
    """The observed objects."""

    answer: str = ""


@custom_resource("beyond.example.com/v1")
class Lookout(Resource[LookoutSpec, LookoutStatus]):
    """An object that watches other kinds."""


class Weather:
    """An HTTP service outside the cluster."""

    def handle(self, request: Request, exchange: Exchange) -> None:
        """Send the same answer to every request."""
        exchange.respond(Response(200, [], f"{request.method} {request.target}".encode()))


async def test_a_service_is_called_by_its_url(cluster: Cluster) -> None:
    """An author calls a provider without managing connections, and tests it without a port."""
    operator = Operator("beyond")
    operator.permit(ConfigMap, "list", "watch")

    @operator.reconciler(Lookout)
    async def reconcile(lookout: Lookout, ctx: Context[Lookout]) -> None:
        answer = await ctx.http("http://weather.example.com/v1").request("GET", "/today")
        lookout.status.answer = answer.body.decode()

    cluster.serve_http("http://weather.example.com", Weather())
    async with cluster.running(operator):
        await cluster.client.create(Lookout(meta("a")))
        await cluster.settle()
        [lookout] = cluster.list(Lookout)
    assert lookout.status.answer == "GET /v1/today"


async def test_an_external_event_can_trigger_a_run(cluster: Cluster) -> None:
    """A provider that calls back must not have to wait for a timer."""
    operator = Operator("beyond")
    operator.permit(ConfigMap, "list", "watch")
    wakers: list[Callable[[], None]] = []
    runs: list[list[CauseType]] = []

    @operator.reconciler(Lookout)
    async def reconcile(_: Lookout, ctx: Context[Lookout]) -> None:
        wakers.append(ctx.waker())
        runs.append([cause.type for cause in ctx.why])

    async with cluster.running(operator):
        await cluster.client.create(Lookout(meta("a")))
        await cluster.settle()
        wakers[0]()
        await cluster.settle()
        assert runs == [[CauseType.CREATED], [CauseType.REQUESTED]]
        await cluster.client.delete(cluster.list(Lookout)[0])
        await cluster.settle()
        wakers[0]()
        await cluster.settle()
    assert len(runs) == 2


def looking(told: list[str]) -> Operator:
    """Return an operator that watches the kinds which its objects name, and records the changes."""
    operator = Operator("beyond")
    operator.permit(ConfigMap, "list", "watch")

    @operator.reconciler(Lookout)
    async def reconcile(lookout: Lookout, ctx: Context[Lookout]) -> None:
        def hear(change: Change) -> None:
            if not (isinstance(change, Added) and change.is_initial):
                told.append(f"{lookout.name}/{lookout.generation}: {record_of(change).key.name}")

        if lookout.spec.plural:
            resource = await ctx.client.discovery.find(lookout.spec.plural)
            ctx.follow(resource, hear, Selection(namespaces=(lookout.namespace,)))

    return operator


async def test_kinds_are_watched_while_each_run_asks_for_them(cluster: Cluster) -> None:
    """The kinds to watch are data: a watch begins, changes and ends with the object that asks for it."""
    told: list[str] = []
    await cluster.client.create(ConfigMap(meta("old")))
    async with cluster.running(looking(told)):
        await cluster.settle()
        lookout = await cluster.client.create(Lookout(meta("a"), LookoutSpec(plural="configmaps")))
        await cluster.settle()
        assert told == []
        await cluster.client.create(ConfigMap(meta("one")))
        await cluster.settle()
        assert told == ["a/1: one"]

        await cluster.client.patch(lookout, {"metadata": {"labels": {"seen": "again"}}})
        await cluster.settle()
        assert len(cluster.faults.watches("/configmaps")) == 1

        await cluster.client.patch(lookout, {"spec": {"plural": ""}})
        await cluster.settle()
        assert cluster.faults.watches("/configmaps") == []
        await cluster.client.create(ConfigMap(meta("two")))
        await cluster.settle()
    assert told == ["a/1: one"]


async def test_a_dynamic_watch_ends_with_its_object(cluster: Cluster) -> None:
    """A watch that outlives its object is a leak, and preventing that needs no finalizer."""
    told: list[str] = []
    async with cluster.running(looking(told)):
        lookouts = [
            await cluster.client.create(Lookout(meta(name), LookoutSpec(plural="configmaps"))) for name in ("a", "b")
        ]
        await cluster.settle()
        assert len(cluster.faults.watches("/configmaps")) == 1
        await cluster.client.delete(lookouts[0])
        await cluster.settle()
        await cluster.client.create(ConfigMap(meta("one")))
        await cluster.settle()
        assert told == ["b/1: one"]
        await cluster.client.delete(lookouts[1])
        await cluster.settle()
        assert cluster.faults.watches("/configmaps") == []


async def test_the_newest_run_decides_which_function_is_called(cluster: Cluster) -> None:
    """A function that closes over a spec must not stay in use with an old one."""
    told: list[str] = []
    operator = looking(told)
    async with cluster.running(operator):
        lookout = await cluster.client.create(Lookout(meta("a"), LookoutSpec(plural="configmaps")))
        await cluster.settle()
        await cluster.client.patch(lookout, {"spec": {"plural": "configmap"}})
        await cluster.settle()
        await cluster.client.create(ConfigMap(meta("one")))
        await cluster.settle()
    assert told == ["a/2: one"]


async def test_a_watched_kind_needs_no_class(cluster: Cluster) -> None:
    """Any kind that the server serves can be watched, also one that was installed after the start."""
    told: list[str] = []
    gvk = GroupVersionKind("beyond.example.com", "v1", "Lookout")
    async with cluster.running(looking(told)):
        await cluster.client.create(Lookout(meta("a"), LookoutSpec(plural="lookouts")))
        await cluster.settle()
        await cluster.client.create(Lookout(meta("b")))
        await cluster.settle()
        assert (await cluster.client.get(gvk, "b")).name == "b"
    assert "a/1: b" in told


async def test_object_memory_lasts_as_long_as_the_object(cluster: Cluster) -> None:
    """State of this process has a place that does not leak, and that no other object of that name inherits."""
    operator = Operator("beyond")
    seen: list[int] = []

    @operator.reconciler(Lookout)
    async def reconcile(_: Lookout, ctx: Context[Lookout]) -> None:
        runs: list[None] = ctx.memory(list)
        runs.append(None)
        seen.append(len(runs))

    async with cluster.running(operator):
        lookout = await cluster.client.create(Lookout(meta("a")))
        await cluster.settle()
        await cluster.client.patch(lookout, {"spec": {"plural": "pods"}})
        await cluster.settle()
        await cluster.client.delete(lookout)
        await cluster.client.create(Lookout(meta("a")))
        await cluster.settle()
    async with cluster.running(operator):
        await cluster.settle()
    assert seen == [1, 2, 1, 1]


async def test_a_namespaced_operator_watches_only_its_namespaces(cluster: Cluster) -> None:
    """An operator without cluster-wide permissions must not request them because an object names a kind."""
    told: list[str] = []
    operator = Operator("beyond")
    operator.permit(ConfigMap, "list", "watch")

    @operator.reconciler(Lookout)
    async def reconcile(_: Lookout, ctx: Context[Lookout]) -> None:
        resource = await ctx.client.discovery.served_at(GroupVersionResource("", "v1", "configmaps"))
        ctx.follow(resource, lambda change: told.append(record_of(change).key.namespace))

    async with cluster.running(operator, options=ManagerOptions(namespaces=("default",))):
        await cluster.client.create(Lookout(meta("a")))
        await cluster.settle()
        for namespace in ("kube-system", "default"):
            await cluster.client.create(ConfigMap(meta("c", namespace=namespace)))
        await cluster.settle()
    assert told == ["default"]
