"""Long work that one object at a time may do."""

import asyncio

from steersman import Context, Model, Operator, Resource, Status, custom_resource, meta
from steersman.controller import ExclusiveWork
from steersman.kinds.coordination_v1 import Lease, LeaseSpec
from steersman.testing.cluster import Cluster


class JobSpec(Model):
    """Nothing."""


class JobStatus(Status):
    """Whether the work has ended."""

    done: bool = False


@custom_resource("exclusive.example.com/v1")
class Job(Resource[JobSpec, JobStatus]):
    """A piece of work."""


WORK = ExclusiveWork("shop", [Job], lambda job: not job.status.done)


class Attempts:
    """An operator whose jobs try to begin, and what they got."""

    def __init__(self) -> None:
        self.operator = Operator("jobs")
        self.results: dict[str, bool] = {}
        self.operator.reconciler(Job)(self.reconcile)
        self.operator.permit(Lease, "get", "create", "delete")

    async def reconcile(self, job: Job, ctx: Context[Job]) -> None:
        """Begin, or end if the job is done."""
        if job.status.done:
            await WORK.end(job, ctx)
        else:
            self.results[job.name] = await WORK.try_begin(job, ctx)


async def _create(cluster: Cluster, *names: str) -> list[Job]:
    jobs = [await cluster.client.create(Job(meta(name), JobSpec())) for name in names]
    await cluster.settle()
    return jobs


def _holders(cluster: Cluster) -> list[str]:
    return [(lease.spec.holder_identity or "").split("/")[1] for lease in cluster.list(Lease) if lease.name == "shop"]


async def test_only_one_object_works_at_a_time(cluster: Cluster) -> None:
    """The next one begins when the first has ended, and not because time has passed."""
    attempts = Attempts()
    async with cluster.running(attempts.operator):
        first, second = await _create(cluster, "a", "b")
        assert attempts.results == {"a": True, "b": False}
        await cluster.client.patch(first, {"metadata": {"annotations": {"again": "1"}}})
        await cluster.settle()
        assert attempts.results["a"]
        found = await cluster.client.get(Job, "a")
        found.status.done = True
        await cluster.client.status.update(found)
        await cluster.client.patch(first, {"metadata": {"annotations": {"again": "2"}}})
        await cluster.settle()
        assert _holders(cluster) == []
        await cluster.client.patch(second, {"metadata": {"annotations": {"again": "1"}}})
        await cluster.settle()
        assert attempts.results["b"]


async def test_a_holder_that_died_without_cleanup_blocks_nothing(cluster: Cluster) -> None:
    """Its object is gone, or is another one of the same name."""
    attempts = Attempts()
    await cluster.client.create(Lease(meta("shop"), spec=LeaseSpec(holder_identity="Job/a/another-uid")))
    async with cluster.running(attempts.operator):
        await _create(cluster, "a")
        assert attempts.results == {"a": True}
        assert _holders(cluster) == ["a"]


async def test_two_objects_that_find_a_free_lease_do_not_both_begin(cluster: Cluster) -> None:
    """Both have read the Lease of a dead holder: the second must not delete the Lease of the first."""
    attempts = Attempts()
    await cluster.client.create(Lease(meta("shop"), spec=LeaseSpec(holder_identity="Job/gone/uid")))
    waiting: list[asyncio.Event] = []

    async def together(job: Job, ctx: Context[Job]) -> None:
        lease = await ctx.client.get(Lease, "shop", job.namespace)
        assert lease.spec.holder_identity == "Job/gone/uid" or attempts.results
        mine = asyncio.Event()
        waiting.append(mine)
        if len(waiting) == 2:
            for one in waiting:
                one.set()
        await mine.wait()
        attempts.results[job.name] = await WORK.try_begin(job, ctx)

    operator = Operator("both")
    operator.reconciler(Job, workers=2)(together)
    operator.permit(Lease, "get", "create", "delete")
    async with cluster.running(operator):
        await _create(cluster, "a", "b")
        assert sorted(attempts.results.values()) == [False, True]
        [holder] = _holders(cluster)
        assert attempts.results[holder]
