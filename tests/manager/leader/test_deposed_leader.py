"""A leader that was paused while another was elected, as a real process that is stopped and continued."""

import asyncio
import os
import signal
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from steersman.apiserver.server import ApiServer
from steersman.client.client import Client
from steersman.clock import RealClock
from steersman.informer.list_watch_driver import ApiConnection
from steersman.kinds.core_v1 import ConfigMap
from steersman.manager.leader.election import ElectionOptions
from steersman.manager.leader.lease import LeaseTiming
from steersman.manager.leader.thread import elect_here
from steersman.objects.meta import meta
from steersman.randomness import Randomness
from steersman.serving.server import Server
from steersman.testing.eventually import eventually
from steersman.testing.faults import Faults, Refuse
from steersman.transport.in_memory import InMemoryTransport

#: Its arguments are the URL of the server and the seconds of the lease.
LEADER = """
import asyncio, sys
from steersman import Context, Operator
from steersman.errors import LeadershipLost
from steersman.kinds.core_v1 import ConfigMap
from steersman.manager.leader.election import ElectionOptions
from steersman.manager.leader.lease import LeaseTiming
from steersman.manager.main import run_operators
from steersman.manager.manager import ManagerOptions
from steersman.transport.config import ClusterConfig

operator = Operator("deposed")

@operator.reconciler(ConfigMap)
async def reconcile(config_map: ConfigMap, ctx: Context[ConfigMap]) -> None:
    if not config_map.data:
        await ctx.patch(config_map, {"data": {"written": "yes"}})

async def main(url: str, lease: float) -> None:
    timing = LeaseTiming(lease=lease, renew_deadline=lease * 2 / 3, retry=lease / 6)
    election = ElectionOptions(name="op", namespace="default", identity="paused", timing=timing)
    await run_operators([operator], ClusterConfig(server=url), ManagerOptions(election=election), asyncio.Event())

try:
    asyncio.run(main(sys.argv[1], float(sys.argv[2])))
except LeadershipLost:
    sys.exit(3)
"""
LEASE = 3.0


@asynccontextmanager
async def leader(url: str) -> AsyncIterator[asyncio.subprocess.Process]:
    """Run the operator as a process for the block."""
    process = await asyncio.create_subprocess_exec(sys.executable, "-c", LEADER, url, str(LEASE))
    try:
        yield process
    finally:
        if process.returncode is None:
            process.kill()
        await process.wait()


def is_stopped(pid: int) -> bool:
    """Return whether a process is stopped by a signal."""
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "T"


async def test_a_leader_that_was_paused_while_a_write_waited_does_not_send_it() -> None:
    """The write waits for ``Retry-After`` when the process is paused; another replica leads before it continues."""
    clock = RealClock()
    server = ApiServer(clock=clock)
    faults = Faults(server)
    faults.inject(Refuse(429, "TooManyRequests", retry_after=1), method="PATCH", path="/configmaps/", times=None)
    direct = InMemoryTransport(server, clock=clock)
    await Client(direct, clock=clock).create(ConfigMap(meta("a")))
    successor = ElectionOptions(
        name="op",
        namespace="default",
        identity="successor",
        timing=LeaseTiming(lease=LEASE, renew_deadline=2.0, retry=0.5),
    )
    async with Server(faults, clock=clock) as http, leader(http.url) as process:
        await eventually(lambda: faults.count("PATCH", "/configmaps/"), clock=clock, within=60.0)
        os.kill(process.pid, signal.SIGSTOP)
        await eventually(lambda: is_stopped(process.pid), clock=clock, within=60.0)
        sent = faults.count("PATCH", "/configmaps/")
        async with elect_here(ApiConnection(direct, clock, Randomness()), successor) as leadership:
            async with clock.timeout(30.0):
                await leadership.wait_acquired()
            os.kill(process.pid, signal.SIGCONT)
            async with clock.timeout(30.0):
                assert await process.wait() == 3
            assert faults.count("PATCH", "/configmaps/") == sent
