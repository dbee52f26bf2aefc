"""The HTTP/1.1 client: connections kept alive, one exchange each, retries where they are safe.

A request costs no task, no lock and, if a connection is idle, no waiting but for the response. A cancelled call closes
its connection: its response can never reach the next request.
"""

import asyncio
from collections.abc import AsyncIterator, Coroutine
from contextlib import asynccontextmanager
from typing import Any

from steersman.clock import Clock
from steersman.errors import ConfigError, ConnectionFailed, ConnectionLost, NoAnswer
from steersman.protocol.http import Request, Response, Upgraded, WriteFence
from steersman.transport.auth.credentials import Identity
from steersman.transport.base import DEFAULT_IDLE, DEFAULT_TIMEOUT
from steersman.transport.config import ClusterConfig
from steersman.transport.endpoint import Endpoint
from steersman.transport.http.connection import Connection
from steersman.transport.http.dial import Route, allow_stalled_peer, dial
from steersman.transport.http.pool import Pool
from steersman.transport.http.receivers import StreamedResponse, UpgradedConnection, WholeResponse, agreed_to_upgrade
from steersman.transport.http.retry import READS, request_with_retries
from steersman.transport.http.tls import TlsContexts
from steersman.transport.http.wire import Encoder, Wire
from steersman.transport.limits import Limits
from steersman.transport.server_liveness import ServerLiveness
from steersman.transport.stream import ResponseStream
from steersman.version import __version__

_UNAUTHORIZED = 401
#: Every API server answers this path at once, without permissions and however busy it is; a rejection counts, too.
_PING = Request("GET", "/livez")


class HttpTransport:
    """Carries requests to one API server. Close it when done."""

    def __init__(
        self, config: ClusterConfig, *, clock: Clock, limits: Limits | None = None, user_agent: str | None = None
    ) -> None:
        self._config = config
        self._clock = clock
        self._limits = limits or Limits()
        self._endpoint = Endpoint.parse(config.server)
        self._proxy = config.route_proxy()
        self._tls = TlsContexts(config.tls, server=str(self._endpoint)) if self._endpoint.is_tls else None
        self._credentials = config.credentials(clock)
        self._user_agent = user_agent or f"steersman/{__version__}"
        self._identity = Identity()
        self._encoder = self._encoder_for(self._identity)
        self._pool = Pool(self._limits.connections)
        #: All existing connections; ``close`` waits until there is none. Dicts, because their order is certain.
        self._connections: dict[Connection, None] = {}
        #: How to interrupt each connection that is being opened.
        self._dialing: dict[asyncio.Timeout, None] = {}
        self._liveness = ServerLiveness(lambda: self.request(_PING, timeout=self._limits.ping), clock)
        self._closed = False
        self._all_gone: asyncio.Future[None] | None = None

    def __repr__(self) -> str:
        return f"<HttpTransport {self._endpoint} connections={len(self._connections)} {self._pool!r}>"

    def request(self, request: Request, *, timeout: float | None = DEFAULT_TIMEOUT) -> Coroutine[Any, Any, Response]:
        """Send, and wait for the whole answer; see ``Transport``."""
        return request_with_retries(self._request, request, clock=self._clock, timeout=timeout)

    async def ping(self) -> None:
        """Check that the server responds, unless it did a moment ago; see ``Transport``."""
        await self._liveness.check()

    @asynccontextmanager
    async def stream(self, request: Request, *, idle: float | None = DEFAULT_IDLE) -> AsyncIterator[ResponseStream]:
        """Send, and hand over the answer as it arrives; see ``Transport``."""
        identity = await self._use_identity()
        connection, stream = await self._open(request, idle)
        if stream.status == _UNAUTHORIZED and self._renew(identity):
            connection.abort()
            await self._use_identity()
            connection, stream = await self._open(request, idle)
        try:
            yield stream
        finally:
            connection.abort()

    @asynccontextmanager
    async def upgrade(self, request: Request, *, protocol: str) -> AsyncIterator[Upgraded | Response]:
        """Request another protocol; see ``Transport``."""
        await self._use_identity()
        connection, stream = await self._open(request, self._limits.idle, upgrade=protocol)
        try:
            if agreed_to_upgrade(stream):
                connection.limit_silence(None)
                allow_stalled_peer(connection.transport.get_extra_info("socket"))
                yield UpgradedConnection(connection, stream)
            else:
                yield Response(stream.status, stream.headers, await stream.read())
        finally:
            connection.abort()

    async def close(self) -> None:
        """Break all connections."""
        self._closed = True
        for interrupt in self._dialing:
            interrupt.reschedule(asyncio.get_running_loop().time())
        for connection in list(self._connections):
            connection.break_off(ConnectionLost("the transport was closed"))
        if self._connections:
            self._all_gone = asyncio.get_running_loop().create_future()
            await self._all_gone

    # Identity

    def _encoder_for(self, identity: Identity) -> Encoder:
        headers = [("host", self._endpoint.host_header), ("user-agent", self._user_agent)]
        if self._config.compression:
            headers.append(("accept-encoding", "gzip"))
        if identity.authorization is not None:
            headers.append(("authorization", identity.authorization.reveal()))
        return Encoder(path=self._endpoint.path, headers=headers + self._config.impersonation.headers())

    async def _use_identity(self) -> Identity:
        """Use the current identity; another client certificate needs other connections."""
        try:
            identity = self._credentials.current() or await self._credentials.obtain()
        except ConfigError as error:
            raise ConnectionFailed(f"{self._endpoint}: no credentials: {error}") from error
        if identity is not self._identity:
            try:
                self._encoder = self._encoder_for(identity)
            except ValueError:
                raise ConnectionFailed(f"{self._endpoint}: the credentials contain a line break") from None
            if identity.certificate != self._identity.certificate:
                self._retire_connections()
            self._identity = identity
        return identity

    def _renew(self, identity: Identity) -> bool:
        """Return whether, after a 401, a retry would present another identity."""
        renewed = self._credentials.reject(identity)
        if self._tls is not None and self._tls.is_stale(self._identity.certificate):
            self._retire_connections()
            return True
        return renewed

    def _close_idle(self) -> None:
        for connection in self._pool.drain():
            connection.abort()

    def _retire_connections(self) -> None:
        """Use none of the connections for another request: they were opened with another certificate."""
        for connection in self._pool.retire():
            connection.abort()

    # Whole answers

    async def _request(self, request: Request, deadline: float | None) -> Response:
        identity = self._identity
        if self._credentials.current() is not identity:
            identity = await self._use_identity()
        response = await self._exchange(request, deadline)
        if response.status == _UNAUTHORIZED and self._renew(identity):
            await self._use_identity()
            response = await self._exchange(request, deadline)
        return response

    async def _exchange(self, request: Request, deadline: float | None) -> Response:
        wire = self._encoder.encode(request)
        connection = self._pool.take()
        if connection is None:
            connection = await self._acquire(deadline)
        is_reused = connection.uses > 0
        try:
            return await self._answer(connection, wire, request, deadline)
        except ConnectionLost:
            # A server may close an idle connection in the very moment in which it is used again.
            if not is_reused or connection.is_answered or request.method not in READS:
                raise
        self._close_idle()
        return await self._answer(await self._acquire(deadline), wire, request, deadline)

    async def _answer(self, connection: Connection, wire: Wire, request: Request, deadline: float | None) -> Response:
        answer: asyncio.Future[Response] = asyncio.get_running_loop().create_future()
        receiver = WholeResponse(connection, answer, limit=self._limits.body, is_bodiless=request.method == "HEAD")
        if request.fence is not None:
            self._check_fence(request.fence, connection)
        connection.send(wire, receiver, silence=self._limits.idle, due=deadline)
        try:
            response = await answer
        except asyncio.CancelledError:
            connection.cancel(receiver)
            raise
        self._liveness.answered()
        return response

    def _check_fence(self, fence: WriteFence, connection: Connection) -> None:
        """Raise unless the request may be sent now; the connection, which may have been waited for, stays usable."""
        try:
            fence.check()
        except BaseException:
            self._release(connection)
            raise

    async def _acquire(self, deadline: float | None) -> Connection:
        """Wait for an idle connection or a place for a new one, and open that."""
        limit = None if deadline is None else deadline - self._clock.monotonic()
        try:
            async with self._clock.timeout(limit):
                while not self._pool.reserve():
                    connection = await self._wait_in_line()
                    if connection is None:
                        break
                    if connection.is_open:
                        return connection
                try:
                    connection = await self._dial()
                except BaseException:
                    self._pool.cancel_place()
                    raise
        except TimeoutError:
            raise NoAnswer(f"{self._endpoint}: no connection within the time limit") from None
        self._pool.join(connection)
        return connection

    async def _wait_in_line(self) -> Connection | None:
        waiter: asyncio.Future[Connection | None] = asyncio.get_running_loop().create_future()
        self._pool.wait_in_line(waiter)
        try:
            return await waiter
        except asyncio.CancelledError:
            connection = self._pool.leave_line(waiter)
            if connection is not None:
                self._release(connection)
            raise

    def _release(self, connection: Connection) -> None:
        """Keep a connection whose exchange is complete; connections of streams end with their stream."""
        if not self._closed and connection in self._pool:
            if self._pool.give_back(connection):
                connection.keep(self._limits.keep_alive)
        else:
            connection.close()

    # Streams

    async def _open(
        self, request: Request, idle: float | None, *, upgrade: str = ""
    ) -> tuple[Connection, ResponseStream]:
        """Send on a separate connection and wait for the head of the response."""
        wire = self._encoder.encode(request, upgrade=upgrade)
        connection = await self._dial()
        opened: asyncio.Future[ResponseStream] = asyncio.get_running_loop().create_future()
        try:
            if request.fence is not None:
                request.fence.check()
            connection.send(wire, StreamedResponse(connection, opened, self._limits.stream_buffer), silence=idle)
            return connection, await opened
        except BaseException:
            connection.abort()
            raise

    # Connections

    async def _dial(self) -> Connection:
        if self._closed:
            raise ConnectionFailed(f"{self._endpoint}: the transport is closed")
        connection = Connection(clock=self._clock, limits=self._limits, on_free=self._release, on_lost=self._forget)
        route = self._route()
        self._connections[connection] = None
        interrupt = asyncio.timeout(None)
        try:
            async with interrupt:
                self._dialing[interrupt] = None
                await dial(connection, route, clock=self._clock, limits=self._limits)
        except BaseException as error:
            connection.abort()
            self._forget(connection)  # a connection that was never made is never lost
            if isinstance(error, TimeoutError):
                raise ConnectionLost("the transport was closed") from None
            raise
        finally:
            self._dialing.pop(interrupt, None)
        return connection

    def _route(self) -> Route:
        if self._tls is None:
            return Route(self._endpoint, self._proxy, None, None)
        try:
            context = self._tls.current(self._identity.certificate)
        except ConfigError as error:
            raise ConnectionFailed(f"{self._endpoint}: {error}") from error
        return Route(self._endpoint, self._proxy, context, self._tls.server_name)

    def _forget(self, connection: Connection) -> None:
        self._connections.pop(connection, None)
        self._pool.remove(connection)
        if self._all_gone is not None and not self._connections and not self._all_gone.done():
            self._all_gone.set_result(None)


def connect(
    config: ClusterConfig, *, clock: Clock, limits: Limits | None = None, user_agent: str | None = None
) -> HttpTransport:
    """Return a transport to the cluster. Nothing is opened before the first request."""
    return HttpTransport(config, clock=clock, limits=limits, user_agent=user_agent)
