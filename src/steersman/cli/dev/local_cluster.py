"""What `steer dev` runs beside the API server: controllers of workloads, a scheduler and a node, in this process."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from steersman.clock import Clock
from steersman.concurrency import background

if TYPE_CHECKING:
    from steersman.apiserver.local import LocalServer

#: Seconds that their work under way gets to finish.
_GRACE = 1.0


@asynccontextmanager
async def local_cluster(server: "LocalServer", clock: Clock) -> AsyncIterator[None]:
    """Run them inside the block, on the server itself: they need neither a port nor credentials."""
    from steersman.apiserver.authentication import ADMIN
    from steersman.localcluster.local_cluster import local_operators
    from steersman.manager.manager import Manager, ManagerOptions
    from steersman.transport.in_memory import InMemoryTransport

    transport = InMemoryTransport(server.api.acting_as(ADMIN), clock=clock)
    manager = Manager(local_operators(), transport, ManagerOptions(grace=_GRACE), clock=clock)
    try:
        async with background(manager.run(), name="local cluster"):
            yield
    finally:
        await transport.close()
