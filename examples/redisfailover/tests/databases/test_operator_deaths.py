"""The operator is gone after each of its writes, to the API server and to Redis, over a whole life."""

import itertools
import os
from collections.abc import Callable
from pathlib import Path

import pytest
from steersman.testing.crashes import dying_once, dying_once_at_each_write
from steersman.testing.kills import VARIABLE

from redis_world.mortal import SomeWriteLater, mortal_operator
from redis_world.stories import EVENTS, LIVES, Story, it_is_deleted, it_is_made
from redis_world.world import World

#: What somebody must have died of in each part of a life: the steps that are hard to take twice.
FATAL: dict[str, set[str]] = {
    "it_is_made": {"REPLICAOF", "SENTINEL MONITOR"},
    "the_master_dies": {"SENTINEL FAILOVER"},
    "settings_change": {"CONFIG SET maxmemory"},
    "it_is_updated": {"CLIENT PAUSE", "SENTINEL FAILOVER", "REPLICAOF"},
    "all_sentinels_go": {"SENTINEL MONITOR"},
    "sentinels_come_and_go": {"SENTINEL SET quorum", "SENTINEL REMOVE", "SENTINEL MONITOR"},
    "servers_come_and_go": {"REPLICAOF", "SENTINEL REMOVE"},
    "all_servers_die": {"REPLICAOF"},
    "backups_are_made": {"write a backup"},
    "it_is_deleted": set(),
}


async def test_an_operator_that_dies_at_each_kind_of_write_loses_nothing(tmp_path: Path) -> None:
    """A whole life: in each of its parts one instance after the other dies, at something that none died of before."""
    async with World.start(tmp_path) as world:
        for story in (it_is_made, *EVENTS, it_is_deleted):
            async with dying_once_at_each_write(world.cluster, mortal_operator(world.backups)) as lives:
                await story(world)
            assert {one[-1] for one in lives} >= FATAL[story.__name__]


@pytest.mark.skipif(os.environ.get(VARIABLE) != "all", reason=f"takes an hour: say {VARIABLE}=all")
@pytest.mark.parametrize("story", [*EVENTS, *LIVES], ids=lambda story: story.__name__)
async def test_an_operator_that_dies_at_any_single_write_loses_nothing(
    tmp_path: Path, story: Story, record_property: Callable[[str, object], None]
) -> None:
    """One death for each write: the story is told anew, until there is no further write to die at."""
    async with World.start(tmp_path) as world:
        if story in EVENTS:
            async with world.cluster.running(world.operator):
                await it_is_made(world)
        died: list[str] = []
        for number in itertools.count(1):
            doom = SomeWriteLater(number)
            async with dying_once(world.cluster, mortal_operator(world.backups), doom) as first:
                await world.cluster.settle()
                doom.count_from(first)
                await story(world)
                if not first.is_cut:
                    break
                died.append(first.writes[-1])
        assert died
        record_property("died", died)
