"""A long run: a hundred operators die while twenty things change, and a client writes all the time."""

import logging
import os
from typing import Any

import pytest
from mongod_world import StartWorld, World
from steersman import meta
from steersman.concurrency import background
from steersman.kinds.core_v1 import Secret
from steersman.randomness import Randomness
from steersman.testing import PROCESS_CRASHES_VARIABLE, Crash, run_until_crash

from mgors.main import operator
from mgors.operator import mgors_operator

#: ``pytest -o log_cli=true -o log_cli_level=INFO`` shows how much was written.
log = logging.getLogger("soak")
OPERATORS, PER_CHANGE = 100, 5
_USER = {"name": "app", "db": "app", "passwordSecretRef": {"name": "app"}, "roles": [{"name": "read", "db": "app"}]}
#: What people ask for, one after the other; some of it before the last was done.
CHANGES: list[dict[str, Any]] = [
    {"members": 5},
    {"users": [_USER]},
    {"image": "mongo:6.0.5"},
    {"members": 3},
    {"storage": {"size": "20Gi"}},
    {"image": "mongo:6.0.4"},
    {"backup": {"schedule": "@every 5s", "keep": 2}},
    {"users": []},
    {"members": 5, "image": "mongo:6.0.5"},
    {"featureCompatibilityVersion": "6.0"},
    {"backup": None},
    {"members": 1},
    {"members": 3},
    {"arbiters": 1, "members": 2},
    {"arbiters": 0, "members": 3},
    {"image": "mongo:6.0"},
    {"users": [_USER]},
    {"members": 5},
    {"image": "mongo:6.0.5"},
    {"members": 3},
]


@pytest.mark.skipif(
    os.environ.get(PROCESS_CRASHES_VARIABLE) != "all",
    reason=f"takes ten minutes: {PROCESS_CRASHES_VARIABLE}=all runs it",
)
async def test_a_hundred_operators_die_while_twenty_things_change(start: StartWorld) -> None:
    """Each dies at one of its first writes or after some seconds; nothing that a majority acknowledged is lost."""
    chance = Randomness(1)
    async with start(is_operated=False) as world:
        async with world.cluster.running(operator):
            await world.cluster.client.create(Secret(meta("app", namespace="default"), data={"password": b"x"}))
            await world.create(3)
            await world.until_ready()
            await world.write(0, 100)
        async with world.writing() as writes:
            for number in range(OPERATORS):
                if number % PER_CHANGE == 0:
                    await world.patch(CHANGES[number // PER_CHANGE])
                await live_and_die(world, chance)
            async with world.cluster.running(operator):
                await world.until_ready(3, within=180)
        log.info("%d documents were acknowledged meanwhile", len(writes.acknowledged))
        await world.check(100, writes)
        assert "ForcedReconfig" not in world.events
        assert world.events.count("ReplicaSetInitiated") == 1


async def live_and_die(world: World, chance: Randomness) -> None:
    """Run an operator for some seconds, at the end of which it is gone, if it is not before."""
    death = Crash(int(chance.between(1, 12)), "before" if chance.between(0, 1) < 0.5 else "after")
    life = run_until_crash(world.cluster, mgors_operator, death)

    async def live() -> None:
        await life

    async with background(live(), name="operator"):
        await world.cluster.clock.sleep(chance.between(0.5, 5))
