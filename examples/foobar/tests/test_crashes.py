"""The operator is gone at any of its writes, and another instance ends what it began."""

from steersman import meta
from steersman.kinds.core_v1 import ConfigMap
from steersman.testing import Cluster, survive_crashes, survive_process_crashes

from foobar.actions import MARK
from foobar.api.foo_bar_v1 import FooBar, FooBarSpec
from foobar.main import operator


def marked(cluster: Cluster) -> list[str]:
    """Give which targets carry a mark."""
    return [one.name for one in cluster.list(ConfigMap) if MARK in one.annotations]


def is_applied(cluster: Cluster) -> bool:
    """Tell whether the only FooBar says that it is applied, in its present form."""
    [found] = cluster.list(FooBar)
    return (found.status.status, found.status.observed_generation) == ("ApplySucceed", found.generation)


async def apply_move_and_revoke(cluster: Cluster) -> None:
    """Tell the whole life of a FooBar."""
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
    """A restart in the middle of a revoke, or anywhere else, is where such operators lose their memory."""
    writes = await survive_crashes(operator, apply_move_and_revoke)
    assert len([write for write in writes if "/foobartasks" in write]) >= 7


async def test_a_kill_makes_no_difference() -> None:
    """The same with real processes and SIGKILL, at two of the writes; STEERSMAN_PROCESS_CRASHES=all takes every one."""
    killed = await survive_process_crashes("foobar.main:operator", apply_move_and_revoke, at_most=2)
    assert len(killed) >= 2
