"""What informers, controllers and leader election promise, on every server: the embedded one and a real one."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

from steersman.client.client import Client
from steersman.clock import RealClock
from steersman.concurrency import background, wait_ready
from steersman.controller.context import Context
from steersman.errors import Permanent, Retry
from steersman.informer.informer import Informer, Selection
from steersman.informer.list_watch_driver import ApiConnection
from steersman.kinds.coordination_v1 import Lease
from steersman.kinds.core_v1 import ConfigMap
from steersman.kinds.events_v1 import Event
from steersman.manager.leader.election import ElectionOptions
from steersman.manager.leader.lease import LeaseTiming
from steersman.manager.leader.thread import elect_here
from steersman.manager.manager import Manager, ManagerOptions
from steersman.manager.operator import Operator
from steersman.objects.meta import meta
from steersman.objects.model import Model, sparse
from steersman.objects.resource import Resource, Status
from steersman.randomness import Randomness
from steersman.schema.declaration import custom_resource
from steersman.testing.eventually import eventually
from tests.contract.servers import Server


class GadgetSpec(Model):
    """The desired state."""

    parts: int = 0


class GadgetStatus(Status):
    """The observed state."""

    parts: int = 0
    names: list[str] = sparse(list)


@custom_resource("contract.example.com/v1")
class Gadget(Resource[GadgetSpec, GadgetStatus]):
    """An object made of parts."""


def link(client: Client) -> ApiConnection:
    """Return the connection of an informer."""
    return ApiConnection(client.transport, RealClock(), Randomness())


async def soon(condition: Callable[[], object]) -> None:
    """Wait for a result for which a real server may need seconds."""
    await eventually(condition, clock=RealClock(), within=20.0)


@asynccontextmanager
async def running(client: Client, operator: Operator) -> AsyncIterator[Manager]:
    """Run an operator in the client's namespace, with its CRDs installed."""
    options = ManagerOptions(namespaces=(client.namespace,), install_crds=True)
    manager = Manager([operator], client.transport, options, clock=RealClock())
    async with background(manager.run(), name="manager") as task:
        await wait_ready(manager.wait_ready(), task)
        yield manager


# Informers.


async def test_an_informer_follows_a_namespace(server: Server) -> None:
    """List, add, change, delete: in order, each once, by stream and by list."""
    async with server.client() as client:
        await client.create(ConfigMap(meta("before")))
        for watch_list in (True, False):
            reported: list[str] = []
            selection = Selection(namespaces=(client.namespace,), watch_list=watch_list, label_selector="!foreign")
            async with Informer(ConfigMap, link(client), selection) as maps:
                maps.handle(
                    added=lambda new, reported=reported: reported.append(f"+{new.name}"),
                    updated=lambda _, new, reported=reported: reported.append(f"~{new.name}"),
                    deleted=lambda last, reported=reported: reported.append(f"-{last.name}"),
                )
                await client.create(ConfigMap(meta("hidden", labels={"foreign": "yes"})))
                created = await client.create(ConfigMap(meta("new")))
                await soon(lambda reported=reported: "+new" in reported)
                await client.patch(created, {"data": {"a": "b"}})
                await soon(lambda reported=reported: "~new" in reported)
                cached = maps.get(f"{client.namespace}/new")
                assert cached is not None
                assert cached.data == {"a": "b"}
                assert cached.metadata.managed_fields == []
                await client.delete(created)
                await soon(lambda reported=reported: "-new" in reported)
                names = [one for one in reported if not one.endswith("kube-root-ca.crt")]
                assert names == ["+before", "+new", "~new", "-new"]
            await client.delete(ConfigMap(meta("hidden", namespace=client.namespace)))


async def test_a_metadata_only_informer_stores_no_content(server: Server) -> None:
    """It needs half the memory if only labels and owners count."""
    async with server.client() as client:
        await client.create(ConfigMap(meta("a", labels={"app": "x"}), data={"secret": "content"}))
        selection = Selection(namespaces=(client.namespace,), metadata_only=True)
        async with Informer(ConfigMap, link(client), selection) as maps:
            record = maps.store.get(next(key for key in maps.keys() if key.name == "a"))  # noqa: SIM118 - keys, not objects
            assert record is not None
            assert dict(record.labels) == {"app": "x"}
            assert b"content" not in record.data


async def test_an_informer_waits_for_a_kind_that_is_installed_later(server: Server) -> None:
    """It waits with a reason and starts by itself."""
    async with server.client() as client:

        @custom_resource(f"{client.namespace}.example.com/v1")
        class Late(Resource[GadgetSpec, GadgetStatus]):
            """A kind that is not installed at first."""

        informer = Informer(Late, link(client))
        async with background(informer.run(), name="informer"):
            await soon(lambda: "does not serve" in informer.freshness().reason)
            operator = Operator("late")
            operator.declare(Late)
            async with running(client, operator):
                informer.nudge()
                await soon(lambda: informer.is_synced)


# Controllers.


def parts_operator(namespace: str) -> Operator:
    """Return an operator that creates a ConfigMap for each part."""
    operator = Operator(f"parts-{namespace}")

    @operator.reconciler(Gadget, owns=[ConfigMap], workers=2)
    async def reconcile(gadget: Gadget, ctx: Context[Gadget]) -> None:
        if gadget.spec.parts > 9:
            raise Permanent("TooMany", "at most 9 parts")
        children = sorted(ctx.owned(ConfigMap), key=lambda child: child.name)
        for _ in range(gadget.spec.parts - len(children)):
            await ctx.create(ConfigMap(meta(generate_name=f"{gadget.name}-")))
        for child in children[gadget.spec.parts :]:
            await ctx.delete(child)
        gadget.status.parts = len(children)
        gadget.status.names = [child.name for child in children]
        if len(children) != gadget.spec.parts:
            raise Retry("not all parts are there", after=5.0)
        ctx.condition("Ready", True, "Complete")  # noqa: FBT003 - reads as the condition it is

    @reconcile.cleanup
    async def cleanup(gadget: Gadget, ctx: Context[Gadget]) -> None:
        for child in ctx.owned(ConfigMap):
            await ctx.delete(child)
        ctx.event("Gone", f"{gadget.name} was taken apart")

    return operator


async def test_a_controller_creates_and_keeps_the_desired_children(server: Server) -> None:
    """Create, scale, repair, scale down, delete: exactly as many children as desired, never one too many."""
    async with server.client() as client, running(client, parts_operator(client.namespace)):
        await client.create(Gadget(meta("g"), GadgetSpec(parts=3)))

        async def ready(parts: int) -> Gadget:
            return await client.wait_for(
                await client.get(Gadget, "g"),
                lambda gadget: gadget.status.parts == parts and gadget.status.observed_generation == gadget.generation,
                timeout=20.0,
            )

        gadget = await ready(3)
        assert gadget.metadata.finalizers == [f"contract.example.com/{Gadget.__name__.lower()}"]
        await client.delete(ConfigMap(meta(gadget.status.names[0], namespace=client.namespace)))
        await client.wait_for(
            gadget, lambda now: now.status.names != gadget.status.names and now.status.parts == 3, timeout=20.0
        )
        await client.patch(gadget, {"spec": {"parts": 1}})
        await ready(1)
        left = [one async for one in client.list(ConfigMap) if one.name.startswith("g-")]
        assert len(left) == 1
        await client.delete(gadget)
        await client.wait_deleted(gadget, timeout=20.0)
        assert [one async for one in client.list(ConfigMap) if one.name.startswith("g-")] == []


async def test_a_permanent_failure_is_reported_by_condition_and_event(server: Server) -> None:
    """Users see the reason where they look."""
    async with server.client() as client, running(client, parts_operator(client.namespace)):
        gadget = await client.create(Gadget(meta("big"), GadgetSpec(parts=10)))
        failed = await client.wait_for(gadget, lambda now: now.status.condition("Ready") is not None, timeout=20.0)
        ready = failed.status.condition("Ready")
        assert ready is not None
        assert (ready.status, ready.reason, ready.observed_generation) == ("False", "TooMany", 1)

        async def reported() -> bool:
            return any([one.reason == "TooMany" async for one in client.list(Event)])

        await eventually(reported, clock=RealClock(), within=20.0)
        await client.patch(gadget, {"spec": {"parts": 1}})
        await client.wait_for(gadget, lambda now: now.status.parts == 1, timeout=20.0)


async def test_a_restarted_operator_continues_without_writing(server: Server) -> None:
    """If there is nothing to do, a restart writes nothing: resource versions do not change."""
    async with server.client() as client:
        async with running(client, parts_operator(client.namespace)):
            gadget = await client.create(Gadget(meta("g"), GadgetSpec(parts=2)))
            settled = await client.wait_for(
                gadget, lambda now: now.status.condition("Ready") is not None and now.status.parts == 2, timeout=20.0
            )
        async with running(client, parts_operator(client.namespace)) as manager:
            await soon(lambda: manager.is_idle)
            await RealClock().sleep(0.2)
            assert (await client.get(Gadget, "g")).resource_version == settled.resource_version


# Electors.


async def test_leadership_is_exclusive_and_handed_over(server: Server) -> None:
    """The second leads only after the first has stopped, and then soon."""
    timing = LeaseTiming(lease=4.0, renew_deadline=3.0, retry=0.5)
    async with server.client() as client:

        def options(name: str) -> ElectionOptions:
            return ElectionOptions(name="op", namespace=client.namespace, identity=name, timing=timing)

        async with asyncio.timeout(30):
            async with elect_here(link(client), options("a")) as first:
                await first.wait_acquired()
                async with elect_here(link(client), options("b")) as second:
                    await RealClock().sleep(1.0)
                    assert first.is_valid
                    assert not second.is_valid
            async with elect_here(link(client), options("b")) as second:
                started = RealClock().monotonic()
                await second.wait_acquired()
                assert RealClock().monotonic() - started < 1.0
                lease = await client.get(Lease, "op")
                assert (lease.spec.holder_identity, lease.spec.lease_transitions) == ("b", 1)
