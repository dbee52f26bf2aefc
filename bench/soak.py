"""A soak: an operator under load and faults for some minutes. Its memory must stay flat and nothing may be lost.

``python -m bench soak [MINUTES]``. The server is another process; it drops watches, refuses requests and loses answers.
Objects are created, changed and deleted at random; now and then the world is compared with what was asked for.
"""

import asyncio
import gc
import logging
import resource
import subprocess
import sys
import time
from pathlib import Path

from steersman import Client, Context, Model, Operator, Resource, Status, SteersmanError, custom_resource, meta
from steersman.apiserver.server import ApiServer
from steersman.clock import RealClock
from steersman.concurrency import background, wait_ready
from steersman.kinds.core_v1 import ConfigMap
from steersman.manager.manager import Manager, ManagerOptions
from steersman.randomness import Randomness
from steersman.serving.server import Server
from steersman.testing.eventually import eventually
from steersman.testing.faults import Fault, Faults, Lose, Refuse, Reset
from steersman.transport.config import ClusterConfig
from steersman.transport.http.transport import HttpTransport

MINUTES, OBJECTS, ROUND_SECONDS, FAULT_SECONDS = 3.0, 200, 10.0, 0.5
FAULTS: tuple[Fault, ...] = (Reset(), Lose(), Refuse(500), Refuse(409, "Conflict"), Refuse(429, "TooManyRequests"))


class SoakSpec(Model):
    """The wanted state."""

    children: int = 0


class SoakStatus(Status):
    """The observed state."""

    children: int = 0


@custom_resource("soak.example.com/v1")
class Soak(Resource[SoakSpec, SoakStatus]):
    """A kind with children."""


operator = Operator("soak")


@operator.reconciler(Soak, owns=[ConfigMap], workers=8)
async def reconcile(soak: Soak, ctx: Context[Soak]) -> None:
    """Create and delete children."""
    for number in range(soak.spec.children):
        await ctx.apply(ConfigMap(meta(f"{soak.name}-{number}"), data={"generation": str(soak.generation)}))
    await ctx.prune(ConfigMap)
    soak.status.children = soak.spec.children


@reconcile.cleanup
async def cleanup(_: Soak, ctx: Context[Soak]) -> None:
    """Delete the children."""
    for child in ctx.owned(ConfigMap):
        await ctx.delete(child)


async def serve() -> None:
    """Serve an API with random failures until killed; print the port first."""
    clock = RealClock()
    faults = Faults(ApiServer(clock=clock))
    async with Server(faults, clock=clock) as server:
        print(server.port, flush=True)
        number = 0
        while True:
            await asyncio.sleep(FAULT_SECONDS)
            faults.clear()
            number += 1
            if number % 6 == 0:
                faults.drop()
            else:
                faults.inject(FAULTS[number % len(FAULTS)], method="PATCH", path="/configmaps/", times=5)


def memory() -> float:
    """Return the memory of this process in MiB, after a collection."""
    gc.collect()
    pages = Path("/proc/self/statm").read_text(encoding="ascii").split()[1]
    return int(pages) * resource.getpagesize() / 2**20


class Storm:
    """Changes objects at random, and records the wanted state."""

    def __init__(self, client: Client) -> None:
        self._client = client
        self._random = Randomness(7)
        self.wanted: dict[str, int] = {}
        self.changes = 0

    async def step(self) -> None:
        """Create, change or delete one object."""
        name = f"s{int(self._random.between(0, OBJECTS)):03d}"
        target = Soak(meta(name, namespace="default"), SoakSpec())
        self.changes += 1
        if name not in self.wanted:
            if await self._client.try_get(Soak, name) is None:
                await self._client.create(Soak(meta(name), SoakSpec(children=2)))
                self.wanted[name] = 2
        elif self._random.between(0.0, 1.0) < 0.2:
            await self._client.delete(target)
            del self.wanted[name]
        else:
            children = int(self._random.between(0, 4))
            await self._client.patch(target, {"spec": {"children": children}})
            self.wanted[name] = children

    async def blow(self, seconds: float) -> None:
        """Change objects for some seconds."""
        until = time.monotonic() + seconds
        while time.monotonic() < until:
            await self.step()
            await asyncio.sleep(0.002)

    async def check(self) -> None:
        """Wait until the observed state is the wanted one."""

        async def as_wanted() -> bool:
            try:
                seen = {soak.name: soak.status.children async for soak in self._client.list(Soak)}
                children = [child.name async for child in self._client.list(ConfigMap)]
            except SteersmanError:
                return False
            return seen == self.wanted and len(children) == sum(self.wanted.values())

        await eventually(as_wanted, clock=RealClock(), within=60.0, message="the world as it was asked for")


async def soak(port: int, minutes: float) -> None:
    """Repeat changes and checks."""
    clock = RealClock()
    config = ClusterConfig(server=f"http://127.0.0.1:{port}")
    transport, other = HttpTransport(config, clock=clock), HttpTransport(config, clock=clock)
    manager = Manager([operator], transport, ManagerOptions(install_crds=True), clock=clock)
    sizes: list[float] = []
    started = time.monotonic()
    async with background(manager.run(), name="manager") as task:
        await wait_ready(manager.wait_ready(), task)
        storm = Storm(Client(other, clock=clock))
        while time.monotonic() - started < minutes * 60:
            await storm.blow(ROUND_SECONDS)
            await storm.check()
            sizes.append(memory())
            shown = f"{storm.changes} changes, {sizes[-1]:.1f} MiB, {len(asyncio.all_tasks())} tasks"
            print(f"{time.monotonic() - started:5.0f} s: {shown}", flush=True)
    await transport.close()
    await other.close()
    settled = sizes[len(sizes) // 3 :]
    growth = settled[-1] - settled[0]
    print(f"memory changed by {growth:+.1f} MiB over the last two thirds; {storm.changes} changes, nothing lost")


def main() -> None:
    """Run for the minutes given on the command line."""
    logging.getLogger("steersman").setLevel(logging.CRITICAL)
    minutes = next((float(argument) for argument in sys.argv[2:] if argument.replace(".", "").isdigit()), MINUTES)
    code = "import asyncio; from bench.soak import serve; asyncio.run(serve())"
    process = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True)  # noqa: S603 - ourselves
    assert process.stdout is not None
    try:
        asyncio.run(soak(int(process.stdout.readline()), minutes))
    finally:
        process.kill()
        process.wait()


if __name__ == "__main__":
    main()
