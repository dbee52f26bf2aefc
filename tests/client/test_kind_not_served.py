"""A kind whose CRD is not installed: every verb names it and says what to run; no object counts as absent."""

import asyncio
import re
from collections.abc import Awaitable, Callable

import pytest

from steersman import Context, Model, NotFound, Operator, Resource, Status, custom_resource, meta
from steersman.client.client import Client
from steersman.client.interfaces import Ref
from steersman.controller.reports.outcome import Done, Failed, outcome_of
from steersman.errors import KindNotServed, WaitTimeout
from steersman.kinds.core_v1 import ConfigMap
from steersman.manager.manager import Manager
from steersman.objects.identity import GroupVersionKind, ObjectKey
from steersman.objects.resource import Unstructured, resource_of
from steersman.protocol.http import Request, Response
from steersman.testing.cluster import Cluster
from steersman.testing.fake_clock import FakeClock
from steersman.transport.in_memory import InMemoryTransport

ADVICE = (
    r"the server does not serve Kite \(kites.example.com/v1\): its CustomResourceDefinition is not installed; "
    r"for a kind of your operator run 'steer install' or 'steer run --install-crds'"
)


class KiteSpec(Model):
    """An empty spec."""

    height: int = 1


@custom_resource("kites.example.com/v1")
class Kite(Resource[KiteSpec, Status]):
    """A kind that tests install explicitly."""


def flyer() -> Operator:
    """Create an operator of that kind."""
    operator = Operator("flyer")

    @operator.reconciler(Kite)
    async def reconcile(kite: Kite, ctx: Context[Kite]) -> None:
        """Do nothing."""

    return operator


async def listed(client: Client) -> None:
    """List all."""
    assert [kite async for kite in client.list(Kite)] == []


async def watched(client: Client) -> None:
    """Watch until the first event."""
    async for _ in client.watch(Kite):
        return


VERBS: dict[str, Callable[[Client], Awaitable[object]]] = {
    "get": lambda client: client.get(Kite, "a"),
    "try_get": lambda client: client.try_get(Kite, "a"),
    "list": listed,
    "watch": watched,
    "create": lambda client: client.create(Kite(meta("a"))),
    "apply": lambda client: client.apply(Kite(meta("a"))),
    "patch": lambda client: client.patch(Ref(Kite, "a"), {"spec": {"height": 2}}),
    "delete": lambda client: client.delete(Ref(Kite, "a"), missing_ok=True),
    "status": lambda client: client.status.patch(Ref(Kite, "a"), {"status": {}}),
    "wait": lambda client: client.wait_for(Ref(Kite, "a"), lambda _: True, timeout=5),
}


@pytest.mark.parametrize("verb", VERBS)
async def test_every_verb_names_the_kind_and_the_remedy(cluster: Cluster, verb: str) -> None:
    """It was `404 page not found`, which says neither."""
    with pytest.raises(KindNotServed, match=ADVICE):
        await VERBS[verb](cluster.client)


async def test_a_kind_without_a_class_is_named_as_well(cluster: Cluster) -> None:
    """The error is the same whether discovery or the request notices."""
    gvk = GroupVersionKind("kites.example.com", "v1", "Kite")
    with pytest.raises(KindNotServed, match="steer install"):
        await cluster.client.create(
            Unstructured({"apiVersion": gvk.api_version, "kind": "Kite", "metadata": {"name": "a"}})
        )


async def test_a_missing_object_of_a_served_kind_is_not_found(cluster: Cluster) -> None:
    """The kind is served: the answer is the server's own, and `try_get` returns None."""
    await cluster.install(Kite)
    with pytest.raises(NotFound) as missing:
        await cluster.client.get(Kite, "a")
    assert not isinstance(missing.value, KindNotServed)
    assert await cluster.client.try_get(Kite, "a") is None
    await cluster.client.delete(Ref(Kite, "a"), missing_ok=True)


async def test_a_removed_kind_is_noticed_despite_cached_discovery(cluster: Cluster, fake_clock: FakeClock) -> None:
    """The check after a 404 must not use the cache."""
    await cluster.install(Kite)
    gvk = GroupVersionKind("kites.example.com", "v1", "Kite")
    await cluster.client.discovery.resource(gvk)
    definition = GroupVersionKind("apiextensions.k8s.io", "v1", "CustomResourceDefinition")
    await cluster.client.delete(Ref(definition, "kites.kites.example.com"))
    await fake_clock.advance(2.0)
    with pytest.raises(KindNotServed):
        await cluster.client.get(Kite, "a")


class Proxy(InMemoryTransport):
    """A connection on which a proxy answers instead of the API server."""

    async def request(self, _: Request, **__: object) -> Response:
        """Answer like a proxy whose backend is unavailable."""
        return Response(404, [("content-type", "text/plain")], b"404 page not found\n")


async def test_a_page_of_a_proxy_does_not_mean_absence(cluster: Cluster) -> None:
    """A client that treats it so would create an existing object again. Nor does it mean that the kind was deleted."""
    client = Client(Proxy(cluster.server, clock=cluster.clock), clock=cluster.clock)
    for asked in (client.try_get(ConfigMap, "a"), client.try_get(Kite, "a")):
        with pytest.raises(NotFound, match="404 page not found") as answer:
            await asked
        assert not isinstance(answer.value, KindNotServed)
    with pytest.raises(NotFound):
        await client.delete(Ref(ConfigMap, "a"), missing_ok=True)


async def test_an_operator_reports_which_kind_it_waits_for(cluster: Cluster, fake_clock: FakeClock) -> None:
    """In its log, in its readiness, and in the final error."""
    manager = Manager([flyer()], cluster.transport, clock=cluster.clock)
    async with asyncio.TaskGroup() as tasks:
        run = tasks.create_task(_ended(manager.run()))
        await fake_clock.advance(5.0)
        assert re.search(ADVICE, manager.readiness.failing()["informer/kites.v1.kites.example.com"])
        await fake_clock.advance(200.0)
        assert run.done()
    assert isinstance(run.result(), WaitTimeout)
    assert re.search(ADVICE, str(run.result()))


async def _ended(work: Awaitable[None]) -> Exception | None:
    """Return the error with which the work ends."""
    try:
        await work
    except WaitTimeout as error:
        return error
    return None


async def test_a_missing_kind_does_not_mean_a_deleted_object(cluster: Cluster) -> None:
    """The reconcile of a deleted object succeeds; that of an unknown object must be retried."""
    with pytest.raises(KindNotServed) as unserved:
        await cluster.client.get(Kite, "a")
    await cluster.install(Kite)
    with pytest.raises(NotFound) as missing:
        await cluster.client.get(Kite, "a")
    resource, key = resource_of(Kite), ObjectKey("default", "a")
    assert isinstance(outcome_of(unserved.value, resource, key), Failed)
    assert isinstance(outcome_of(missing.value, resource, key), Done)
