"""What comes after the last finalizer: nothing, whatever the cache still says."""

from steersman import Context, Model, Operator, Resource, Status, custom_resource, meta
from steersman.kinds.core_v1 import ConfigMap
from steersman.testing.cluster import Cluster
from steersman.testing.fake_clock import FakeClock


class LampSpec(Model):
    """Nothing much."""

    color: str = ""


@custom_resource("lamps.example.com/v1")
class Lamp(Resource[LampSpec, Status]):
    """Something with a child and a cleanup."""


async def test_an_object_that_is_gone_is_not_cleaned_up_again(cluster: Cluster, fake_clock: FakeClock) -> None:
    """The server answers the removal with the version that it had, so only its absence tells that it was seen."""
    operator = Operator("lamps")
    cleanups: list[str] = []

    @operator.reconciler(Lamp, owns=[ConfigMap])
    async def reconcile(lamp: Lamp, ctx: Context[Lamp]) -> None:
        await ctx.apply(ConfigMap(meta(lamp.name)))

    @reconcile.cleanup
    async def cleanup(lamp: Lamp, _: Context[Lamp]) -> None:
        cleanups.append(lamp.name)
        cluster.faults.hold("/lamps")

    async with cluster.running(operator):
        lamp = await cluster.client.create(Lamp(meta("a")))
        await cluster.settle()
        child = cluster.list(ConfigMap)[0]
        await cluster.client.patch(child, {"metadata": {"finalizers": ["example.com/stays"]}})
        await cluster.client.delete(lamp)
        await fake_clock.settle()
        assert cluster.list(Lamp) == []
        cluster.faults.requests.clear()
        await cluster.client.patch(child, {"data": {"changed": "meanwhile"}})
        await fake_clock.settle()
        assert cleanups == ["a"]
        cluster.faults.release()
        await cluster.settle()
    assert cleanups == ["a"]
    assert cluster.faults.count("PATCH", "/lamps/a") == 0
