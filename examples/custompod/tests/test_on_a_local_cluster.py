"""The operator with a scheduler and a node: pods run, and the status shows it."""

from steersman import meta
from steersman.kinds.core_v1 import Pod
from steersman.localcluster import local_operators
from steersman.testing import Cluster, FakeClock

from custompod.api.custom_pod_v1 import CustomPod, CustomPodSpec
from custompod.main import operator


async def test_pods_run_and_the_custom_pod_is_ready(cluster: Cluster, fake_clock: FakeClock) -> None:
    """From the article's object to running pods, and back to none."""
    async with cluster.running(*local_operators(), operator):
        custom_pod = await cluster.client.create(CustomPod(meta("sample"), CustomPodSpec(replicas=3)))
        await fake_clock.advance(60)
        [found] = cluster.list(CustomPod)
        ready = found.status.condition("Ready")
        assert ready is not None
        assert (ready.status, found.status.ready_replicas) == ("True", 3)
        assert {pod.status.phase for pod in cluster.list(Pod)} == {"Running"}

        await cluster.client.delete(cluster.list(Pod)[0])
        await fake_clock.advance(120)
        assert cluster.list(CustomPod)[0].status.ready_replicas == 3

        await cluster.client.delete(custom_pod)
        await fake_clock.advance(120)
        assert cluster.list(Pod) == []
