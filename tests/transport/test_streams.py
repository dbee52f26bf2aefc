import asyncio
import gzip
import os

import pytest

from steersman.errors import BadAnswer, ConnectionLost, NoAnswer
from steersman.protocol.http import Request, Response
from steersman.testing.fake_clock import FakeClock
from steersman.transport.limits import Limits
from steersman.transport.stream import ResponseStream
from tests.support.peer import OK, PeerConnection, answer, answering, outcome, scripted, until
from tests.support.waiting import happens
from tests.transport.conftest import Connect

WATCH = Request("GET", "/api/v1/pods?watch=true")
HEAD = b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ntransfer-encoding: chunked\r\n\r\n"


def _chunk(data: bytes) -> bytes:
    return b"%x\r\n%b\r\n" % (len(data), data)


async def test_bytes_are_delivered_as_they_arrive(connected: Connect) -> None:
    """An event must not wait for the next one."""
    seen = asyncio.Queue[None]()

    async def script(connection: PeerConnection) -> None:
        await connection.request()
        await connection.send(HEAD + _chunk(b"one\n"))
        await seen.get()
        await connection.send(_chunk(b"two\n") + _chunk(b"three\n"))
        await seen.get()
        await connection.send(b"0\r\n\r\n")
        await connection.request()

    async with scripted(script) as peer, connected(peer.url) as transport, transport.stream(WATCH) as stream:
        assert (stream.status, stream.header("content-type")) == (200, "application/json")
        received = b""
        async for chunk in stream:
            received += chunk
            if received.endswith((b"one\n", b"three\n")):
                seen.put_nowait(None)
    assert received == b"one\ntwo\nthree\n"


async def test_streams_do_not_take_connections_away_from_requests(connected: Connect) -> None:
    """Fifty watches must leave room for every write."""

    async def script(connection: PeerConnection) -> None:
        request = await connection.request()
        await connection.send(HEAD if b"watch" in request else OK)
        await connection.gone()

    async with (
        scripted(script) as peer,
        connected(peer.url, limits=Limits(connections=1)) as transport,
        transport.stream(WATCH),
        transport.stream(WATCH),
    ):
        assert (await transport.request(Request("GET", "/"))).body == b"ok"
    assert peer.connections == 3


async def test_a_stream_that_breaks_yields_its_bytes_and_then_fails(connected: Connect) -> None:
    """The events before the break are valid; a break is not an end."""

    async def script(connection: PeerConnection) -> None:
        await connection.request()
        await connection.send(HEAD + _chunk(b"one\n"))

    async with scripted(script) as peer, connected(peer.url) as transport, transport.stream(WATCH) as stream:
        assert await anext(stream) == b"one\n"
        with pytest.raises(ConnectionLost, match="in the middle"):
            await anext(stream)


@pytest.mark.parametrize("sent", [b"", HEAD, HEAD + _chunk(b"one\n")], ids=["no head", "no event", "after an event"])
async def test_a_dead_watch_is_detected_in_seventy_seconds(connected: Connect, sent: bytes) -> None:
    """A watch whose server vanished looks like one without events; only bookmarks differ."""
    clock = FakeClock()
    reached = asyncio.Event()

    async def script(connection: PeerConnection) -> None:
        await connection.request()
        await connection.send(sent)
        reached.set()
        await connection.gone()

    async def watch() -> None:
        async with transport.stream(WATCH) as stream:
            async for _ in stream:
                pass

    async with scripted(script) as peer, connected(peer.url, clock=clock) as transport, asyncio.TaskGroup() as tasks:
        call = tasks.create_task(outcome(watch()))
        await reached.wait()
        (connection,) = transport._connections
        await until(lambda: connection.is_answered or not sent)
        await clock.advance(69.9)
        assert not call.done()
        await clock.advance(0.2)
    assert isinstance(call.result(), NoAnswer)


async def test_a_stream_without_an_idle_limit_waits_forever(connected: Connect) -> None:
    """The log of a quiet pod is not dead."""
    clock = FakeClock()
    go_on = asyncio.Event()

    async def script(connection: PeerConnection) -> None:
        await connection.request()
        await connection.send(HEAD)
        await go_on.wait()
        await connection.send(_chunk(b"late") + b"0\r\n\r\n")
        await connection.gone()

    async with (
        scripted(script) as peer,
        connected(peer.url, clock=clock) as transport,
        transport.stream(WATCH, idle=None) as stream,
    ):
        await clock.advance(86400)
        go_on.set()
        assert await stream.read() == b"late"


async def test_an_endless_line_is_limited_by_back_pressure(connected: Connect) -> None:
    """A gigabyte that is not read must not need a gigabyte of memory."""
    sent = 0
    block = os.urandom(1 << 20)

    async def script(connection: PeerConnection) -> None:
        nonlocal sent
        await connection.request()
        await connection.send(HEAD + b"40000000\r\n")
        for _ in range(1024):
            await connection.send(block)
            sent += len(block)

    async with (
        scripted(script) as peer,
        connected(peer.url, limits=Limits(stream_buffer=1 << 20)) as transport,
        transport.stream(WATCH) as stream,
    ):
        await until(lambda: stream.is_full)
        before = -1
        while before != sent:
            before = sent
            for _ in range(20):
                await until(lambda: True)
                await FakeClock().settle()
        assert sent < 64 << 20
        assert stream._size < 3 << 20
        received = 0
        async for chunk in stream:
            received += len(chunk)
            assert len(chunk) < 3 << 20
            if received > sent // 2 + (64 << 20):
                break


async def test_a_slow_reader_does_not_count_as_a_dead_server(connected: Connect) -> None:
    """While we make the server wait, its silence means nothing."""
    clock = FakeClock()

    async def script(connection: PeerConnection) -> None:
        await connection.request()
        await connection.send(HEAD + _chunk(b"x" * 100_000) + _chunk(b"y") + b"0\r\n\r\n")
        await connection.gone()

    async with (
        scripted(script) as peer,
        connected(peer.url, clock=clock, limits=Limits(stream_buffer=1)) as transport,
        transport.stream(WATCH) as stream,
    ):
        await until(lambda: stream.is_full)
        await clock.advance(300)
        assert len(await stream.read()) == 100_001


async def test_the_idle_limit_starts_again_after_back_pressure(connected: Connect) -> None:
    """The server can be late only from the moment at which we continue reading."""
    clock = FakeClock()
    go_on = asyncio.Event()

    async def script(connection: PeerConnection) -> None:
        await connection.request()
        await connection.send(HEAD + _chunk(b"x" * 1000))
        await go_on.wait()
        await connection.send(_chunk(b"y") + b"0\r\n\r\n")
        await connection.gone()

    async with (
        scripted(script) as peer,
        connected(peer.url, clock=clock, limits=Limits(stream_buffer=1)) as transport,
        transport.stream(WATCH) as stream,
    ):
        await until(lambda: stream.is_full)
        await clock.advance(69)
        assert len(await anext(stream)) == 1000
        await clock.advance(69)
        go_on.set()
        assert await stream.read() == b"y"


async def test_a_compressed_stream_is_decompressed_in_bounded_pieces(connected: Connect) -> None:
    """A proxy may compress whatever passes through."""
    plain = b"abc" * 1_000_000
    packed = gzip.compress(plain)
    data = (
        b"HTTP/1.1 200 OK\r\ncontent-encoding: gzip\r\ntransfer-encoding: chunked\r\n\r\n"
        + _chunk(packed)
        + b"0\r\n\r\n"
    )
    async with scripted(answering(data)) as peer, connected(peer.url) as transport, transport.stream(WATCH) as stream:
        pieces = [piece async for piece in stream]
    assert b"".join(pieces) == plain
    assert max(map(len, pieces)) <= 256 * 1024


async def test_a_rejected_stream_can_be_read_at_once(connected: Connect) -> None:
    """A watch may be answered with an error, whose message is a small body."""
    async with scripted(answering(answer(410, b'{"kind":"Status"}'))) as peer, connected(peer.url) as transport:
        async with transport.stream(WATCH) as stream:
            assert (stream.status, await stream.read()) == (410, b'{"kind":"Status"}')
        with pytest.raises(BadAnswer, match="exceeds 5 bytes"):
            async with transport.stream(WATCH) as stream:
                await stream.read(limit=5)


async def test_leaving_the_block_closes_the_connection(connected: Connect) -> None:
    """A watch that ends on our side must end on the server, too."""
    gone = asyncio.Event()

    async def script(connection: PeerConnection) -> None:
        await connection.request()
        await connection.send(HEAD)
        await connection.gone()
        gone.set()

    async with scripted(script) as peer, connected(peer.url) as transport:
        async with transport.stream(WATCH):
            pass
        await happens(gone, "the end of the connection")


async def test_an_accepted_upgrade_returns_the_raw_connection(connected: Connect) -> None:
    """Bytes right after the acceptance belong to the new protocol."""

    async def script(connection: PeerConnection) -> None:
        request = await connection.request()
        assert b"connection: upgrade\r\nupgrade: websocket\r\n" in request
        await connection.send(b"HTTP/1.1 101 X\r\nconnection: upgrade\r\nupgrade: websocket\r\n\r\nhello")
        await connection.send((await connection.reader.readexactly(4)).upper())

    async with (
        scripted(script) as peer,
        connected(peer.url) as transport,
        transport.upgrade(WATCH, protocol="websocket") as raw,
    ):
        assert not isinstance(raw, Response)
        assert await raw.receive() == b"hello"
        raw.write(b"ping")
        assert await raw.receive() == b"PING"
        assert await raw.receive() == b""


async def test_a_rejected_upgrade_returns_the_answer(connected: Connect) -> None:
    """The reason is in a Status like any other."""
    async with (
        scripted(answering(answer(403, b"no"))) as peer,
        connected(peer.url) as transport,
        transport.upgrade(WATCH, protocol="websocket") as refused,
    ):
        assert isinstance(refused, Response)
        assert (refused.status, refused.body) == (403, b"no")


async def test_an_interrupted_read_loses_nothing() -> None:
    """A reader that does something else for a moment continues where it was."""
    stream = ResponseStream(200, [])
    loop = asyncio.get_running_loop()
    loop.call_soon(stream.interrupt)
    with pytest.raises(TimeoutError):
        await anext(stream)
    stream.interrupt()  # without a reader: no effect
    loop.call_soon(stream.interrupt)
    loop.call_soon(stream.feed, b"one")
    assert await anext(stream) == b"one"
    stream.feed(b"two")
    assert await anext(stream) == b"two"
