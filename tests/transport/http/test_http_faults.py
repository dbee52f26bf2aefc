import asyncio
from pathlib import Path

import pytest

from steersman.errors import ConnectionFailed, ConnectionLost, NoAnswer
from steersman.protocol.http import Request, Response
from steersman.testing.fake_clock import FakeClock
from steersman.transport.config import TokenFromFile
from steersman.transport.limits import Limits
from tests.support.peer import OK, PeerConnection, Script, answer, answering, outcome, scripted, until
from tests.support.waiting import happens
from tests.transport.conftest import Connect

GET = Request("GET", "/")
POST = Request("POST", "/", {}, b"{}")
BUSY = answer(429, b"busy", "retry-after: 1")


async def _reset(connection: PeerConnection) -> None:
    await connection.request()
    connection.reset()


async def _truncate(connection: PeerConnection) -> None:
    await connection.request()
    await connection.send(b'HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\n{"items":[')


async def _wait_out(clock: FakeClock, call: "asyncio.Task[object]") -> float:
    """Advance the time whenever the call waits before its next attempt; return how much."""
    passed = 0.0
    while True:
        await until(lambda: call.done() or (clock.next_timer() or 99.0) < 5.0)
        if call.done():
            return passed
        wait = clock.next_timer() or 0.0
        await clock.advance(wait)
        passed += wait


async def test_a_half_open_connection_times_out(connected: Connect) -> None:
    """A server that vanished must not block a request forever."""
    clock = FakeClock()
    asked = asyncio.Event()

    async def vanish(connection: PeerConnection) -> None:
        await connection.request()
        asked.set()
        await connection.gone()

    async with scripted(vanish) as peer, connected(peer.url, clock=clock) as transport, asyncio.TaskGroup() as tasks:
        call = tasks.create_task(outcome(transport.request(POST)))
        await asked.wait()
        await clock.advance(69.9)
        assert not call.done()
        await clock.advance(0.1)
    assert isinstance(call.result(), NoAnswer)


async def test_a_slow_trickle_times_out(connected: Connect) -> None:
    """A byte a minute keeps the connection open, but the caller must not wait."""
    clock = FakeClock()
    drops = asyncio.Queue[bytes]()

    async def drip(connection: PeerConnection) -> None:
        await connection.request()
        await connection.send(b"HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\n")
        while True:
            await connection.send(await drops.get())

    async with scripted(drip) as peer, connected(peer.url, clock=clock) as transport, asyncio.TaskGroup() as tasks:
        call = tasks.create_task(outcome(transport.request(POST, timeout=100)))
        await until(lambda: transport._connections)
        (connection,) = transport._connections
        for _ in range(2):
            await until(lambda: connection.is_answered)
            await clock.advance(49)
            connection.is_answered = False
            drops.put_nowait(b"x")
        await until(lambda: connection.is_answered)
        assert not call.done()
        await clock.advance(2)
    assert isinstance(call.result(), NoAnswer)
    assert "not complete within the timeout" in str(call.result())


@pytest.mark.parametrize("fault", [_reset, _truncate], ids=["reset", "truncated"])
async def test_a_read_whose_connection_broke_is_retried(connected: Connect, fault: Script) -> None:
    """Reads change nothing, so a failure of a load balancer stays invisible."""
    clock = FakeClock()
    async with (
        scripted(fault, fault, answering(OK)) as peer,
        connected(peer.url, clock=clock) as transport,
        asyncio.TaskGroup() as tasks,
    ):
        call = tasks.create_task(outcome(transport.request(GET)))
        passed = await _wait_out(clock, call)
    assert (call.result(), passed, peer.connections) == (Response(200, [("content-length", "2")], b"ok"), 2.0, 3)


@pytest.mark.parametrize("fault", [_reset, _truncate], ids=["reset", "truncated"])
async def test_a_write_whose_connection_broke_is_not_retried(connected: Connect, fault: Script) -> None:
    """It may have been carried out; only the caller can find out."""
    async with scripted(fault) as peer, connected(peer.url) as transport:
        with pytest.raises(ConnectionLost):
            await transport.request(POST)
    assert peer.connections == 1


async def test_a_stale_connection_does_not_fail_a_read(connected: Connect) -> None:
    """Servers close idle connections at the moment in which they are used again."""

    async def once_then_reset(connection: PeerConnection) -> None:
        await connection.request()
        await connection.send(OK)
        await connection.request()
        connection.reset()

    clock = FakeClock()
    async with scripted(once_then_reset, answering(OK)) as peer, connected(peer.url, clock=clock) as transport:
        await transport.request(GET)
        assert (await transport.request(GET)).body == b"ok"
    assert (peer.connections, clock.monotonic()) == (2, 0.0)


async def test_a_write_on_a_stale_connection_has_an_unknown_result(connected: Connect) -> None:
    """The server may have read it before it broke the connection; a retry could do it twice."""

    async def once_then_reset(connection: PeerConnection) -> None:
        await connection.request()
        await connection.send(OK)
        await connection.request()
        connection.reset()

    async with scripted(once_then_reset, answering(OK)) as peer, connected(peer.url) as transport:
        await transport.request(POST)
        with pytest.raises(ConnectionLost):
            await transport.request(POST)
    assert peer.connections == 1


async def test_a_connection_that_the_server_closed_is_not_used_for_a_write(connected: Connect) -> None:
    """A connection known to be closed is not tried: the write is sent once, on a new connection."""
    closed = asyncio.Event()

    async def once(connection: PeerConnection) -> None:
        await connection.request()
        await connection.send(OK)
        closed.set()

    async with scripted(once, answering(OK)) as peer, connected(peer.url) as transport:
        await transport.request(POST)
        await closed.wait()
        await until(lambda: not transport._connections)
        assert (await transport.request(POST)).body == b"ok"
    assert peer.connections == 2


async def test_a_request_is_retried_if_the_server_asks_for_it(connected: Connect) -> None:
    """Priority and fairness limits load by 429 with Retry-After; every method is retried then, body included."""
    clock = FakeClock()
    async with (
        scripted(answering(BUSY, answer(503, b"", "retry-after: 3"), OK)) as peer,
        connected(peer.url, clock=clock) as transport,
        asyncio.TaskGroup() as tasks,
    ):
        call = tasks.create_task(outcome(transport.request(POST)))
        passed = await _wait_out(clock, call)
    assert (call.result(), passed) == (Response(200, [("content-length", "2")], b"ok"), 4.0)


async def test_a_request_is_retried_at_most_ten_times(connected: Connect) -> None:
    """A server that is always busy is reported to the caller in the end."""
    clock = FakeClock()
    seen = 0

    async def busy(connection: PeerConnection) -> None:
        nonlocal seen
        while await connection.request():
            seen += 1
            await connection.send(BUSY)

    async with scripted(busy) as peer, connected(peer.url, clock=clock) as transport, asyncio.TaskGroup() as tasks:
        call = tasks.create_task(outcome(transport.request(GET)))
        passed = await _wait_out(clock, call)
    assert isinstance(call.result(), Response)
    assert (passed, seen) == (10.0, 11)


async def test_new_credentials_are_tried_once_after_a_401(connected: Connect, tmp_path: Path) -> None:
    """Tokens rotate while an operator runs; the token is read again, and the request repeated."""
    token = tmp_path / "token"
    token.write_text("old\n")
    seen = []

    async def script(connection: PeerConnection) -> None:
        while data := await connection.request():
            seen.append(data.partition(b"authorization: ")[2].partition(b"\r\n")[0])
            token.write_text("new\n")
            await connection.send(answer(401) if seen[-1] == b"Bearer old" else OK)

    async with scripted(script) as peer, connected(peer.url, authentication=TokenFromFile(token)) as transport:
        assert (await transport.request(POST)).status == 200
    assert seen == [b"Bearer old", b"Bearer new"]


async def test_a_401_without_other_credentials_is_the_answer(connected: Connect) -> None:
    """Without anything else to present there is nothing to try."""
    async with scripted(answering(answer(401, b"who?"))) as peer, connected(peer.url) as transport:
        assert (await transport.request(GET)).status == 401
    assert peer.connections == 1


async def test_a_cancelled_request_closes_its_connection(connected: Connect) -> None:
    """A late answer to a cancelled request must never reach the next request."""
    asked, gone = asyncio.Event(), asyncio.Event()

    async def slow(connection: PeerConnection) -> None:
        await connection.request()
        asked.set()
        await connection.gone()
        gone.set()

    async with scripted(slow, answering(OK)) as peer, connected(peer.url) as transport, asyncio.TaskGroup() as tasks:
        call = tasks.create_task(transport.request(GET))
        await asked.wait()
        call.cancel()
        await gone.wait()
        assert (await transport.request(GET)).body == b"ok"
    assert peer.connections == 2


async def test_cancelling_after_the_answer_does_not_break_another_request(connected: Connect) -> None:
    """The connection may carry another request by the time the cancellation is delivered."""
    async with scripted(answering(OK, OK, OK)) as peer, connected(peer.url) as transport:
        await transport.request(GET)
        connection = transport._pool.take()
        assert connection is not None
        transport._pool.give_back(connection)
        async with asyncio.TaskGroup() as tasks:
            call = tasks.create_task(transport.request(GET))
            receive = connection.data_received

            def cancel_too(data: bytes) -> None:
                receive(data)
                call.cancel()

            connection.data_received = cancel_too  # type: ignore[method-assign] # the only way to hit that moment
            await asyncio.wait([call])
            connection.data_received = receive  # type: ignore[method-assign] # put back
        assert call.cancelled()
        assert (await transport.request(GET)).body == b"ok"
    assert peer.connections == 1


async def test_requests_beyond_the_limit_wait_for_a_connection(connected: Connect) -> None:
    """A burst of a thousand reads must not open a thousand connections."""
    async with (
        scripted(answering(*[OK] * 50)) as peer,
        connected(peer.url, limits=Limits(connections=2)) as transport,
        asyncio.TaskGroup() as tasks,
    ):
        calls = [tasks.create_task(transport.request(GET)) for _ in range(40)]
    assert {call.result().body for call in calls} == {b"ok"}
    assert peer.connections == 2


async def test_a_waiting_request_replaces_a_broken_connection(connected: Connect) -> None:
    """A slot in the pool that a fault released is not lost."""
    async with (
        scripted(_reset, answering(OK)) as peer,
        connected(peer.url, limits=Limits(connections=1)) as transport,
        asyncio.TaskGroup() as tasks,
    ):
        first = tasks.create_task(outcome(transport.request(POST)))
        second = tasks.create_task(outcome(transport.request(POST)))
    assert isinstance(first.result(), ConnectionLost)
    assert isinstance(second.result(), Response)


async def test_an_idle_connection_is_closed_before_the_server_would(connected: Connect) -> None:
    """The client must close first; a write must not race with the server's own limit."""
    clock = FakeClock()
    closed = asyncio.Event()

    async def script(connection: PeerConnection) -> None:
        await connection.request()
        await connection.send(OK)
        await connection.gone()
        closed.set()

    async with scripted(script) as peer, connected(peer.url, clock=clock) as transport:
        await transport.request(GET)
        await clock.advance(60.0)
        await happens(closed, "the end of the idle connection")


async def test_closing_fails_running_calls(connected: Connect) -> None:
    """No caller is left waiting on a closed transport, and none can start."""
    asked = asyncio.Event()

    async def hang(connection: PeerConnection) -> None:
        await connection.request()
        asked.set()
        await connection.gone()

    async with scripted(hang) as peer, connected(peer.url) as transport, asyncio.TaskGroup() as tasks:
        call = tasks.create_task(outcome(transport.request(POST)))
        await asked.wait()
        await transport.close()
        assert isinstance(call.result(), ConnectionLost)
        with pytest.raises(ConnectionFailed, match="closed"):
            await transport.request(GET)


async def test_unexpected_bytes_end_the_connection(connected: Connect) -> None:
    """Some servers send 408 to an idle connection; it must not be taken for the next answer."""
    sent = asyncio.Event()

    async def script(connection: PeerConnection) -> None:
        await connection.request()
        await connection.send(OK)
        await connection.send(answer(408))
        sent.set()
        await connection.gone()

    async with scripted(script, answering(OK)) as peer, connected(peer.url) as transport:
        await transport.request(POST)
        await sent.wait()
        await until(lambda: not transport._connections)
        assert (await transport.request(POST)).status == 200


async def test_closing_interrupts_a_connection_that_is_being_opened(connected: Connect) -> None:
    """A server that accepts and sends nothing must not delay a shutdown."""
    accepted = asyncio.Event()

    async def silent(connection: PeerConnection) -> None:
        accepted.set()
        await connection.gone()

    async with scripted(silent) as peer, connected(peer.url.replace("http", "https")) as transport:
        async with asyncio.TaskGroup() as tasks:
            call = tasks.create_task(outcome(transport.request(POST)))
            await accepted.wait()
            await transport.close()
        assert isinstance(call.result(), ConnectionLost)


async def test_a_delay_that_would_exceed_the_timeout_is_not_started(connected: Connect) -> None:
    """The caller gets the server's answer while there is time to act on it."""
    clock = FakeClock()
    async with (
        scripted(answering(answer(429, b"busy", "retry-after: 30"))) as peer,
        connected(peer.url, clock=clock) as transport,
    ):
        assert (await transport.request(GET, timeout=10)).status == 429
    assert clock.monotonic() == 0.0
