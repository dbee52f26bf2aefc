"""The operator is gone at any of its writes, and another instance ends what it began."""

from steersman import meta
from steersman.kinds.apps_v1 import Deployment
from steersman.testing import Cluster, survive_crashes, survive_process_crashes

from samplecontroller.api.foo_v1alpha1 import Foo, FooSpec
from samplecontroller.main import operator


async def made_scaled_and_renamed(cluster: Cluster) -> None:
    """Tell the life of a Foo, and of one that is deleted."""
    foo = await cluster.client.create(Foo(meta("test"), FooSpec(deployment_name="one", replicas=1)))
    await cluster.eventually(lambda: [one.spec.replicas for one in cluster.list(Deployment)] == [1])
    await cluster.client.patch(foo, {"spec": {"replicas": 2}})
    await cluster.eventually(lambda: [one.spec.replicas for one in cluster.list(Deployment)] == [2])
    await cluster.client.patch(foo, {"spec": {"deploymentName": "two"}})
    await cluster.eventually(lambda: [one.name for one in cluster.list(Deployment)] == ["two"])
    short = await cluster.client.create(Foo(meta("short"), FooSpec(deployment_name="short")))
    await cluster.eventually(lambda: len(cluster.list(Deployment)) == 2)
    await cluster.client.delete(short)
    await cluster.eventually(lambda: len(cluster.list(Deployment)) == 1)


async def test_a_crash_at_any_write_makes_no_difference() -> None:
    """Applying the same intent again is harmless, and what is not wanted any more is found by its owner."""
    writes = await survive_crashes(operator, made_scaled_and_renamed)
    assert sum("DELETE" in write for write in writes) == 1


async def test_a_kill_makes_no_difference() -> None:
    """The same with real processes and SIGKILL, at two of the writes."""
    assert len(await survive_process_crashes("samplecontroller.main:operator", made_scaled_and_renamed, at_most=2)) >= 2
