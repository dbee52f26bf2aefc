"""Keeps a node's place in the cluster: registers it and renews its Lease, for as long as it runs."""

import logging
from contextlib import suppress

from steersman.client.client import Client
from steersman.client.interfaces import Ref
from steersman.clock import Clock
from steersman.errors import AlreadyExists, ApiError, TransportError
from steersman.kinds.coordination_v1 import Lease
from steersman.kinds.core_v1 import Node
from steersman.localcluster.node_object import (
    LEASE_NAMESPACE,
    RENEW_SECONDS,
    NodeDescription,
    node_lease,
    node_object,
    node_status,
)
from steersman.objects.times import MicroTime

_log = logging.getLogger(__name__)


class NodePresence:
    """Registration and lease renewal of one node."""

    def __init__(self, description: NodeDescription, client: Client, clock: Clock) -> None:
        self._description = description
        self._client = client
        self._clock = clock

    async def register(self) -> Node:
        """Create the Node object, ready; take over an existing one."""
        now = self._clock.now()
        with suppress(AlreadyExists):
            await self._client.create(node_object(self._description, now))
        node = await self._tell(is_ready=True)
        try:
            await self._client.create(node_lease(node, now))
        except AlreadyExists:
            await self._renew()
        return node

    async def run(self) -> None:
        """Renew the lease forever; a failed renewal is retried the next time."""
        while True:
            await self._clock.sleep(RENEW_SECONDS)
            try:
                await self._renew()
            except (ApiError, TransportError) as error:
                _log.warning("lease not renewed", extra={"node": self._description.name, "error": str(error)})

    async def leave(self) -> None:
        """Mark the node as not running pods; its objects stay, as those of a stopped kubelet do."""
        await self._tell(is_ready=False)

    async def _tell(self, *, is_ready: bool) -> Node:
        now = self._clock.now()

        def change(node: Node) -> None:
            node.status = node_status(self._description, now, node.status, is_ready=is_ready)

        return await self._client.status.modify(Ref(Node, self._description.name), change)

    async def _renew(self) -> None:
        renewed = {"renewTime": str(MicroTime.of(self._clock.now()))}
        reference = Ref(Lease, self._description.name, LEASE_NAMESPACE)
        await self._client.patch(reference, {"spec": renewed})
