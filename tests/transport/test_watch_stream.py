"""Watches over real sockets: which silence is accepted, and for how long."""

import asyncio
import socket
import ssl
from asyncio import TaskGroup
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest
import uvloop

from steersman.clock import Clock, RealClock
from steersman.concurrency import background
from steersman.errors import ConnectionFailed, NoAnswer, NotFound
from steersman.protocol.http import Request
from steersman.protocol.watch_frames import Bookmark
from steersman.serving.certificates import CertificateAuthority
from steersman.serving.tls import server_context
from steersman.testing.fake_clock import FakeClock
from steersman.transport.config import ClusterConfig
from steersman.transport.http.dial import SOCKET_OPTIONS
from steersman.transport.http.tls import TlsConfig
from steersman.transport.http.transport import HttpTransport
from steersman.transport.watch_stream import WatchStream, open_watch
from tests.support.peer import OK, PeerConnection, answer, scripted, until
from tests.transport.conftest import Connect

WATCH = Request("GET", "/api/v1/pods?watch=true")
HEAD = b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n"
BOOKMARK = b'{"type":"BOOKMARK","object":{"metadata":{"resourceVersion":"7"}}}\n'
AUTHORITY = CertificateAuthority.create("authority", clock=RealClock())


def chunk(data: bytes) -> bytes:
    """Encode a chunk of a body of unknown length."""
    return f"{len(data):x}\r\n".encode() + data + b"\r\n"


class WatchServer:
    """Starts every watch, and answers other requests while it is alive."""

    def __init__(self, first: bytes = HEAD + chunk(BOOKMARK), others: bytes = OK) -> None:
        self._first = first
        self._others = others
        self.is_alive = True
        self.pings = 0
        self.watches: list[PeerConnection] = []

    async def script(self, connection: PeerConnection) -> None:
        """Follow one connection."""
        while request := await connection.request():
            if b"watch=true" in request:
                self.watches.append(connection)
                await connection.send(self._first)
                await connection.gone()
                return
            self.pings += 1
            if self.is_alive:
                await connection.send(self._others)


class Reader:
    """Reads a watch in a task and stores the result."""

    def __init__(self) -> None:
        self.versions: list[str] = []
        self.failure: Exception | None = None

    async def read(self, transport: HttpTransport, clock: Clock, lasts: float | None = 300.0) -> None:
        """Read to the end."""
        try:
            async with open_watch(transport, WATCH, clock=clock, lasts=lasts) as events:
                await self._follow(events)
        except (ConnectionFailed, NoAnswer, NotFound) as error:
            self.failure = error

    async def _follow(self, events: WatchStream) -> None:
        async for batch in events:
            self.versions += [event.version for event in batch if isinstance(event, Bookmark)]


async def pass_time(clock: FakeClock, seconds: float, reader: Reader) -> float:
    """Advance the time second by second, with socket events in between; return when the watch failed."""
    for second in range(int(seconds)):
        await clock.advance(1.0)
        for _ in range(3):
            await asyncio.wait_for(socket_turn(), 5.0)
        if reader.failure is not None:
            return second + 1.0
    return seconds


async def socket_turn() -> None:
    """Run the event loop until it has processed its sockets."""
    turned = asyncio.get_running_loop().create_future()
    asyncio.get_running_loop().call_later(0.001, turned.set_result, None)
    await turned


@asynccontextmanager
async def reading(
    server: WatchServer, connected: Connect, clock: FakeClock, lasts: float | None = 300.0
) -> AsyncIterator[Reader]:
    """Read a watch of a scripted server inside the block."""
    reader = Reader()
    async with (
        scripted(server.script) as peer,
        connected(peer.url, clock=clock) as transport,
        background(reader.read(transport, clock, lasts), name="reader"),
    ):
        yield reader


async def test_a_quiet_watch_is_kept_while_the_server_answers(connected: Connect) -> None:
    """Nothing changes on most kinds for most of the time, and a bookmark comes only once a minute."""
    server, clock = WatchServer(others=answer(403)), FakeClock()
    async with reading(server, connected, clock) as reader:
        await until(lambda: reader.versions)
        await pass_time(clock, 65.0, reader)
        assert reader.failure is None
        assert 3 <= server.pings <= 4


async def test_a_watch_of_a_server_that_falls_silent_ends_within_half_a_minute(connected: Connect) -> None:
    """The system acknowledges for a process that hangs, and a proxy for a server that is down."""
    server, clock = WatchServer(), FakeClock()
    async with reading(server, connected, clock) as reader:
        await until(lambda: reader.versions)
        await pass_time(clock, 40.0, reader)
        server.is_alive = False
        assert await pass_time(clock, 60.0, reader) <= 30.0
        assert isinstance(reader.failure, ConnectionFailed)


async def test_a_watch_with_events_is_kept_although_the_server_does_not_answer(connected: Connect) -> None:
    """Another connection is not this one: requests may fail at a replica that this watch is not connected to."""
    server, clock = WatchServer(), FakeClock()
    server.is_alive = False
    async with reading(server, connected, clock) as reader:
        await until(lambda: reader.versions)
        for _ in range(5):
            await pass_time(clock, 20.0, reader)
            await server.watches[0].send(chunk(BOOKMARK))
        await pass_time(clock, 10.0, reader)
        assert reader.failure is None
        assert len(reader.versions) == 6
        assert server.pings >= 4


async def test_a_trickle_of_bytes_is_not_progress(connected: Connect) -> None:
    """Neither in the middle of an event nor between events."""
    server, clock = WatchServer(), FakeClock()
    async with reading(server, connected, clock) as reader:
        await until(lambda: reader.versions)
        for byte in (b"{", b'"', b"t"):
            await server.watches[0].send(chunk(byte))
            await pass_time(clock, 24.0, reader)
        assert isinstance(reader.failure, NoAnswer)


async def test_a_watch_without_a_response_head_ends(connected: Connect) -> None:
    """Also if its head arrives byte by byte."""
    server, clock = WatchServer(first=b"HTTP/1.1 200 OK\r\n"), FakeClock()
    async with reading(server, connected, clock) as reader:
        await until(lambda: server.watches)
        for _ in range(3):
            await server.watches[0].send(b"x: y\r\n")
            await pass_time(clock, 10.0, reader)
        await until(lambda: reader.failure)
        assert "begin the watch" in str(reader.failure)


async def test_a_watch_that_exceeds_its_timeout_ends(connected: Connect) -> None:
    """``timeoutSeconds`` is a promise of the server, and the client measures it, too."""
    server, clock = WatchServer(), FakeClock()
    async with reading(server, connected, clock, lasts=20.0) as reader:
        await until(lambda: reader.versions)
        for _ in range(4):
            await server.watches[0].send(chunk(BOOKMARK))
            await pass_time(clock, 10.0, reader)
        assert reader.failure is None
        await pass_time(clock, 11.0, reader)
        assert isinstance(reader.failure, NoAnswer)
        assert "did not end the watch" in str(reader.failure)


async def test_a_rejected_watch_is_the_servers_error(connected: Connect) -> None:
    """A kind that is not served must differ from an unreachable server."""
    server, clock = WatchServer(first=answer(404, b'{"kind":"Status","code":404,"reason":"NotFound"}')), FakeClock()
    async with reading(server, connected, clock) as reader:
        await until(lambda: reader.failure)
        assert isinstance(reader.failure, NotFound)


async def test_watches_share_a_sign_of_life(connected: Connect) -> None:
    """However many kinds an operator watches, it sends one ping; without a response, all watches are notified."""
    server, clock = WatchServer(), FakeClock()
    readers = [Reader() for _ in range(5)]
    async with scripted(server.script) as peer, connected(peer.url, clock=clock) as transport, TaskGroup() as tasks:
        for reader in readers:
            tasks.create_task(reader.read(transport, clock))
        await until(lambda: all(reader.versions for reader in readers))
        await pass_time(clock, 40.0, readers[0])
        assert server.pings == 2
        server.is_alive = False
        assert await pass_time(clock, 60.0, readers[0]) <= 30.0
        await until(lambda: all(reader.failure for reader in readers))
        assert server.pings == 3


async def _options_of_a_connection(*, is_tls: bool) -> dict[str, int]:
    pair = AUTHORITY.issue_server(["127.0.0.1"])
    tls: ssl.SSLContext | None = server_context(certificate=pair.certificate, key=pair.key) if is_tls else None
    server = WatchServer()
    async with scripted(server.script, tls=tls) as peer:
        config = ClusterConfig(server=peer.url, tls=TlsConfig(ca=AUTHORITY.certificate.decode()))
        transport = HttpTransport(config, clock=RealClock())
        try:
            async with transport.stream(WATCH):
                [connection] = transport._connections
                sock: socket.socket = connection.transport.get_extra_info("socket")
                return {
                    option: sock.getsockopt(getattr(socket, level), getattr(socket, option))
                    for level, option, _ in SOCKET_OPTIONS
                    if hasattr(socket, option)
                }
        finally:
            await transport.close()


@pytest.mark.parametrize("run", [asyncio.run, uvloop.run], ids=["asyncio", "uvloop"])
@pytest.mark.parametrize("is_tls", [False, True], ids=["plain", "TLS"])
def test_lost_packets_are_noticed_within_half_a_minute(run: object, *, is_tls: bool) -> None:
    """The socket that carries the watch has the options, whatever wraps it: 10 s of idleness, 3 probes 5 s apart."""
    assert callable(run)
    options = run(_options_of_a_connection(is_tls=is_tls))
    assert options["SO_KEEPALIVE"] == 1
    assert options["TCP_KEEPIDLE"] + options["TCP_KEEPCNT"] * options["TCP_KEEPINTVL"] <= 30
    assert options["TCP_USER_TIMEOUT"] <= 30_000


async def test_an_upgraded_connection_may_stall(connected: Connect) -> None:
    """A command that does not read its input for a minute is slow, not dead."""
    switching = b"HTTP/1.1 101 Switching Protocols\r\nconnection: upgrade\r\nupgrade: websocket\r\n\r\n"
    server = WatchServer(others=switching)
    async with (
        scripted(server.script) as peer,
        connected(peer.url) as transport,
        transport.upgrade(Request("GET", "/exec"), protocol="websocket"),
    ):
        [connection] = transport._connections
        sock: socket.socket = connection.transport.get_extra_info("socket")
        assert sock.getsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT) == 0
        assert sock.getsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE) == 1
