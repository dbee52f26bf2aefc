"""The operator is gone after each of its writes, to the API server and to Redis, over a whole life."""

import itertools
import os
from collections.abc import Callable
from pathlib import Path

import pytest
from steersman.testing import PROCESS_CRASHES_VARIABLE, crash_once, crash_once_at_each_write

from redis_world.mortal import SomeWriteLater, mortal_operator
from redis_world.stories import (
    EVENTS,
    LIVES,
    Story,
    all_sentinels_go,
    all_servers_die,
    backups_are_made,
    it_is_deleted,
    it_is_made,
    it_is_updated,
    sentinels_come_and_go,
    servers_come_and_go,
    settings_change,
    the_master_dies,
)
from redis_world.world import World

PODS = "DELETE /api/v1/namespaces/default/pods"
#: What somebody must have died of in each part of a life, whatever the sentinels do by themselves meanwhile.
FATAL: dict[Story, set[str]] = {
    it_is_made: {"redis: REPLICAOF", "redis: SENTINEL MONITOR", "redis: SENTINEL SET failover-timeout"},
    the_master_dies: set(),
    settings_change: {"redis: CONFIG SET maxmemory", "redis: CONFIG SET hz"},
    it_is_updated: {"redis: REPLICAOF", f"{PODS}/rfr-a-0", f"{PODS}/rfr-a-1", f"{PODS}/rfr-a-2"},
    backups_are_made: {"redis: write a backup"},
    it_is_deleted: set(),
    all_sentinels_go: {"redis: SENTINEL MONITOR", "redis: SENTINEL SET failover-timeout"},
    sentinels_come_and_go: {"redis: SENTINEL SET quorum", "redis: SENTINEL REMOVE", "redis: SENTINEL MONITOR"},
    servers_come_and_go: {"redis: REPLICAOF", "redis: SENTINEL REMOVE", "redis: SENTINEL MONITOR"},
    all_servers_die: set(),
}


@pytest.mark.parametrize(
    "parts",
    [
        (it_is_made, the_master_dies, settings_change, it_is_updated, backups_are_made, it_is_deleted),
        (it_is_made, all_sentinels_go, sentinels_come_and_go, servers_come_and_go, all_servers_die, it_is_deleted),
    ],
    ids=["changed", "resized"],
)
async def test_an_operator_that_dies_at_each_kind_of_write_loses_nothing(tmp_path: Path, parts: list[Story]) -> None:
    """A whole life: in each of its parts one instance after the other dies, at something that none died of before."""
    async with World.start(tmp_path) as world:
        for story in parts:
            async with crash_once_at_each_write(world.cluster, mortal_operator(world.backups)) as lives:
                await story(world)
            assert {one[-1] for one in lives} >= FATAL[story]


@pytest.mark.skipif(
    os.environ.get(PROCESS_CRASHES_VARIABLE) != "all", reason=f"takes an hour: say {PROCESS_CRASHES_VARIABLE}=all"
)
@pytest.mark.parametrize("story", [*EVENTS, *LIVES], ids=lambda story: story.__name__)
async def test_an_operator_that_dies_at_any_single_write_loses_nothing(
    tmp_path: Path, story: Story, record_property: Callable[[str, object], None]
) -> None:
    """One death for each write: the story is told anew, until there is no further write to die at."""
    async with World.start(tmp_path) as world:
        await world.cluster.install(*world.operator.kinds)
        if story in EVENTS:
            async with world.cluster.running(world.operator):
                await it_is_made(world)
        died: list[str] = []
        for number in itertools.count(1):
            doom = SomeWriteLater(number)
            async with crash_once(world.cluster, mortal_operator(world.backups), doom) as first:
                await world.cluster.settle()
                doom.count_from(first)
                await story(world)
                if not first.is_cut:
                    break
                died.append(first.writes[-1])
        assert died
        record_property("died", died)
