"""Time to find the objects that a changed Secret concerns: `Reference` (an index) beside `Chosen` (a scan).

An operator runs on an embedded server in the same process; 100 Secrets change beside many objects, each of which names
one. The reconciler does nothing, so that the time is that of finding.
"""

import asyncio
from time import perf_counter

from bench._results import Results
from steersman import Chosen, Context, Model, Operator, Reference, Resource, Status, custom_resource, meta
from steersman.controller.triggers import WatchedKind
from steersman.kinds.core_v1 import Secret
from steersman.manager.manager import ManagerOptions
from steersman.testing import Cluster

SECRETS = 100
SIZES = (150, 1_500)


class SiteSpec(Model):
    """What is served, with which certificate."""

    tls_secret: str
    notes: list[str] = []


@custom_resource("bench.example.com/v1")
class Site(Resource[SiteSpec, Status]):
    """A web site with a certificate."""


WATCHES: dict[str, WatchedKind[Site]] = {
    "Reference": Reference(Secret, by=lambda site: site.spec.tls_secret),
    "Chosen": Chosen(Secret, by=lambda site, secret: site.spec.tls_secret == secret.name),
}


async def seconds(watch: WatchedKind[Site], sites: int) -> tuple[float, int]:
    """Return how long an operator needs for a change of every Secret, and the number of reconciles."""
    operator, runs = Operator("sites"), 0

    @operator.reconciler(Site, watches=[watch])
    async def reconcile(_site: Site, _ctx: Context[Site]) -> None:
        nonlocal runs
        runs += 1

    async with Cluster.start() as cluster:
        secrets = [await cluster.client.create(Secret(meta(f"tls-{number}"))) for number in range(SECRETS)]
        async with cluster.running(operator, options=ManagerOptions(install_crds=True)):
            for number in range(sites):
                spec = SiteSpec(tls_secret=f"tls-{number % SECRETS}", notes=["note"] * 20)
                await cluster.client.create(Site(meta(f"site-{number}"), spec))
            await cluster.settle()
            runs, begin = 0, perf_counter()
            for secret in secrets:
                await cluster.client.patch(secret, {"metadata": {"labels": {"a": "b"}}})
            await cluster.settle()
            return perf_counter() - begin, runs


async def measure() -> None:
    """Measure every size with both."""
    results = Results("references", f"{SECRETS} changed Secrets beside many objects: seconds")
    for sites in SIZES:
        for name, watch in WATCHES.items():
            took, runs = await seconds(watch, sites)
            print(f"{name}: {sites} objects: {took:.2f} s, {runs} reconciles", flush=True)
            results.add(name, **{f"{sites} objects": took})
    results.show()


def main() -> None:
    """Run it."""
    asyncio.run(measure())


if __name__ == "__main__":
    main()
