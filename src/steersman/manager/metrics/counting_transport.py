"""`CountingTransport`: a transport that counts its requests."""

from collections.abc import Callable
from contextlib import AbstractAsyncContextManager

from steersman.protocol.http import Request, Response
from steersman.transport.base import DEFAULT_IDLE, DEFAULT_TIMEOUT, Transport
from steersman.transport.stream import ResponseStream
from steersman.transport.wrapper import TransportWrapper

#: Called with the method and the status code of each request; ``<error>`` without a response.
Count = Callable[[str, str], None]


class CountingTransport(TransportWrapper):
    """Send requests by another transport, and count them."""

    def __init__(self, inner: Transport, count: Count) -> None:
        super().__init__(inner)
        self._count = count

    async def request(self, request: Request, *, timeout: float | None = DEFAULT_TIMEOUT) -> Response:  # noqa: ASYNC109 - the signature of Transport
        """Send a request, and count the response."""
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
        """Open a stream; its status code is known too late to be counted."""
        self._count(request.method, "stream")
        return self._inner.stream(request, idle=idle)
