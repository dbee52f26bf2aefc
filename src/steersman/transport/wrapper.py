"""`TransportWrapper`: a transport that passes everything on; its subclasses change what they are named for.

Transports that guard writes (`fenced`, those of a plan) do not use it: a method that `Transport` gets later must not
pass them unnoticed.
"""

from contextlib import AbstractAsyncContextManager

from steersman.protocol.http import Request, Response, Upgraded
from steersman.transport.base import DEFAULT_IDLE, DEFAULT_TIMEOUT, Transport
from steersman.transport.stream import ResponseStream


class TransportWrapper:
    """Sends requests by another transport."""

    def __init__(self, inner: Transport) -> None:
        self._inner = inner

    async def request(self, request: Request, *, timeout: float | None = DEFAULT_TIMEOUT) -> Response:  # noqa: ASYNC109 - the signature of Transport
        """Send a request."""
        return await self._inner.request(request, timeout=timeout)

    def stream(
        self, request: Request, *, idle: float | None = DEFAULT_IDLE
    ) -> AbstractAsyncContextManager[ResponseStream]:
        """Open a stream."""
        return self._inner.stream(request, idle=idle)

    def upgrade(self, request: Request, *, protocol: str) -> AbstractAsyncContextManager[Upgraded | Response]:
        """Switch protocols."""
        return self._inner.upgrade(request, protocol=protocol)

    async def ping(self) -> None:
        """Check that the server answers."""
        await self._inner.ping()

    async def close(self) -> None:
        """Close the inner transport."""
        await self._inner.close()

    def __repr__(self) -> str:
        return repr(self._inner)
