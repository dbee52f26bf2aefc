import asyncio
import contextlib
import logging
import re
import socket

import pytest

from steersman.errors import ConfigError
from steersman.protocol.http import Exchange, Request, Response
from steersman.serving.limits import ServerLimits
from steersman.serving.server import Listen, Server
from steersman.testing.fake_clock import FakeClock
from tests.serving.apps import RecordingApp, raw, serving, until
from tests.support.waiting import happens


def _get(path: str, *headers: str, method: str = "GET", version: str = "1.1") -> bytes:
    lines = "".join(f"{header}\r\n" for header in headers)
    return f"{method} {path} HTTP/{version}\r\nhost: x\r\n{lines}\r\n".encode()


async def test_an_answer_has_a_length_a_date_and_no_other_headers_of_ours() -> None:
    """The bytes on the wire are the contract with every client."""
    clock = FakeClock()
    async with serving(RecordingApp(), clock=clock) as server, raw(server) as client:
        await client.send(_get("/a"))
        assert await client.read_until(b"/a") == (
            b"HTTP/1.1 200 OK\r\ndate: Tue, 01 Jan 2030 00:00:00 GMT\r\ncontent-length: 2\r\n"
            b"content-type: text/plain\r\n\r\n/a"
        )


async def test_pipelined_requests_are_answered_in_order() -> None:
    """A slow first answer delays the second; answers in another order would be for another object."""
    release = asyncio.Event()

    async def slow(request: Request, exchange: Exchange) -> None:
        await release.wait()
        exchange.respond(Response(200, [], request.target.encode()))

    async with serving(app := RecordingApp(slow=slow)) as server, raw(server) as client:
        await client.send(_get("/slow") + b"".join(_get(f"/fast/{number}") for number in range(5)))
        await until(lambda: app.requests)
        assert len(app.requests) == 1
        release.set()
        answers = await client.read_until(b"/fast/4")
    assert re.findall(rb"\r\n\r\n(/[a-z0-9/]+?)(?=HTTP|$)", answers) == [
        b"/slow",
        *(b"/fast/%d" % number for number in range(5)),
    ]


async def test_a_client_that_sends_ahead_must_wait() -> None:
    """Requests after a slow one must not accumulate in memory."""
    release = asyncio.Event()

    async def slow(_: Request, exchange: Exchange) -> None:
        await release.wait()
        exchange.respond(Response(200))

    async with serving(app := RecordingApp(slow=slow)) as server, raw(server) as client:
        await client.send(_get("/slow"))
        await until(lambda: app.requests)
        (connection,) = server._connections
        client.writer.write(_get("/next") * 40_000 + _get("/end", "connection: close"))
        await until(lambda: connection._waiting)
        for _ in range(50):
            await FakeClock().settle()
        assert len(connection._waiting) < 20_000
        release.set()
        assert (await client.read_all()).endswith(b"/end")
    assert len(app.requests) == 40_002


async def test_thousands_of_pipelined_requests_need_no_deep_stack() -> None:
    """Immediate answers are sent in a loop, not recursively."""
    async with serving(RecordingApp()) as server, raw(server) as client:
        await client.send(_get("/x") * 3000 + _get("/end", "connection: close"))
        answers = await client.read_all()
    assert answers.count(b"HTTP/1.1 200 OK") == 3001


async def test_a_stream_is_sent_in_chunks_and_leaves_the_connection_usable() -> None:
    """A watch that ends by its own timeout costs no new connection."""
    async with serving(app := RecordingApp()) as server, raw(server) as client:
        await client.send(_get("/stream"))
        assert b"transfer-encoding: chunked\r\n" in await client.read_until(b"\r\n\r\n")
        stream = app.streams[0]
        stream.write(b"hello")
        stream.write(b"")
        assert await client.read_until(b"hello\r\n") == b"5\r\nhello\r\n"
        stream.close()
        stream.write(b"too late")
        assert await client.read_until(b"\r\n\r\n") == b"0\r\n\r\n"
        assert not stream.is_open
        await client.send(_get("/next"))
        assert (await client.read_until(b"/next")).startswith(b"HTTP/1.1 200 OK")


async def test_an_old_client_gets_a_stream_without_chunks() -> None:
    """HTTP/1.0 has no chunks: the end of the connection is the end of the answer."""
    async with serving(app := RecordingApp()) as server, raw(server) as client:
        await client.send(_get("/stream", version="1.0"))
        await until(lambda: app.streams)
        app.streams[0].write(b"plain")
        app.streams[0].close()
        answer = await client.read_all()
    assert answer.endswith(b"\r\n\r\nplain")
    assert b"connection: close" in answer
    assert b"chunked" not in answer


async def test_head_is_answered_without_a_body() -> None:
    """The length is that of the body that GET would return."""
    async with serving(RecordingApp()) as server, raw(server) as client:
        await client.send(_get("/abc", method="HEAD") + _get("/d", "connection: close"))
        answers = await client.read_all()
    assert answers.count(b"/abc") == 0
    assert b"content-length: 4\r\n" in answers


async def test_a_client_that_expects_100_continue_gets_it_before_its_body() -> None:
    """Many clients, curl among them, send large bodies only after 100 Continue."""
    async with serving(RecordingApp()) as server, raw(server) as client:
        await client.send(_get("/a", "content-length: 4", "expect: 100-continue", method="POST"))
        assert await client.read_until(b"\r\n\r\n") == b"HTTP/1.1 100 Continue\r\n\r\n"
        await client.send(b"body")
        assert (await client.read_until(b"/abody")).startswith(b"HTTP/1.1 200 OK")


async def test_a_rejected_client_can_read_why_while_it_is_still_sending() -> None:
    """Closing while a client sends resets the connection and loses the answer."""
    async with serving(app := RecordingApp(), limits=ServerLimits(body=1000)) as server, raw(server) as client:
        await client.send(_get("/a", "content-length: 500000", method="POST") + b"x" * 500_000)
        answer = await client.read_all()
    assert answer.startswith(b"HTTP/1.1 413 ")
    assert b"exceeds 1000 bytes" in answer
    assert app.requests == []


async def test_a_malformed_request_does_not_lose_the_answer_to_an_earlier_one() -> None:
    """Rejections keep their place in the order."""
    async with serving(RecordingApp()) as server, raw(server) as client:
        await client.send(_get("/good") + b"BREW / HTTP/1.1\r\n\r\n")
        answers = await client.read_all()
    assert re.findall(rb"HTTP/1.1 (\d+)", answers) == [b"200", b"400"]


async def test_a_bug_in_the_app_is_a_500_and_a_log_line(caplog: pytest.LogCaptureFixture) -> None:
    """One broken handler must neither stop the server nor stay unnoticed, nor leak its details."""

    async def later(_: Request, __: Exchange) -> None:
        raise ZeroDivisionError("a later bug")

    async with serving(RecordingApp(later=later)) as server, raw(server) as client:
        with caplog.at_level(logging.ERROR):
            await client.send(_get("/fail") + _get("/later") + _get("/fine", "connection: close"))
            answers = await client.read_all()
    assert re.findall(rb"HTTP/1.1 (\d+)", answers) == [b"500", b"500", b"200"]
    assert b"bug" not in answers
    assert [record.message for record in caplog.records] == ["app failed", "app failed"]


async def test_a_bug_in_the_middle_of_an_answer_breaks_the_connection(caplog: pytest.LogCaptureFixture) -> None:
    """Half an answer must not look like a whole one."""

    async def half(_: Request, exchange: Exchange) -> None:
        exchange.stream(200, []).write(b"half")
        raise ZeroDivisionError

    async with serving(RecordingApp(half=half)) as server, raw(server) as client:
        with caplog.at_level(logging.CRITICAL):
            await client.send(_get("/half"))
            answer = await outcome_of_reading(client.reader)
    assert not answer.endswith(b"0\r\n\r\n")


async def outcome_of_reading(reader: asyncio.StreamReader) -> bytes:
    """Read until the connection ends or breaks."""
    data = b""
    try:
        while piece := await reader.read(65536):
            data += piece
    except ConnectionError:
        pass
    return data


@pytest.mark.parametrize("value", ["a\r\nset-cookie: b", "a\nb"])
async def test_an_app_cannot_split_its_answer(value: str, caplog: pytest.LogCaptureFixture) -> None:
    """Headers may contain text of users, such as warnings about an object's name."""

    def split(_: Request, exchange: Exchange) -> None:
        exchange.respond(Response(200, [("warning", value)]))

    async with serving(RecordingApp(split=split)) as server, raw(server) as client:
        with caplog.at_level(logging.CRITICAL):
            await client.send(_get("/split", "connection: close"))
            answer = await client.read_all()
    assert answer.startswith(b"HTTP/1.1 500 ")


async def test_the_app_is_notified_when_a_watcher_disconnects() -> None:
    """A watch without a reader must be dropped at once."""
    closed = asyncio.Event()
    async with serving(app := RecordingApp()) as server:
        async with raw(server) as client:
            await client.send(_get("/stream"))
            await until(lambda: app.streams)
            app.streams[0].on_close(closed.set)
        await closed.wait()
        assert not app.streams[0].is_open
        app.streams[0].write(b"into the void")


async def test_work_for_a_disconnected_client_is_cancelled() -> None:
    """The answer cannot be delivered any more."""
    started, cancelled = asyncio.Event(), asyncio.Event()

    async def work(_: Request, __: Exchange) -> None:
        started.set()
        try:
            await asyncio.Event().wait()
        finally:
            cancelled.set()

    async with serving(RecordingApp(work=work)) as server:
        async with raw(server) as client:
            await client.send(_get("/work"))
            await started.wait()
        await happens(cancelled, "the cancellation")


async def test_the_app_is_notified_about_a_slow_watcher_and_when_it_has_caught_up() -> None:
    """The app waits for one slow reader instead of buffering without limit."""
    caught_up = asyncio.Event()
    async with serving(app := RecordingApp()) as server, raw(server) as client:
        await client.send(_get("/stream"))
        await until(lambda: app.streams)
        stream = app.streams[0]
        stream.on_writable(caught_up.set)
        client.writer.transport.pause_reading()  # type: ignore[attr-defined] # a read transport
        sent = 0
        while stream.is_writable:
            stream.write(b"x" * 65536)
            sent += 65536
            assert sent < 64 * 1024 * 1024
            await until(lambda: True)
        client.writer.transport.resume_reading()  # type: ignore[attr-defined] # a read transport
        received = 0
        while received < sent:
            received += len(await client.reader.read(1 << 20))
        await caught_up.wait()
        assert stream.is_writable


async def test_a_reader_that_never_reads_is_disconnected() -> None:
    """Memory for a stuck client is released after a minute."""
    clock = FakeClock()
    closed = asyncio.Event()
    async with serving(app := RecordingApp(), clock=clock) as server, raw(server) as client:
        await client.send(_get("/stream"))
        await until(lambda: app.streams)
        stream = app.streams[0]
        stream.on_close(closed.set)
        client.writer.transport.pause_reading()  # type: ignore[attr-defined] # a read transport
        while stream.is_writable:
            stream.write(b"x" * 65536)
            await until(lambda: True)
        await clock.advance(60)
        await happens(closed, "the end of the connection")


async def test_a_slow_reader_of_a_large_answer_is_not_disconnected() -> None:
    """A long list over a slow connection takes minutes; only a client that reads nothing is disconnected."""
    clock = FakeClock()
    size = 30_000_000

    def large(_: Request, exchange: Exchange) -> None:
        exchange.respond(Response(200, [], b"x" * size))

    async with serving(RecordingApp(large=large), clock=clock) as server, raw(server) as client:
        await client.send(_get("/large"))
        await client.read_until(b"\r\n\r\n")
        received = 0
        (connection,) = server._connections
        for _ in range(5):
            unsent = connection._unsent_now()
            while connection._unsent_now() == unsent:  # the system's buffers are filled first
                received += len(await client.reader.read(100_000))
            await clock.advance(50)
        received += len(await client.reader.readexactly(size - received))
    assert received == size


@pytest.mark.parametrize(
    ("sent", "seconds", "status"),
    [
        (b"", 30.0, b""),
        (b"GET / HT", 30.0, b"408"),
        (_get("/", "content-length: 10", method="POST") + b"x", 60.0, b"408"),
    ],
    ids=["nothing", "half a head", "half a body"],
)
async def test_a_slow_request_times_out(sent: bytes, seconds: float, status: bytes) -> None:
    """Thousands of half requests would otherwise hold thousands of connections."""
    clock = FakeClock()
    async with serving(RecordingApp(), clock=clock) as server, raw(server) as client:
        await client.send(sent)
        await until(lambda: server._connections)
        (connection,) = server._connections
        await until(lambda: not sent or connection._limited[0].name != "IDLE")
        await clock.advance(seconds - 0.1)
        assert connection.is_open
        await clock.advance(0.2)
        answer = await client.read_all()
    assert answer[9:12] == status


async def test_an_idle_connection_is_closed_after_a_while() -> None:
    """Clients that forget their connections must not keep them forever."""
    clock = FakeClock()
    async with serving(RecordingApp(), clock=clock) as server, raw(server) as client:
        await client.send(_get("/a"))
        await client.read_until(b"/a")
        await clock.advance(179)
        assert server._connections
        await clock.advance(1)
        assert await client.read_all() == b""


async def test_an_upgrade_hands_over_the_raw_connection() -> None:
    """What is sent behind the request already belongs to the new protocol."""
    ask = _get("/upgrade", "connection: upgrade", "upgrade: echo")
    async with serving(RecordingApp()) as server, raw(server) as client:
        await client.send(ask + b"early ")
        head = await client.read_until(b"\r\n\r\n")
        assert head == b"HTTP/1.1 101 Switching Protocols\r\nconnection: upgrade\r\nupgrade: echo\r\n\r\n"
        assert await client.read_until(b"EARLY ") == b"EARLY "
        await client.send(b"late")
        assert await client.read_until(b"LATE") == b"LATE"
        client.writer.write_eof()
        assert await client.read_all() == b""


async def test_an_upgrade_that_the_app_ignores_is_an_ordinary_request() -> None:
    """Some clients offer h2c with every request."""
    ask = _get("/plain", "connection: upgrade", "upgrade: h2c")
    async with serving(RecordingApp()) as server, raw(server) as client:
        await client.send(ask + ask + _get("/last", "connection: close"))
        answers = await client.read_all()
    assert re.findall(rb"\r\n\r\n(/[a-z]+)", answers) == [b"/plain", b"/plain", b"/last"]


async def test_closing_lets_answers_finish_and_ends_streams() -> None:
    """A rolling restart must not cut an answer in half."""
    release = asyncio.Event()

    async def slow(_: Request, exchange: Exchange) -> None:
        await release.wait()
        exchange.respond(Response(200, [], b"finished"))

    app = RecordingApp(slow=slow)
    server = Server(app, clock=FakeClock())
    await server.__aenter__()
    async with raw(server) as idle, raw(server) as busy, raw(server) as watching:
        await busy.send(_get("/slow"))
        await watching.send(_get("/stream"))
        await until(lambda: len(app.requests) == 2)
        await until(lambda: len(server._connections) == 3)
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(server.__aexit__(None, None, None))
            assert await idle.read_all() == b""
            assert (await watching.read_all()).endswith(b"0\r\n\r\n")
            release.set()
            answer = await busy.read_all()
    assert answer.endswith(b"finished")
    assert b"connection: close" in answer


async def test_closing_does_not_wait_forever() -> None:
    """An answer that never comes is aborted after the limit."""
    started = asyncio.Event()

    async def hang(_: Request, __: Exchange) -> None:
        started.set()
        await asyncio.Event().wait()

    clock = FakeClock()
    server = Server(RecordingApp(hang=hang), clock=clock)
    await server.__aenter__()
    async with raw(server) as client:
        await client.send(_get("/hang"))
        await started.wait()
        async with asyncio.TaskGroup() as tasks:
            closing = tasks.create_task(server.__aexit__(None, None, None))
            await clock.advance(9.9)
            assert not closing.done()
            await clock.advance(0.1)


@pytest.mark.parametrize("steps", range(6))
async def test_a_connection_that_comes_while_closing_is_closed_too(steps: int) -> None:
    """The loop accepts a connection in several steps; one between two of them must not stay open forever."""
    with socket.socket() as client:
        async with Server(RecordingApp(), clock=FakeClock()) as server:
            client.connect(("127.0.0.1", server.port))
            for _ in range(steps):
                await asyncio.sleep(0)  # noqa: TID251 - a step of the event loop, not a wait
        for _ in range(6):
            await asyncio.sleep(0)  # noqa: TID251 - same
        client.setblocking(False)  # noqa: FBT003 - as the standard library has it
        with contextlib.suppress(ConnectionResetError):
            assert client.recv(1) == b""


async def test_a_close_that_is_cancelled_still_closes_the_port() -> None:
    """A caller that stops waiting must not leave a listening socket behind."""
    server = Server(RecordingApp(), clock=FakeClock())
    await server.__aenter__()
    async with asyncio.TaskGroup() as tasks:
        closing = tasks.create_task(server.__aexit__(None, None, None))
        await asyncio.sleep(0)  # noqa: TID251 - a step of the event loop, not a wait
        closing.cancel()
    with pytest.raises(ConnectionRefusedError):
        await asyncio.open_connection("127.0.0.1", server.port)


async def test_an_exception_of_the_block_is_raised_unchanged() -> None:
    """A failing test must show its own assertion, not a group of exceptions."""
    with pytest.raises(KeyError):
        async with serving(RecordingApp()):
            raise KeyError("mine")


async def test_answering_twice_is_reported_as_a_bug(caplog: pytest.LogCaptureFixture) -> None:
    """The second answer would be taken for the answer to the next request."""

    def twice(_: Request, exchange: Exchange) -> None:
        exchange.respond(Response(200, [], b"one"))
        exchange.respond(Response(200, [], b"two"))

    async with serving(RecordingApp(twice=twice)) as server, raw(server) as client:
        with caplog.at_level(logging.CRITICAL):
            await client.send(_get("/twice"))
            assert b"two" not in await outcome_of_reading(client.reader)


@pytest.mark.parametrize(("port", "reason"), [(None, "in use"), (70000, "0-65535")])
async def test_a_port_that_cannot_be_used_is_named(port: int | None, reason: str) -> None:
    """The command line shows this message and nothing else."""
    async with serving(RecordingApp()) as server:
        taken = server.port if port is None else port
        with pytest.raises(ConfigError, match=rf"cannot listen on 127.0.0.1:{taken}: .*({reason})"):
            async with Server(RecordingApp(), clock=FakeClock(), listen=Listen(port=taken)):
                pass


async def test_a_failing_callback_does_not_keep_a_connection_registered(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """The server must be able to close whatever its app does."""

    def fail() -> None:
        raise ZeroDivisionError("an app's bug")

    async with serving(app := RecordingApp()) as server:
        async with raw(server) as client:
            await client.send(_get("/stream"))
            await until(lambda: app.streams)
            app.streams[0].on_close(fail)
        with caplog.at_level(logging.CRITICAL):
            await until(lambda: not server._connections)
            await FakeClock().settle()


LIMITED = ServerLimits(connections=3)


async def test_beyond_the_limit_an_idle_connection_is_closed() -> None:
    """A client that opens connections and forgets them must not lock everyone else out."""
    async with contextlib.AsyncExitStack() as stack:
        server = await stack.enter_async_context(serving(RecordingApp(), limits=LIMITED))
        silent = [await stack.enter_async_context(raw(server)) for _ in range(3)]
        await until(lambda: len(server._connections) == 3)
        newcomer = await stack.enter_async_context(raw(server))
        await newcomer.send(_get("/new"))
        assert (await newcomer.read_until(b"/new")).startswith(b"HTTP/1.1 200 OK")
        assert await silent[0].read_all() == b""
        assert len(server._connections) == 3
        await silent[1].send(_get("/still"))
        assert (await silent[1].read_until(b"/still")).startswith(b"HTTP/1.1 200 OK")


async def test_half_a_request_does_not_keep_a_connection() -> None:
    """Sending a request byte by byte is the oldest way to use up all connections of a server."""
    async with contextlib.AsyncExitStack() as stack:
        server = await stack.enter_async_context(serving(RecordingApp(), limits=LIMITED))
        for _ in range(3):
            slow = await stack.enter_async_context(raw(server))
            await slow.send(b"POST /x HTTP/1.1\r\nhost: x\r\ncontent-length: 100\r\n\r\nx")
        await until(lambda: len(server._connections) == 3)
        newcomer = await stack.enter_async_context(raw(server))
        await newcomer.send(_get("/new"))
        assert (await newcomer.read_until(b"/new")).startswith(b"HTTP/1.1 200 OK")


async def test_a_watch_is_never_closed_for_a_new_connection() -> None:
    """A request in progress keeps its connection; the new one gets the reason and may retry."""
    async with contextlib.AsyncExitStack() as stack:
        server = await stack.enter_async_context(serving(app := RecordingApp(), limits=LIMITED))
        watchers = [await stack.enter_async_context(raw(server)) for _ in range(3)]
        for watcher in watchers:
            await watcher.send(_get("/stream"))
        await until(lambda: len(app.streams) == 3)
        newcomer = await stack.enter_async_context(raw(server))
        refusal = await newcomer.read_all()
        assert refusal.startswith(b"HTTP/1.1 503 Service Unavailable")
        assert b"too many connections: 3 are being answered" in refusal
        for stream, watcher in zip(app.streams, watchers, strict=True):
            stream.write(b"event")
            assert (await watcher.read_until(b"event\r\n")).endswith(b"event\r\n")
        app.streams[0].close()
        another = await stack.enter_async_context(raw(server))
        await another.send(_get("/again"))
        assert (await another.read_until(b"/again")).startswith(b"HTTP/1.1 200 OK")


async def test_a_flood_of_connections_gets_no_answers() -> None:
    """Each rejection holds a connection until it is read; those must be bounded as well."""
    async with contextlib.AsyncExitStack() as stack:
        server = await stack.enter_async_context(serving(app := RecordingApp(), limits=ServerLimits(connections=1)))
        watcher = await stack.enter_async_context(raw(server))
        await watcher.send(_get("/stream"))
        await until(lambda: app.streams)
        for _ in range(60):
            await stack.enter_async_context(raw(server))
        assert len(server._connections) < 40
        app.streams[0].write(b"event")
        assert (await watcher.read_until(b"event\r\n")).endswith(b"event\r\n")
