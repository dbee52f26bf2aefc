"""`PropagatingTransport`: a transport whose requests carry the trace context of the run that sends them.

The API server passes it on to webhooks, so that their spans belong to the same trace.
"""

from collections.abc import Callable, Mapping

from msgspec.structs import replace

from steersman.manager.metrics.counting_transport import Count, CountingTransport
from steersman.protocol.http import Request, Response
from steersman.transport.base import DEFAULT_TIMEOUT, Transport


class PropagatingTransport(CountingTransport):
    """Send and count requests, with further headers."""

    def __init__(self, inner: Transport, count: Count, headers: Callable[[], Mapping[str, str]]) -> None:
        super().__init__(inner, count)
        self._headers = headers

    async def request(self, request: Request, *, timeout: float | None = DEFAULT_TIMEOUT) -> Response:  # noqa: ASYNC109 - the signature of Transport
        """Send a request with the headers of this moment."""
        if headers := self._headers():
            request = replace(request, headers={**headers, **request.headers})
        return await super().request(request, timeout=timeout)
