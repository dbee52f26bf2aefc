"""The operator is gone after its first write, its successor after its second, and so on; the set does not mind."""

from mongod_world import StartWorld
from steersman.concurrency import background
from steersman.testing.crashes import run_until_crash
from steersman.testing.fuse import Crash

from mgors.main import operator

#: Instances that die, each one write later than the one before.
LIVES = 30


async def test_operators_that_die_one_after_the_other_bring_it_about(start: StartWorld) -> None:
    """A set of three, by operators none of which gets further than one write more than the one before."""
    async with start(is_operated=False) as world:
        dead: list[list[str]] = []

        async def live_and_die() -> None:
            while len(dead) < LIVES:
                dead.append(await run_until_crash(world.cluster, operator, Crash(len(dead) + 1, "after")))

        async with background(live_and_die(), name="lives"):
            await world.create(3)
            await world.until(lambda: len(dead) >= LIVES or (bool(world.primary) and world.is_ready()), within=120)
        async with world.cluster.running(operator):
            await world.until_ready(within=60)
            await world.write(0, 100)
            assert await world.count() == 100
            assert world.events.count("ReplicaSetInitiated") <= 1
        assert len(dead) > 5
        assert [len(writes) for writes in dead] == list(range(1, len(dead) + 1))
