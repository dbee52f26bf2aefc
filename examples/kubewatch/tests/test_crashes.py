"""The operator is gone at any of its writes, and another instance ends what it began."""

from steersman import meta
from steersman.testing import Cluster, survive_crashes, survive_process_crashes

from kubewatch.api.watcher_v1 import Handler, WatchedResource, Watcher, WatcherSpec
from kubewatch.main import operator


def ready(cluster: Cluster) -> str:
    """Give whether the only watcher watches."""
    [found] = cluster.list(Watcher)
    condition = found.status.condition("Ready")
    return condition.reason if condition else ""


async def watch_and_change_what_is_watched(cluster: Cluster) -> None:
    """Tell the life of a watcher; what it tells others is not kept over a crash, what it says of itself is."""
    gadgets = WatchedResource(group="gadgets.example.com", version="v1", resource="gadgets")
    spec = WatcherSpec(resources=[gadgets], handlers=[Handler(type="log")])
    created = await cluster.client.create(Watcher(meta("w"), spec))
    await cluster.eventually(lambda: ready(cluster) == "NoSuchResource", within=60)
    resources = [{"version": "v1", "resource": "configmaps"}]
    await cluster.client.patch(created, {"spec": {"resources": resources}})
    await cluster.eventually(lambda: ready(cluster) == "Watching", within=60)
    await cluster.client.create(Watcher(meta("gone"), spec))
    await cluster.client.delete(created)
    await cluster.eventually(lambda: [one.name for one in cluster.list(Watcher)] == ["gone"], within=60)


async def test_a_crash_at_any_write_makes_no_difference() -> None:
    """It writes nothing but its status."""
    writes = await survive_crashes(operator, watch_and_change_what_is_watched)
    assert {write.rpartition("/")[2] for write in writes} == {"status"}


async def test_a_kill_makes_no_difference() -> None:
    """The same with real processes and SIGKILL, at two of the writes; STEERSMAN_PROCESS_CRASHES=all takes every one."""
    killed = await survive_process_crashes("kubewatch.main:operator", watch_and_change_what_is_watched, at_most=2)
    assert killed
