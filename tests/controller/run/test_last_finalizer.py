"""After the last finalizer is removed nothing more happens, whatever the cache still shows."""

from steersman import Context, Model, Operator, Resource, Status, custom_resource, meta
from steersman.kinds.core_v1 import ConfigMap
from steersman.testing.cluster import Cluster
from steersman.testing.fake_clock import FakeClock


class LampSpec(Model):
    """An empty spec."""

    color: str = ""


@custom_resource("lamps.example.com/v1")
class Lamp(Resource[LampSpec, Status]):
    """A kind with a child and a cleanup."""


async def test_a_deleted_object_is_not_cleaned_up_again(cluster: Cluster, fake_clock: FakeClock) -> None:
    """The server answers the removal with the previous version, so only absence in the cache shows that it was seen."""
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
