"""The servers that the contract is run on: the embedded one always, a real kube-apiserver if one is configured.

``python -m tools.control_plane run -- pytest tests/contract`` starts and configures one.
"""

import os
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Protocol

from steersman.apiserver.server import ApiServer
from steersman.apiserver.webhook_calls.targets import WebhookOptions
from steersman.client.client import Client
from steersman.client.interfaces import Ref
from steersman.clock import RealClock
from steersman.kinds.core_v1 import Namespace
from steersman.objects.meta import meta
from steersman.randomness import Randomness
from steersman.testing.webhook_calls import WebhookCalls
from steersman.transport.base import Transport
from steersman.transport.config import ClusterConfig
from steersman.transport.http.transport import HttpTransport
from steersman.transport.in_memory import InMemoryTransport

#: The kubeconfig of a real server that may be written to.
KUBECONFIG = os.environ.get("STEERSMAN_CONTRACT_KUBECONFIG", "")


class Server(Protocol):
    """A server under contract."""

    def client(self) -> AbstractAsyncContextManager[Client]:
        """Yield a client in a fresh namespace, which is deleted afterwards."""


class EmbeddedServer:
    """The embedded API server, in this process."""

    def client(self) -> AbstractAsyncContextManager[Client]:
        """Yield a client of a fresh server, which calls webhooks on this machine."""
        clock = RealClock()
        calls = WebhookCalls(clock)
        api = ApiServer(clock=clock, webhooks=WebhookOptions(caller=calls))
        return _client(InMemoryTransport(api, clock=clock), calls)


class RealServer:
    """A kube-apiserver."""

    def client(self) -> AbstractAsyncContextManager[Client]:
        """Yield a client of the server that the environment names."""
        return _client(HttpTransport(ClusterConfig.from_kubeconfig(KUBECONFIG), clock=RealClock()))


@asynccontextmanager
async def _client(transport: Transport, calls: WebhookCalls | None = None) -> AsyncIterator[Client]:
    namespace = f"contract-{Randomness().suffix(8)}"
    client = Client(transport, namespace=namespace, field_manager="contract")
    try:
        await client.create(Namespace(meta(namespace)))
        yield client
        await client.delete(Ref(Namespace, namespace))
    finally:
        await transport.close()
        if calls is not None:
            await calls.close()
