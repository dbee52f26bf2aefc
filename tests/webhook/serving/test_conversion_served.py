"""Versions of a kind as clients see them: the API server calls the operator over real TLS."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from steersman import Context, Model, Operator, Resource, Status, custom_resource, meta
from steersman.errors import InternalError, NotFound
from steersman.kinds.apiextensions_v1 import CustomResourceDefinition
from steersman.manager.manager import ManagerOptions
from steersman.objects.identity import GroupVersionKind
from steersman.schema import converts
from steersman.testing.cluster import Cluster
from steersman.webhook.serving.tls_listener import local_listener
from tests.support.websites import (
    GROUP,
    KINDS,
    AlphaWebsite,
    BetaSpec,
    BetaWebsite,
    PageSpec,
    Website,
    WebsiteSpec,
)

BETA = GroupVersionKind(GROUP, "v1beta1", "Website")


def _operator() -> Operator:
    operator = Operator("web")
    operator.declare(BetaWebsite, AlphaWebsite)

    @operator.reconciler(Website)
    async def reconcile(website: Website, ctx: Context[Website]) -> None:
        website.status.copies = website.spec.copies
        ctx.condition("Ready", status=True, reason="Served")

    return operator


@asynccontextmanager
async def _served(cluster: Cluster) -> AsyncIterator[None]:
    async with cluster.running(_operator(), options=ManagerOptions(webhooks=local_listener())):
        yield


async def test_an_object_written_in_one_version_is_read_in_another(cluster: Cluster) -> None:
    """The reconciler knows only v1; users of v1beta1 see its status under their own names."""
    async with _served(cluster):
        await cluster.client.create(BetaWebsite(meta("blog"), BetaSpec(replicas=3, host="a.dev")))
        await cluster.settle()
        website = await cluster.client.get(Website, "blog")
        assert (website.spec.copies, website.spec.domain, website.status.copies) == (3, "a.dev", 3)
        beta = await cluster.client.get(BetaWebsite, "blog")
        assert (beta.spec.replicas, beta.status.replicas) == (3, 3)
        ready = beta.status.condition("Ready")
        assert ready is not None
        assert ready.reason == "Served"


async def test_a_client_of_the_old_version_erases_nothing(cluster: Cluster) -> None:
    """It reads, changes what it knows and writes back, by every verb; colour and metadata stay."""
    async with _served(cluster):
        spec = WebsiteSpec(copies=1, domain="a.dev", color="red", pages=[PageSpec(text="x", weight=2.0)])
        made = await cluster.client.create(Website(meta("blog", labels={"team": "web"}), spec))
        beta = await cluster.client.get(BETA, "blog")
        beta.content["spec"]["replicas"] = 5
        await cluster.client.replace(beta)
        await cluster.client.patch(await cluster.client.get(BETA, "blog"), {"spec": {"host": "b.dev"}})
        applied = BetaWebsite(meta("blog"), BetaSpec(replicas=7, host="b.dev", pages=spec.pages))
        await cluster.client.apply(applied, force=True)
        after = await cluster.client.get(Website, "blog")
        assert (after.spec.copies, after.spec.domain, after.spec.color) == (7, "b.dev", "red")
        assert after.spec.pages == spec.pages
        assert (after.uid, after.labels, after.annotations) == (made.uid, {"team": "web"}, {})


async def test_lists_and_watches_have_the_requested_version(cluster: Cluster) -> None:
    """An informer of v1beta1 follows what is written in v1, in order."""
    async with _served(cluster):
        for number in range(5):
            await cluster.client.create(Website(meta(f"w{number}"), WebsiteSpec(copies=number)))
        await cluster.settle()
        listed = [website async for website in cluster.client.list(BetaWebsite)]
        assert [website.spec.replicas for website in listed] == list(range(5))
        async with cluster.informer(BetaWebsite) as websites:
            await cluster.client.patch(await cluster.client.get(Website, "w0"), {"spec": {"copies": 9}})
            await cluster.client.delete(await cluster.client.get(Website, "w1"))
            await cluster.eventually(lambda: sorted(one.spec.replicas for one in websites.list()) == [2, 3, 4, 9])


class ShapeSpec(Model):
    """The spec of a shape."""

    sides: int = 3


@custom_resource("shapes.example.com/v1", kind="Shape", storage=True, into=KINDS)
class Shape(Resource[ShapeSpec, Status]):
    """A shape."""


@custom_resource("shapes.example.com/v1beta1", kind="Shape", into=KINDS)
class BetaShape(Resource[ShapeSpec, Status]):
    """A shape with fewer fields."""


@converts(BetaShape, Shape)
def to_v1(old: BetaShape) -> Shape:
    """Reject circles, and drop sides beyond a million."""
    if old.spec.sides == 0:
        raise ValueError("circles are not supported")
    return Shape(old.metadata, ShapeSpec(sides=min(old.spec.sides, 1_000_000)), old.status)


@converts(Shape, BetaShape)
def to_beta(new: Shape) -> BetaShape:
    """Return it unchanged."""
    return BetaShape(new.metadata, new.spec, new.status)


def _shapes() -> Operator:
    operator = Operator("shapes")
    operator.declare(BetaShape)

    @operator.reconciler(Shape)
    async def reconcile(_: Shape, ctx: Context[Shape]) -> None:
        ctx.log.debug("seen")

    return operator


@pytest.mark.parametrize(
    ("sides", "message"),
    [
        (0, "Shape default/round cannot become v1: .*to_v1 raised ValueError: circles are not supported"),
        (2_000_000, "Shape default/round cannot become v1: .spec.sides would be lost"),
    ],
)
async def test_the_error_of_a_converter_reaches_the_user_and_nothing_is_written(
    cluster: Cluster, sides: int, message: str
) -> None:
    """A user of kubectl reads this; the operator's log is far away."""
    async with cluster.running(_shapes(), options=ManagerOptions(webhooks=local_listener())):
        before = cluster.server.objects.version
        with pytest.raises(InternalError, match=message):
            await cluster.client.create(BetaShape(meta("round"), ShapeSpec(sides=sides)))
        assert cluster.server.objects.version == before
        with pytest.raises(NotFound):
            await cluster.client.get(Shape, "round")


async def test_without_its_operator_only_the_stored_version_is_readable(cluster: Cluster) -> None:
    """An operator that is down must not make all objects unreadable: v1 is stored and needs no conversion."""
    async with _served(cluster):
        await cluster.client.create(Website(meta("blog"), WebsiteSpec(copies=2)))
    assert (await cluster.client.get(Website, "blog")).spec.copies == 2
    with pytest.raises(InternalError, match=r"conversion webhook for web\.example\.com/v1, Kind=Website failed"):
        await cluster.client.get(BetaWebsite, "blog")
    async with _served(cluster):
        assert (await cluster.client.get(BetaWebsite, "blog")).spec.replicas == 2


async def test_an_operator_starts_although_objects_are_stored_in_a_former_version(cluster: Cluster) -> None:
    """Its new certificate is not trusted before it runs: waiting for the CRD must not wait for it."""
    async with _served(cluster):
        definition = await cluster.client.get(CustomResourceDefinition, f"websites.{GROUP}")
        for version in definition.spec.versions:
            version.storage = version.name == "v1beta1"
        await cluster.client.update(definition)
        await cluster.client.create(BetaWebsite(meta("old"), BetaSpec(replicas=4)))
    async with _served(cluster):
        assert (await cluster.client.get(Website, "old")).spec.copies == 4


async def test_the_crd_contains_the_webhook_and_its_ca_bundle(cluster: Cluster) -> None:
    """Without a caBundle no server would accept the answers."""
    async with _served(cluster):
        definition = await cluster.client.get(CustomResourceDefinition, f"websites.{GROUP}")
        conversion = definition.spec.conversion
        assert conversion is not None
        assert conversion.webhook is not None
        assert conversion.webhook.conversion_review_versions == ["v1"]
        assert conversion.webhook.client_config is not None
        assert conversion.webhook.client_config.ca_bundle


async def test_in_a_test_versions_need_no_setup(cluster: Cluster) -> None:
    """In this process the API server calls without a socket."""
    async with cluster.running(_operator()):
        await cluster.client.create(BetaWebsite(meta("blog"), BetaSpec(replicas=3)))
        await cluster.eventually(lambda: cluster.list(Website)[0].status.copies == 3)
