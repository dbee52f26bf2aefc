"""How the operator speaks with Redis."""

from pathlib import Path

from steersman.concurrency import background

from redis_world.world import World
from redisfailover.connection import Connection
from redisfailover.observation import Address


async def test_a_cancellation_is_never_lost(tmp_path: Path) -> None:
    """The client library forgets one in ten, and its task then lives on: an operator that is to stop would not."""
    async with World.start(tmp_path) as world, world.outside_redis() as (host, _):
        address = Address(host, 6379)
        lost = []

        async def ask() -> None:
            async with Connection.to(address) as redis:
                await redis.set("a", "b")
            lost.append("an answer came, and no cancellation")

        for moment in range(300):
            answers = len(lost)
            async with background(ask(), name="ask") as task:
                for _ in range(moment % 60):
                    await world.cluster.clock.sleep(0)
                is_done = task.done()
            if is_done:
                del lost[answers:]
        assert lost == []
