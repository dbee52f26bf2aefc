"""What `steer dev` runs beside the API server: controllers of workloads, a scheduler and a node, in this process."""

import shutil
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from typing import TYPE_CHECKING

from steersman.clock import Clock
from steersman.concurrency import background

if TYPE_CHECKING:
    from steersman.apiserver.local import LocalServer
    from steersman.localcluster.process_node.options import ProcessNodeOptions
    from steersman.manager.operator import Operator

#: Seconds that their work under way gets to finish.
_GRACE = 1.0


@asynccontextmanager
async def local_cluster(
    server: "LocalServer", clock: Clock, process_node: "ProcessNodeOptions | None" = None, *, keep: bool = False
) -> AsyncIterator[None]:
    """Run them inside the block, directly on the server: they need neither a port nor credentials.

    The node simulates pods, unless it is configured to run them as processes. Files of such pods are removed
    afterwards, unless they are to be kept.
    """
    from steersman.apiserver.access.authentication import ADMIN
    from steersman.localcluster.local_cluster import local_operators
    from steersman.manager.manager import Manager, ManagerOptions
    from steersman.transport.in_memory import InMemoryTransport

    with _node(server, process_node, keep=keep) as node:
        transport = InMemoryTransport(server.api.acting_as(ADMIN), clock=clock)
        manager = Manager(local_operators(node=node), transport, ManagerOptions(grace=_GRACE), clock=clock)
        try:
            async with background(manager.run(), name="local cluster"):
                yield
        finally:
            await transport.close()


@contextmanager
def _node(server: "LocalServer", options: "ProcessNodeOptions | None", *, keep: bool) -> Iterator["Operator | None"]:
    """Yield the node that runs processes, ``None`` for the usual one; kubectl logs and exec reach its pods."""
    if options is None:
        yield None
        return
    from steersman.localcluster.process_node.node import ProcessNode

    node = ProcessNode(options)
    node.serve(server.api)
    try:
        yield node.operator
    finally:
        if not keep:
            shutil.rmtree(options.data, ignore_errors=True)
