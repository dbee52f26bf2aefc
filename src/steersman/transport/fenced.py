"""A transport whose writes are sent only while a fence lets them.

It only marks the requests that may change something. The transport that sends them checks the mark right before each
attempt: after waiting for a connection, for credentials or for the ``Retry-After`` of an earlier attempt, and also if
other wrappers stand between.
"""

from contextlib import AbstractAsyncContextManager

from msgspec.structs import replace

from steersman.protocol.http import SAFE_METHODS, Request, Response, Upgraded, WriteFence
from steersman.transport.base import DEFAULT_IDLE, DEFAULT_TIMEOUT, Transport
from steersman.transport.stream import ResponseStream


class FencedTransport:
    """Sends reads always, and everything else only while the fence allows it."""

    def __init__(self, inner: Transport, fence: WriteFence) -> None:
        self._inner = inner
        self._fence = fence

    async def request(self, request: Request, *, timeout: float | None = DEFAULT_TIMEOUT) -> Response:  # noqa: ASYNC109 - the signature of Transport
        """Send; each attempt of a write is checked."""
        return await self._inner.request(self._marked(request), timeout=timeout)

    def stream(
        self, request: Request, *, idle: float | None = DEFAULT_IDLE
    ) -> AbstractAsyncContextManager[ResponseStream]:
        """Stream; a write that is answered by a stream is checked like any other."""
        return self._inner.stream(self._marked(request), idle=idle)

    def upgrade(self, request: Request, *, protocol: str) -> AbstractAsyncContextManager[Upgraded | Response]:
        """Switch protocols if the fence allows it, whatever the method: a command can change anything."""
        return self._inner.upgrade(replace(request, fence=self._fence), protocol=protocol)

    def _marked(self, request: Request) -> Request:
        return request if request.method in SAFE_METHODS else replace(request, fence=self._fence)

    async def ping(self) -> None:
        """Check that the server responds."""
        await self._inner.ping()

    async def close(self) -> None:
        """Close the inner transport."""
        await self._inner.close()

    def __repr__(self) -> str:
        return f"<FencedTransport {self._fence!r} {self._inner!r}>"
