"""A transport without a network: the request goes straight to an app in the same process.

An app responds here as over HTTP: statuses, headers, streams and broken streams, upgrades, retries. There are no bytes
to parse, so it is also the fastest transport; it still never runs the app inside the caller's step.
"""

import asyncio
import logging
from collections.abc import AsyncIterator, Awaitable, Coroutine, Mapping
from contextlib import asynccontextmanager
from typing import Any

from steersman.clock import Clock, Deadline
from steersman.errors import ConnectionFailed, ConnectionLost, NoAnswer
from steersman.protocol.http import App, Peer, Request, Response, Upgraded
from steersman.transport.base import DEFAULT_IDLE, DEFAULT_TIMEOUT
from steersman.transport.http.retry import request_with_retries
from steersman.transport.in_memory_exchange import InMemoryExchange, InMemoryUpgraded
from steersman.transport.stream import ResponseStream

_log = logging.getLogger(__name__)
_INTERNAL_ERROR = Response(500, [("content-type", "text/plain; charset=utf-8")], b"internal error\n")


class InMemoryTransport:
    """Carries requests to an app. ``headers`` are added to every request, as credentials are over HTTP."""

    def __init__(
        self, app: App, *, clock: Clock, headers: Mapping[str, str] | None = None, peer: Peer | None = None
    ) -> None:
        self._app = app
        self._clock = clock
        self._headers = dict(headers or {})
        self._peer = peer or Peer("in-memory")
        #: Exchanges under way, and the task of each app that answers by waiting. A dict, because its order is certain.
        self._running: dict[InMemoryExchange, asyncio.Task[None] | None] = {}
        self._closed = False

    def __repr__(self) -> str:
        return f"<InMemoryTransport exchanges={len(self._running)}>"

    def request(self, request: Request, *, timeout: float | None = DEFAULT_TIMEOUT) -> Coroutine[Any, Any, Response]:
        """Send, and wait for the whole answer; see ``Transport``."""
        return request_with_retries(self._request, request, clock=self._clock, timeout=timeout)

    @asynccontextmanager
    async def stream(self, request: Request, *, idle: float | None = DEFAULT_IDLE) -> AsyncIterator[ResponseStream]:
        """Send, and hand over the answer as it arrives; see ``Transport``."""
        exchange = self._begin(request)
        silence = Deadline(self._clock, lambda: exchange.break_off(NoAnswer(f"not a byte came for {idle or 0:g} s")))
        if idle is not None:
            exchange.on_activity = lambda: silence.set(idle)
            silence.set(idle)
        try:
            answer = await exchange.answer
            yield answer if isinstance(answer, ResponseStream) else _as_stream(answer)
        finally:
            silence.cancel()
            await self._end(exchange)

    @asynccontextmanager
    async def upgrade(self, request: Request, *, protocol: str) -> AsyncIterator[Upgraded | Response]:
        """Request another protocol; see ``Transport``."""
        headers = {**request.headers, "connection": "upgrade", "upgrade": protocol}
        exchange = self._begin(Request(request.method, request.target, headers, request.body, request.fence))
        try:
            answer = await exchange.answer
            yield answer if isinstance(answer, InMemoryUpgraded) else await _as_whole(answer)
        finally:
            await self._end(exchange)

    async def ping(self) -> None:
        """Return at once: an app in the same process cannot be out of reach."""

    async def close(self) -> None:
        """Break all exchanges."""
        self._closed = True
        for exchange in list(self._running):
            exchange.break_off(ConnectionLost("the transport was closed"))

    async def _request(self, request: Request, deadline: float | None) -> Response:
        exchange = self._begin(request)
        timer = None
        if deadline is not None:
            late = NoAnswer("the response was not complete within the timeout")
            left = deadline - self._clock.monotonic()
            timer = self._clock.call_later(max(left, 0.0), lambda: exchange.break_off(late))
        try:
            answer = await exchange.answer
            return answer if isinstance(answer, Response) else await _as_whole(answer)
        finally:
            if timer is not None:
                timer.cancel()
            await self._end(exchange)

    def _begin(self, request: Request) -> InMemoryExchange:
        if self._closed:
            raise ConnectionFailed("the transport is closed")
        if request.fence is not None:
            request.fence.check()
        if self._headers:
            headers = {**self._headers, **request.headers}
            request = Request(request.method, request.target, headers, request.body, request.fence)
        loop = asyncio.get_running_loop()
        exchange = InMemoryExchange(self._peer, loop.create_future(), is_head=request.method == "HEAD")
        self._running[exchange] = None
        # Not at once: a caller that never waits would never let anything else run.
        loop.call_soon(self._handle, request, exchange)
        return exchange

    def _handle(self, request: Request, exchange: InMemoryExchange) -> None:
        if exchange not in self._running:  # the caller was cancelled before the app saw anything
            return
        try:
            work = self._app.handle(request, exchange)
        except Exception:  # noqa: BLE001 - as below
            self._report(request, exchange)
            return
        if work is not None:
            task = asyncio.get_running_loop().create_task(
                self._run(work, request, exchange), name=f"in-memory {request.method} {request.target}"
            )
            self._running[exchange] = task  # its parent is the call under way, which ends it in _end

    async def _run(self, work: Awaitable[None], request: Request, exchange: InMemoryExchange) -> None:
        try:
            await work
        except Exception:  # noqa: BLE001 - an app's bug must not pass for a broken transport
            self._report(request, exchange)

    def _report(self, request: Request, exchange: InMemoryExchange) -> None:
        _log.exception("app failed", extra={"method": request.method, "target": request.target})
        if exchange.is_answered:
            exchange.reset()
        else:
            exchange.respond(_INTERNAL_ERROR)

    async def _end(self, exchange: InMemoryExchange) -> None:
        """Disconnect; an app still at work is cancelled and waited for."""
        task = self._running.pop(exchange, None)
        exchange.hang_up()
        if task is not None and not task.done():
            task.cancel()
            await asyncio.wait({task})


def _as_stream(answer: Response | InMemoryUpgraded) -> ResponseStream:
    if not isinstance(answer, Response):
        raise ConnectionLost("the app switched protocols without a request for it")
    stream = ResponseStream(answer.status, answer.headers)
    if answer.body:
        stream.feed(answer.body)
    stream.finish()
    return stream


async def _as_whole(answer: Response | ResponseStream | InMemoryUpgraded) -> Response:
    match answer:
        case Response():
            return answer
        case ResponseStream():
            return Response(answer.status, answer.headers, b"".join([chunk async for chunk in answer]))
        case InMemoryUpgraded():
            raise ConnectionLost("the app switched protocols without a request for it")
