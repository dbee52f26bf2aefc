"""Size of an operator's caches beside the Secrets of other programs, for each way to declare the watch.

An embedded server in the same process has many Secrets of several KiB, as Helm stores its releases, and a few that the
operator needs. Measured are the objects and the bytes in the cache of Secrets, which is about what the process needs
for it.
"""

import asyncio

from bench._results import Results
from steersman import Context, Model, Operator, Owned, Reference, Resource, Status, custom_resource, meta
from steersman.controller.triggers import WatchedKind
from steersman.kinds.core_v1 import Namespace, Secret
from steersman.manager.manager import ManagerOptions
from steersman.testing import Cluster

FOREIGN, OWN, CONTENT = 2_000, 20, 6_000
LABELS = {"example.com/part-of": "sites"}


class SiteSpec(Model):
    """What is served, with which certificate."""

    tls_secret: str


@custom_resource("caches.example.com/v1")
class Site(Resource[SiteSpec, Status]):
    """A web site with a certificate."""


def name(site: Site) -> str:
    """Return the Secret of a site."""
    return site.spec.tls_secret


WATCHES: dict[str, list[WatchedKind[Site]]] = {
    "metadata (default)": [Reference(Secret, by=name)],
    "whole objects": [Reference(Secret, by=name, metadata_only=False)],
    "one namespace": [Reference(Secret, by=name, namespaces=["default"], metadata_only=False)],
    "by label": [Reference(Secret, by=name, selector="example.com/part-of=sites", metadata_only=False)],
}
OWNED: dict[str, list[type[Secret] | Owned]] = {"owns": [Secret], "Owned(labels=…)": [Owned(Secret, labels=LABELS)]}


async def size(cluster: Cluster, watches: list[WatchedKind[Site]], owns: list[type[Secret] | Owned]) -> tuple[int, int]:
    """Return the objects and the bytes in the caches of Secrets of an operator."""
    operator = Operator("sites")

    @operator.reconciler(Site, watches=watches, owns=owns)
    async def reconcile(_site: Site, _ctx: Context[Site]) -> None: ...

    async with cluster.running(operator, options=ManagerOptions(install_crds=True)) as manager:
        caches = [one for one in manager.introspection.overview().caches if one.kind == "Secret"]
        return sum(one.objects for one in caches), sum(one.bytes for one in caches)


async def measure() -> None:
    """Measure every declaration on the same cluster."""
    results = Results("caches", f"Cache of Secrets: {FOREIGN:,} of other programs, {OWN} of the operator; KiB")
    async with Cluster.start() as cluster:
        await cluster.client.create(Namespace(meta("releases")))
        content = {"release": b"x" * CONTENT}
        for number in range(FOREIGN):
            await cluster.client.create(Secret(meta(f"release-{number}", "releases"), data=content))
        for number in range(OWN):
            await cluster.client.create(Secret(meta(f"tls-{number}", labels=LABELS), data=content))
        for label, watches in WATCHES.items():
            note(results, label, await size(cluster, watches, []))
        for label, owns in OWNED.items():
            note(results, label, await size(cluster, [], owns))
    results.show()


def note(results: Results, label: str, found: tuple[int, int]) -> None:
    """Record and print one measurement."""
    objects, size_ = found
    print(f"{label}: {objects} objects, {size_ / 1024:,.0f} KiB", flush=True)
    results.add(label, objects=objects, KiB=size_ / 1024)


def main() -> None:
    """Run it."""
    asyncio.run(measure())


if __name__ == "__main__":
    main()
