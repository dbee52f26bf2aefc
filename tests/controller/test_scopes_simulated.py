"""References, scopes and ordered children under crashes and under everything that happens to watches."""

from steersman import Context, Model, Operator, Owned, Reference, Resource, Status, custom_resource, meta
from steersman.kinds.core_v1 import ConfigMap, PersistentVolumeClaim, Secret
from steersman.objects.codec import decode_as, encode_json
from steersman.simulation import simulate
from steersman.testing import Cluster

CLAIM = {"spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}}


class SiteSpec(Model):
    """What is served, with which certificate."""

    tls: str


class SiteStatus(Status):
    """What was found."""

    keys: int = 0


@custom_resource("simulated.example.com/v1")
class Site(Resource[SiteSpec, SiteStatus]):
    """A site with a certificate and a disk."""


def frugal() -> Operator:
    """Return an operator that caches next to nothing, and writes its children in order."""
    operator = Operator("frugal")

    @operator.reconciler(
        Site,
        owns=[Owned(ConfigMap, labels={"part-of": "sites"}), Owned(PersistentVolumeClaim, labels={"part-of": "sites"})],
        watches=[Reference(Secret, by=lambda site: site.spec.tls)],
        priority=lambda site: len(site.spec.tls),
        kstatus=True,
    )
    async def reconcile(site: Site, ctx: Context[Site]) -> None:
        secret = await ctx.get(Secret, site.spec.tls)
        site.status.keys = len(secret.data or {}) if secret is not None else 0
        claim = decode_as(PersistentVolumeClaim, encode_json({"metadata": {"name": site.name}, **CLAIM}))
        disk = await ctx.apply(claim)
        await ctx.ready(disk)
        await ctx.apply(ConfigMap(meta(f"{site.name}-{site.spec.tls}"), data={"keys": str(site.status.keys)}))
        await ctx.prune(ConfigMap)

    return operator


async def rotation(cluster: Cluster) -> None:
    """Create a site before its certificate, rotate that, and let the site name another one."""
    site = await cluster.client.create(Site(meta("a"), SiteSpec(tls="one")))
    await cluster.settle()
    secret = await cluster.client.create(Secret(meta("one"), data={"a": b"1"}))
    await cluster.eventually(lambda: len(cluster.list(PersistentVolumeClaim, namespace="default")) == 1)
    disk = await cluster.client.get(PersistentVolumeClaim, "a")
    await cluster.client.status.patch(disk, {"status": {"phase": "Bound"}})
    await cluster.settle()
    await cluster.client.patch(secret, {"data": {"b": "Mg=="}})
    await cluster.settle()
    await cluster.client.create(Secret(meta("other"), data={"a": b"1"}))
    await cluster.client.patch(site, {"spec": {"tls": "other"}})
    await cluster.settle()


def test_no_fault_loses_a_reference_or_the_order_of_children() -> None:
    """A change that finds no referrer is lost for good: nothing else would trigger the object.

    The other kinds of faults pass as well; they take a minute and concern nothing of this.
    """
    report = simulate(frugal, rotation, faults=["crash-after", "watch-reset", "events-unobserved"])
    report.raise_if_failed()
    assert len(report.tried) > 20
