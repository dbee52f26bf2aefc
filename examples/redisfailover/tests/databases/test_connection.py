"""Connections of the operator to Redis."""

from pathlib import Path

from steersman.concurrency import background

from redis_testbed.testbed import RedisTestbed
from redisfailover.connection import Connection
from redisfailover.observation import Address


async def test_a_cancellation_is_never_lost(tmp_path: Path) -> None:
    """The client library loses one cancellation in ten, and its task continues: the operator would not stop."""
    async with RedisTestbed.start(tmp_path) as testbed, testbed.external_redis() as (host, _):
        address = Address(host, 6379)
        lost = []

        async def ask() -> None:
            async with Connection.to(address) as redis:
                await redis.set("a", "b")
            lost.append("a reply arrived, but no cancellation")

        for moment in range(300):
            answers = len(lost)
            async with background(ask(), name="ask") as task:
                for _ in range(moment % 60):
                    await testbed.cluster.clock.sleep(0)
                is_done = task.done()
            if is_done:
                del lost[answers:]
        assert lost == []
