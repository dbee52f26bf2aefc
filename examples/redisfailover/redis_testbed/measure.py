"""Measure how long clients cannot write when a master fails: ``python -m redis_testbed.measure``.

The master is killed and restarts at once, or it hangs. A client tries to write to the pod that the Service of the
master selects, every 20 ms. The result is the time until the first write that succeeds, with real servers and sentinels
on this machine.
"""

import asyncio
import statistics
import sys
import tempfile
from pathlib import Path

from redis.exceptions import RedisError
from steersman.kinds.core_v1 import Pod

from redis_testbed.testbed import RedisTestbed, failover_spec
from redisfailover.names import ROLE

_EVERY = 0.02
_TIMES = 5


async def seconds_without_writes(testbed: RedisTestbed, fault: str) -> float:
    """Make the master fail, and return the seconds until a client can write again."""
    clock = testbed.cluster.clock
    dead = testbed.faults(testbed.failover.status.master)
    dead.kill() if fault == "kill" else dead.hang()
    begin = clock.monotonic()
    while True:
        await clock.sleep(_EVERY)
        masters = [pod.name for pod in testbed.cluster.list(Pod) if pod.labels.get(ROLE) == "master"]
        try:
            async with testbed.redis(masters[0], within=0.5) as redis:
                await redis.set("after", "the failover")
        except (RedisError, OSError, IndexError):
            continue
        took = clock.monotonic() - begin
        if fault == "hang":
            dead.go_on()
        return took


async def measure(fault: str, down_after: str) -> None:
    """Measure with sentinels that consider a master down after so many milliseconds."""
    with tempfile.TemporaryDirectory() as folder:
        async with RedisTestbed.start(Path(folder)) as testbed, testbed.cluster.running(testbed.operator):
            spec = failover_spec()
            spec.sentinel.custom_config = [f"down-after-milliseconds {down_after}", "failover-timeout 10000"]
            await testbed.create(spec)
            took = []
            for _ in range(_TIMES):
                await testbed.write()
                took.append(await seconds_without_writes(testbed, fault))
                await testbed.wait_condition("Progressing", "False/AsAsked")
                await testbed.wait_ready()
                await testbed.check()
    summary = f"median {statistics.median(took):.1f} s, shortest {min(took):.1f} s, longest {max(took):.1f} s"
    sys.stdout.write(f"{fault}, down-after-milliseconds {down_after}: {summary} of {_TIMES}\n")


async def _main() -> None:
    for fault, down_after in (("kill", "5000"), ("hang", "5000"), ("hang", "1000")):
        await measure(fault, down_after)


if __name__ == "__main__":
    asyncio.run(_main())
