"""A transport that counts its requests."""

from collections.abc import Callable
from contextlib import AbstractAsyncContextManager

from steersman.protocol.http import Request, Response, Upgraded
from steersman.transport.base import DEFAULT_IDLE, DEFAULT_TIMEOUT, Transport
from steersman.transport.stream import ResponseStream

#: Told of the method and the status code of each request; ``<error>`` where no answer came.
Count = Callable[[str, str], None]


class CountingTransport:
    """Carries requests as another transport does, and counts them."""

    def __init__(self, inner: Transport, count: Count) -> None:
        self._inner = inner
        self._count = count

    async def request(self, request: Request, *, timeout: float | None = DEFAULT_TIMEOUT) -> Response:  # noqa: ASYNC109 - the signature of Transport
        """Send, and count the answer."""
        code = "<error>"
        try:
            response = await self._inner.request(request, timeout=timeout)
            code = str(response.status)
        finally:
            self._count(request.method, code)
        return response

    def stream(
        self, request: Request, *, idle: float | None = DEFAULT_IDLE
    ) -> AbstractAsyncContextManager[ResponseStream]:
        """Stream; a stream's answer is known too late to be counted by its code."""
        self._count(request.method, "stream")
        return self._inner.stream(request, idle=idle)

    def upgrade(self, request: Request, *, protocol: str) -> AbstractAsyncContextManager[Upgraded | Response]:
        """Switch protocols."""
        return self._inner.upgrade(request, protocol=protocol)

    async def ping(self) -> None:
        """Ask the server for a sign of life."""
        await self._inner.ping()

    async def close(self) -> None:
        """Close the transport inside."""
        await self._inner.close()

    def __repr__(self) -> str:
        return repr(self._inner)
