"""Measures how long clients cannot write when a master dies: ``python -m redis_world.measure``.

The master is killed. A client looks every 20 ms where the service of the master leads, and tries to write there. The
time from the kill to the first write that succeeds is what is measured, on real servers and sentinels of this machine.
"""

import asyncio
import statistics
import sys
import tempfile
from pathlib import Path

from redis.exceptions import RedisError
from steersman.kinds.core_v1 import Pod

from redis_world.world import World, failover_spec
from redisfailover.names import ROLE

_EVERY = 0.02
_TIMES = 5


async def seconds_without_writes(world: World) -> float:
    """Kill the master and wait until a client can write again."""
    clock = world.cluster.clock
    dead = world.seen.status.master
    world.faults(dead).kill()
    begin = clock.monotonic()
    while True:
        await clock.sleep(_EVERY)
        masters = [pod.name for pod in world.cluster.list(Pod) if pod.labels.get(ROLE) == "master"]
        try:
            async with asyncio.timeout(1), world.redis(masters[0]) as redis:
                await redis.set("after", "the failover")
                return clock.monotonic() - begin
        except (RedisError, OSError, IndexError):
            continue


async def measure(down_after: str) -> None:
    """Measure with sentinels that believe a master dead after so many milliseconds."""
    with tempfile.TemporaryDirectory() as folder:
        async with World.start(Path(folder)) as world, world.cluster.running(world.operator):
            spec = failover_spec()
            spec.sentinel.custom_config = [f"down-after-milliseconds {down_after}", "failover-timeout 10000"]
            await world.create(spec)
            took = []
            for _ in range(_TIMES):
                await world.write()
                took.append(await seconds_without_writes(world))
                await world.wait_ready()
                await world.check()
    told = f"median {statistics.median(took):.1f} s, shortest {min(took):.1f} s, longest {max(took):.1f} s"
    sys.stdout.write(f"down-after-milliseconds {down_after}: {told} of {_TIMES}\n")


async def _main() -> None:
    for down_after in ("5000", "1000"):
        await measure(down_after)


if __name__ == "__main__":
    asyncio.run(_main())
