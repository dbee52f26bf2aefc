"""Measures how long clients cannot write when a master dies: ``python -m redis_world.measure``.

The master is killed, and restarts at once; or it hangs. A client looks every 20 ms where the service of the master
leads, and tries to write there. What is measured is the time until the first write that succeeds, on real servers and
sentinels of this machine.
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


async def seconds_without_writes(world: World, fault: str) -> float:
    """Let the master fail and wait until a client can write again."""
    clock = world.cluster.clock
    dead = world.faults(world.seen.status.master)
    dead.kill() if fault == "kill" else dead.hang()
    begin = clock.monotonic()
    while True:
        await clock.sleep(_EVERY)
        masters = [pod.name for pod in world.cluster.list(Pod) if pod.labels.get(ROLE) == "master"]
        try:
            async with world.redis(masters[0], within=0.5) as redis:
                await redis.set("after", "the failover")
        except (RedisError, OSError, IndexError):
            continue
        took = clock.monotonic() - begin
        if fault == "hang":
            dead.go_on()
        return took


async def measure(fault: str, down_after: str) -> None:
    """Measure with sentinels that believe a master dead after so many milliseconds."""
    with tempfile.TemporaryDirectory() as folder:
        async with World.start(Path(folder)) as world, world.cluster.running(world.operator):
            spec = failover_spec()
            spec.sentinel.custom_config = [f"down-after-milliseconds {down_after}", "failover-timeout 10000"]
            await world.create(spec)
            took = []
            for _ in range(_TIMES):
                await world.write()
                took.append(await seconds_without_writes(world, fault))
                await world.wait_condition("Progressing", "False/AsAsked")
                await world.wait_ready()
                await world.check()
    told = f"median {statistics.median(took):.1f} s, shortest {min(took):.1f} s, longest {max(took):.1f} s"
    sys.stdout.write(f"{fault}, down-after-milliseconds {down_after}: {told} of {_TIMES}\n")


async def _main() -> None:
    for fault, down_after in (("kill", "5000"), ("hang", "5000"), ("hang", "1000")):
        await measure(fault, down_after)


if __name__ == "__main__":
    asyncio.run(_main())
