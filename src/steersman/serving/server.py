"""The HTTP/1.1 server: listens, serves one app, and closes without cutting responses off.

It listens on loopback by default. It knows nothing of Kubernetes.
"""

import asyncio
import os
import resource
import ssl
from collections.abc import Callable
from dataclasses import dataclass, replace
from operator import itemgetter
from pathlib import Path
from types import TracebackType
from typing import Self

from steersman.clock import Clock
from steersman.errors import ConfigError
from steersman.protocol.http import App, Response
from steersman.serving.app import AppRunner
from steersman.serving.connection import ServerConnection
from steersman.serving.head import DateHeader
from steersman.serving.limits import ServerLimits

#: Steps of the event loop after which a connection that is being taken has been taken, with some to spare.
_ACCEPTING_STEPS = 5
#: Connections beyond the limit that are open at a time in order to be rejected.
_MOST_REFUSALS = 32
#: Files that the rest of the process needs: databases, logs, connections to webhooks.
_OTHER_FILES = 128


@dataclass(frozen=True, slots=True, kw_only=True)
class Listen:
    """Where to listen; port 0 takes a free one. With a TLS context the server speaks HTTPS."""

    host: str = "127.0.0.1"
    port: int = 0
    tls: ssl.SSLContext | None = None
    #: A Unix socket to listen on instead, which only the user of this process may connect to.
    path: Path | None = None

    def __str__(self) -> str:
        return str(self.path) if self.path is not None else f"{self.host}:{self.port}"


def plain_refusal(status: int, reason: str) -> Response:
    """Return the reason why bytes are not a request, as plain text."""
    return Response(status, [("content-type", "text/plain; charset=utf-8")], f"{reason}\n".encode())


class Server:
    """Serves an app inside ``async with``. Leaving the block drains: see ``ServerLimits.drain``."""

    def __init__(
        self,
        app: App,
        *,
        clock: Clock,
        listen: Listen | None = None,
        limits: ServerLimits | None = None,
        refusal: Callable[[int, str], Response] = plain_refusal,
    ) -> None:
        self.clock = clock
        self.limits = limits or ServerLimits()
        self.refusal = refusal
        self.date = DateHeader(clock)
        self.is_draining = False
        self._listen = listen or Listen()
        self._tasks = asyncio.TaskGroup()
        self.runner = AppRunner(app, self._tasks)
        self._server: asyncio.Server | None = None
        self._port = 0
        #: Every connection there is, in the order in which they came.
        self._connections: dict[ServerConnection, None] = {}
        self._most_connections = _within_open_files(self.limits.connections)
        self._all_gone: asyncio.Future[None] | None = None

    def __repr__(self) -> str:
        state = "closed" if self._server is None else "draining" if self.is_draining else "serving"
        return f"<Server {state} {replace(self._listen, port=self._port)} connections={len(self._connections)}>"

    @property
    def port(self) -> int:
        """The port that it listens on."""
        return self._port

    @property
    def url(self) -> str:
        """Where clients on this machine reach it."""
        host = f"[{self._listen.host}]" if ":" in self._listen.host else self._listen.host
        return f"{'https' if self._listen.tls is not None else 'http'}://{host}:{self._port}"

    async def __aenter__(self) -> Self:
        try:
            self._server = await self._start()
        except (OSError, OverflowError) as error:
            raise ConfigError(f"cannot listen on {self._listen}: {_reason(error)}") from None
        await self._tasks.__aenter__()
        if self._listen.path is None:
            self._port = self._server.sockets[0].getsockname()[1]
        return self

    async def _start(self) -> asyncio.Server:
        loop, listen = asyncio.get_running_loop(), self._listen
        if listen.path is not None:
            # The socket has its mode from the first moment on: no other user can connect in between.
            before = os.umask(0o177)
            try:
                return await loop.create_unix_server(lambda: ServerConnection(self), listen.path, backlog=128)
            finally:
                os.umask(before)
        return await loop.create_server(
            lambda: ServerConnection(self),
            listen.host,
            listen.port,
            ssl=listen.tls,
            backlog=1024,
            ssl_handshake_timeout=self.limits.read_head if listen.tls is not None else None,
            reuse_address=True,
        )

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._drain()
        # What the block raised is the block's affair: the group only has to see its tasks end.
        await self._tasks.__aexit__(None, None, None)

    def joined(self, connection: ServerConnection) -> None:
        """Register a connection; one that the loop was still accepting when the server closed ends at once."""
        self._connections[connection] = None
        if self.is_draining:
            connection.abort()
        elif len(self._connections) > self._most_connections:
            self._make_room(connection)

    def _make_room(self, newcomer: ServerConnection) -> None:
        """Close a connection without a request; if there is none, reject the new one.

        A client that opens connections and does nothing with them must not lock out others, and it cannot be
        distinguished from one that will send its next request in a moment. Closing between two requests harms neither:
        clients open another connection. So the connection ends whose timeout would end it first. A connection with a
        request is never cut off, watches least of all.
        """
        silent = [
            (at, one) for one in self._connections if one is not newcomer and (at := one.gives_way_at) is not None
        ]
        if silent:
            min(silent, key=itemgetter(0))[1].abort()
        elif len(self._connections) > self._most_connections + _MOST_REFUSALS:
            newcomer.abort()
        else:
            newcomer.refuse(503, f"too many connections: {self._most_connections} are being answered; try again later")

    def left(self, connection: ServerConnection) -> None:
        """Unregister a closed connection."""
        self._connections.pop(connection, None)
        if self._all_gone is not None and not self._connections and not self._all_gone.done():
            self._all_gone.set_result(None)

    async def _drain(self) -> None:
        """Accept no new connections, let responses finish within the limit, then break the rest."""
        self.is_draining = True
        if self._server is not None:
            try:
                await _finish_accepting(self._server)
            finally:
                self._server.close()
                if self._listen.path is not None:
                    self._listen.path.unlink(missing_ok=True)
        for connection in list(self._connections):
            connection.drain()
        timer = self.clock.call_later(self.limits.drain, self._abort_all)
        try:
            await self._wait_gone()
        finally:
            timer.cancel()
            self._abort_all()
        self._server = None

    async def _wait_gone(self) -> None:
        if self._connections:
            self._all_gone = asyncio.get_running_loop().create_future()
            await self._all_gone

    def _abort_all(self) -> None:
        for connection in list(self._connections):
            connection.abort()


async def _finish_accepting(server: asyncio.Server) -> None:
    """Accept no new connection, and finish those that are being accepted.

    asyncio accepts a connection in several steps. If the server is closed between two of them the connection is lost:
    it stays open, and nothing refers to it.
    """
    loop = asyncio.get_running_loop()
    if not isinstance(loop, asyncio.SelectorEventLoop):
        return
    for listening in server.sockets:
        loop.remove_reader(listening)
    for _ in range(_ACCEPTING_STEPS):
        turned = loop.create_future()
        loop.call_soon(turned.set_result, None)
        await turned


def _within_open_files(connections: int) -> int:
    """Return how many connections the process can hold: beyond that not even the next one could be rejected."""
    files, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    if files == resource.RLIM_INFINITY:
        return connections
    return max(1, min(connections, files - _OTHER_FILES))


def _reason(error: Exception) -> str:
    number = error.errno if isinstance(error, OSError) else None
    return os.strerror(number) if number is not None and number > 0 else str(error)
