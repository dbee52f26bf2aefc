"""The operator is gone at any of its writes, and another instance ends what it began."""

from steersman import meta
from steersman.testing import Cluster, survive_crashes, survive_process_crashes

from custompod.api.custom_pod_v1 import CustomPod, CustomPodSpec
from custompod.main import operator


async def one_three_one_none(cluster: Cluster) -> None:
    """Tell the article's story, and the end of it."""
    custom_pod = await cluster.client.create(CustomPod(meta("sample"), CustomPodSpec(replicas=1)))
    for replicas in (1, 3, 1):
        await cluster.client.patch(custom_pod, {"spec": {"replicas": replicas}})
        await cluster.eventually(lambda: replicas == cluster.list(CustomPod)[0].status.replicas)  # noqa: B023 - now
    await cluster.client.create(CustomPod(meta("other"), CustomPodSpec(replicas=2)))
    await cluster.client.delete(custom_pod)


async def up_and_down(cluster: Cluster) -> None:
    """Tell a short one: processes are slow."""
    custom_pod = await cluster.client.create(CustomPod(meta("sample"), CustomPodSpec(replicas=2)))
    await cluster.eventually(lambda: cluster.list(CustomPod)[0].status.replicas == 2)
    await cluster.client.patch(custom_pod, {"spec": {"replicas": 1}})
    await cluster.eventually(lambda: cluster.list(CustomPod)[0].status.replicas == 1)


async def test_a_crash_at_any_write_makes_no_difference() -> None:
    """What is to be done is found by looking, never remembered."""
    writes = await survive_crashes(operator, one_three_one_none)
    assert sum(write.startswith("POST") and write.endswith("/pods") for write in writes) == 5
    assert sum(write.startswith("DELETE") for write in writes) == 2


async def test_a_kill_at_any_write_makes_no_difference() -> None:
    """The same with real processes and SIGKILL."""
    killed = await survive_process_crashes("custompod.main:operator", up_and_down)
    assert len(killed) >= 5
