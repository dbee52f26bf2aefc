"""The operator with workload controllers, a scheduler and a node: a Foo becomes ready."""

from steersman import meta
from steersman.kinds.core_v1 import Pod
from steersman.localcluster import local_operators
from steersman.testing import Cluster, FakeClock

from samplecontroller.api.foo_v1alpha1 import Foo, FooSpec
from samplecontroller.main import operator


async def test_a_foo_becomes_ready(cluster: Cluster, fake_clock: FakeClock) -> None:
    """From the Foo over Deployment, ReplicaSet and pods back to the status; nothing is left after the deletion."""
    async with cluster.running(*local_operators(), operator):
        foo = await cluster.client.create(Foo(meta("test"), FooSpec(deployment_name="test", replicas=2)))
        await fake_clock.advance(60)
        [found] = cluster.list(Foo)
        ready = found.status.condition("Ready")
        assert ready is not None
        assert (ready.status, found.status.available_replicas) == ("True", 2)

        await cluster.client.delete(foo)
        await fake_clock.advance(120)
        assert cluster.list(Pod) == []
