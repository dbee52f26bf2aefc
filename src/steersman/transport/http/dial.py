"""Opens connections: TCP, through a proxy if there is one, TLS if the server wants it, each step within its limit."""

import asyncio
import base64
import os
import socket
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Final

from msgspec import Struct

from steersman.clock import Clock
from steersman.errors import ConnectionFailed, TlsError
from steersman.transport.endpoint import Endpoint, Proxy
from steersman.transport.http.connection import Connection
from steersman.transport.limits import Limits

#: An unreachable peer is noticed within 25 s, also on a quiet watch: the system probes after 10 s and gives up after 3
#: probes, 5 s apart; bytes that are not acknowledged for 25 s break the connection too. Where both are set, Linux uses
#: the second time for the probes as well. Constants that a system lacks are left out; ``TCP_KEEPALIVE`` is what macOS
#: calls ``TCP_KEEPIDLE``.
SOCKET_OPTIONS: Final = (
    ("SOL_SOCKET", "SO_KEEPALIVE", 1),
    ("IPPROTO_TCP", "TCP_KEEPIDLE", 10),
    ("IPPROTO_TCP", "TCP_KEEPALIVE", 10),
    ("IPPROTO_TCP", "TCP_KEEPINTVL", 5),
    ("IPPROTO_TCP", "TCP_KEEPCNT", 3),
    ("IPPROTO_TCP", "TCP_USER_TIMEOUT", 25_000),
)
_LONGEST_PROXY_ANSWER = 64 * 1024


class Route(Struct, frozen=True):
    """The way to a server."""

    endpoint: Endpoint
    proxy: Proxy | None
    #: ``None`` for a server without TLS.
    context: ssl.SSLContext | None
    server_name: str | None


async def dial(connection: Connection, route: Route, *, clock: Clock, limits: Limits) -> None:
    """Open the connection, or raise ``ConnectionFailed`` or ``TlsError`` and leave nothing half open."""
    first_hop = route.proxy.endpoint if route.proxy is not None else route.endpoint
    if route.proxy is None:
        transport = await _connect(connection, first_hop, clock=clock, limits=limits)
    else:
        tunnel = _Tunnel(route.endpoint, route.proxy)
        transport = await _connect(tunnel, first_hop, clock=clock, limits=limits)
        transport = await _through_proxy(transport, tunnel, route.proxy, clock=clock, limits=limits)
        transport.set_protocol(connection)
        connection.connection_made(transport)
    if route.context is not None:
        name = route.server_name or route.endpoint.host
        async with _handshake(transport, route.endpoint, clock=clock, limits=limits):
            loop = asyncio.get_running_loop()
            secured = await loop.start_tls(transport, connection, route.context, server_hostname=name)
        if secured is None:
            raise ConnectionFailed(f"{route.endpoint}: the connection broke during the TLS handshake")
        connection.transport = secured


def _reason(error: OSError) -> str:
    """Return the system's text for an error; asyncio replaces it by "Connect call failed"."""
    if isinstance(error, socket.gaierror) or not error.errno:
        return error.strerror or str(error)
    return os.strerror(error.errno)


async def _connect(protocol: asyncio.Protocol, to: Endpoint, *, clock: Clock, limits: Limits) -> asyncio.Transport:
    loop = asyncio.get_running_loop()
    try:
        async with clock.timeout(limits.connect):
            transport, _ = await loop.create_connection(lambda: protocol, to.host, to.port)
    except TimeoutError:
        raise ConnectionFailed(f"{to}: not reached within {limits.connect:g} s") from None
    except OSError as error:
        raise ConnectionFailed(f"{to}: {_reason(error)}") from None
    notice_dead_peers(transport.get_extra_info("socket"))
    return transport


def notice_dead_peers(sock: socket.socket) -> None:
    """Set the TCP options by which the system notices an unreachable peer."""
    for level, option, value in SOCKET_OPTIONS:
        if hasattr(socket, option):
            sock.setsockopt(getattr(socket, level), getattr(socket, option), value)


def allow_stalled_peer(sock: socket.socket) -> None:
    """Allow the peer to stop reading for any time.

    The timeout of unacknowledged bytes also ends a connection whose peer is alive but has no room: a command in a
    container that does not read its input. On an upgraded connection that is flow control. Probes still notice a dead
    peer while nothing waits to be sent; otherwise the system's own, much longer limit does.
    """
    if hasattr(socket, "TCP_USER_TIMEOUT"):
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, 0)


@asynccontextmanager
async def _handshake(
    transport: asyncio.Transport, to: Endpoint, *, clock: Clock, limits: Limits
) -> AsyncIterator[None]:
    try:
        async with clock.timeout(limits.handshake):
            yield
    except TimeoutError:
        raise TlsError(f"{to}: no TLS handshake within {limits.handshake:g} s") from None
    except ssl.SSLCertVerificationError as error:
        raise TlsError(f"{to}: the server's certificate does not fit: {error.verify_message}") from None
    except ssl.SSLError as error:
        raise TlsError(f"{to}: {error.reason or error}") from None
    except OSError as error:
        raise ConnectionFailed(f"{to}: the connection broke during the TLS handshake: {error}") from None
    except BaseException:
        transport.abort()
        raise


class _Tunnel(asyncio.Protocol):
    """Asks a proxy for a way through, and reads no further than its answer."""

    def __init__(self, target: Endpoint, proxy: Proxy) -> None:
        self._target = target
        self._proxy = proxy
        self._answer = b""
        self.opened: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    def ask(self, transport: asyncio.Transport) -> None:
        """Send the request."""
        authority = self._target.authority
        login = ""
        if self._proxy.login is not None:
            encoded = base64.b64encode(self._proxy.login.reveal().encode()).decode()
            login = f"proxy-authorization: Basic {encoded}\r\n"
        transport.write(f"CONNECT {authority} HTTP/1.1\r\nhost: {authority}\r\n{login}\r\n".encode())

    def data_received(self, data: bytes) -> None:
        """Wait for the end of the head: after it, not a byte may come before we speak."""
        self._answer += data
        head, end, surplus = self._answer.partition(b"\r\n\r\n")
        if end:
            words = head.split(b"\r\n", 1)[0].split(b" ", 2)
            if words[0] in (b"HTTP/1.1", b"HTTP/1.0") and len(words) > 1 and words[1].startswith(b"2") and not surplus:
                self._settle(None)
            else:
                self._settle(f"refused the connection: {words[1:2]!r}")
        elif len(self._answer) > _LONGEST_PROXY_ANSWER:
            self._settle("did not answer in HTTP")

    def connection_lost(self, exc: Exception | None) -> None:
        """Fail, unless the tunnel was established already."""
        self._settle(f"closed the connection{f': {exc}' if exc else ''}")

    def _settle(self, problem: str | None) -> None:
        if self.opened.done():
            return
        if problem is None:
            self.opened.set_result(None)
        else:
            self.opened.set_exception(
                ConnectionFailed(f"{self._target}: the proxy {self._proxy.endpoint.authority} {problem}")
            )


async def _through_proxy(
    transport: asyncio.Transport, tunnel: _Tunnel, proxy: Proxy, *, clock: Clock, limits: Limits
) -> asyncio.Transport:
    if proxy.endpoint.is_tls:
        context = ssl.create_default_context()
        async with _handshake(transport, proxy.endpoint, clock=clock, limits=limits):
            loop = asyncio.get_running_loop()
            secured = await loop.start_tls(transport, tunnel, context, server_hostname=proxy.endpoint.host)
        if secured is None:
            raise ConnectionFailed(f"{proxy.endpoint}: the connection broke during the TLS handshake")
        transport = secured
    tunnel.ask(transport)
    try:
        async with clock.timeout(limits.connect):
            await tunnel.opened
    except TimeoutError:
        transport.abort()
        raise ConnectionFailed(f"the proxy {proxy.endpoint.authority} did not answer") from None
    except BaseException:
        transport.abort()
        raise
    return transport
