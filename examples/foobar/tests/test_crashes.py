"""The operator crashes at each of its writes, and another instance takes over."""

from steersman import meta
from steersman.kinds.core_v1 import ConfigMap
from steersman.testing import Cluster, survive_crashes, survive_process_crashes

from foobar.actions import MARK
from foobar.api.foo_bar_v1 import FooBar, FooBarSpec
from foobar.main import operator


def marked(cluster: Cluster) -> list[str]:
    """Return the names of the marked targets."""
    return [one.name for one in cluster.list(ConfigMap) if MARK in one.annotations]


def is_applied(cluster: Cluster) -> bool:
    """Return whether the current generation of the only FooBar is applied."""
    [found] = cluster.list(FooBar)
    return (found.status.status, found.status.observed_generation) == ("ApplySucceed", found.generation)


async def apply_move_and_revoke(cluster: Cluster) -> None:
    """Create, change and delete a FooBar."""
    for name in ("one", "two"):
        await cluster.client.create(ConfigMap(meta(name)))
    created = await cluster.client.create(FooBar(meta("a"), FooBarSpec(target="one")))
    await cluster.eventually(lambda: is_applied(cluster), within=60)
    await cluster.client.patch(created, {"spec": {"target": "two"}})
    await cluster.eventually(lambda: is_applied(cluster), within=60)
    assert marked(cluster) == ["two"]
    await cluster.client.delete(created)
    await cluster.eventually(lambda: cluster.list(FooBar) == [], within=60)
    assert marked(cluster) == []


async def test_a_crash_at_any_write_makes_no_difference() -> None:
    """Also in the middle of a revoke, where an operator without durable state would lose track."""
    writes = await survive_crashes(operator, apply_move_and_revoke)
    assert len([write for write in writes if "/foobartasks" in write]) >= 7


async def test_a_killed_process_makes_no_difference() -> None:
    """With real processes and SIGKILL, at two of the writes; at all of them with STEERSMAN_PROCESS_CRASHES=all."""
    killed = await survive_process_crashes("foobar.main:operator", apply_move_and_revoke, at_most=2)
    assert len(killed) >= 2
