"""`Transport`: sends requests to an API server; the border between the client and the network.

Implementations: ``http`` (a real server) and ``in_memory`` (an app in the same process). Above this border there are no
sockets, and the only failures are those of the ``TransportError`` family; a response with any status is a success.
"""

from contextlib import AbstractAsyncContextManager
from typing import Protocol

from steersman.protocol.http import Request, Response, Upgraded
from steersman.transport.stream import ResponseStream

#: Timeout of one call in seconds, retries included. A Kubernetes API server gives up after 60 itself.
DEFAULT_TIMEOUT = 120.0
#: Seconds without a byte after which a stream is taken for dead.
DEFAULT_IDLE = 70.0


class Transport(Protocol):
    """Carries requests, for any number of tasks of one event loop; a cancelled call leaves nothing behind."""

    async def request(
        self,
        request: Request,
        *,
        timeout: float | None = DEFAULT_TIMEOUT,  # noqa: ASYNC109 - measured by the injected clock, retries included
    ) -> Response:
        """Send, and wait for the whole answer.

        Tried again where that is safe: what the server asked to repeat (429 or 5xx with ``Retry-After``), reads whose
        connection broke, and once with renewed credentials after a 401. ``timeout`` bounds all of it together.
        """

    def stream(
        self, request: Request, *, idle: float | None = DEFAULT_IDLE
    ) -> AbstractAsyncContextManager[ResponseStream]:
        """Send a request, and yield the response as it arrives: for watches and logs.

        Raises ``NoAnswer`` after ``idle`` seconds without a byte (``None``: wait forever). Only a 401 is retried; other
        failures are left to the caller, who knows what has been received so far.
        """

    def upgrade(self, request: Request, *, protocol: str) -> AbstractAsyncContextManager[Upgraded | Response]:
        """Request another protocol, such as ``websocket``, on a separate connection.

        Yields the raw connection, or the server's response if it does not agree.
        """

    async def ping(self) -> None:
        """Return if the server answers, or has answered a moment ago; raise a ``TransportError`` if it does not.

        Any answer counts, a refusal too.
        """

    async def close(self) -> None:
        """Break all connections; calls under way fail with ``ConnectionLost``."""
