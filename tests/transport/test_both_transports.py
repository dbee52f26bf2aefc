"""Behaviour that must be the same over HTTP and in memory, tested on both."""

import asyncio
import logging
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from functools import partial

import pytest

from steersman.clock import RealClock
from steersman.errors import ConnectionFailed, ConnectionLost, NoAnswer
from steersman.protocol.http import App, Exchange, Request, Response, Stream, Upgraded
from steersman.serving.server import Server
from steersman.testing.fake_clock import FakeClock
from steersman.transport.base import Transport
from steersman.transport.config import ClusterConfig
from steersman.transport.http.transport import connect
from steersman.transport.in_memory import InMemoryTransport
from tests.support.peer import outcome, until
from tests.support.waiting import happens

GET = Request("GET", "/x?y=z", {"accept": "a"})
Serve = Callable[[App], AbstractAsyncContextManager[Transport]]


class FunctionApp:
    """An app made of one function."""

    def __init__(self, function: Callable[[Request, Exchange], Awaitable[None] | None]) -> None:
        self.handle = function


@asynccontextmanager
async def _over_http(clock: FakeClock, app: App) -> AsyncIterator[Transport]:
    async with Server(app, clock=RealClock()) as server:
        transport = connect(ClusterConfig(server=server.url), clock=clock)
        try:
            yield transport
        finally:
            await transport.close()


@asynccontextmanager
async def _in_memory(clock: FakeClock, app: App) -> AsyncIterator[Transport]:
    transport = InMemoryTransport(app, clock=clock)
    try:
        yield transport
    finally:
        await transport.close()


@pytest.fixture
def clock() -> FakeClock:
    """Return the client's clock."""
    return FakeClock()


@pytest.fixture(params=[_over_http, _in_memory], ids=["http", "in memory"])
def serve(request: pytest.FixtureRequest, clock: FakeClock) -> Serve:
    """Serve an app for a block and yield a transport to it."""
    return partial(request.param, clock)


async def test_a_request_and_its_answer_pass_unchanged(serve: Serve) -> None:
    """Method, target, headers and body of the request; status, repeated headers and body of the answer."""
    seen: list[Request] = []

    def handle(request: Request, exchange: Exchange) -> None:
        seen.append(request)
        exchange.respond(Response(201, [("warning", "a"), ("warning", "ü")], b"\0\xff"))

    async with serve(FunctionApp(handle)) as transport:
        response = await transport.request(Request("PATCH", "/x?y=%20", {"content-type": "c"}, b"\xff"))
    assert (response.status, response.header_values("warning"), response.body) == (201, ["a", "ü"], b"\0\xff")
    (request,) = seen
    assert (request.method, request.target, request.headers["content-type"], request.body) == (
        "PATCH",
        "/x?y=%20",
        "c",
        b"\xff",
    )


async def test_an_app_may_answer_later(serve: Serve) -> None:
    """Webhooks and waits make an answer asynchronous."""

    async def handle(_: Request, exchange: Exchange) -> None:
        await FakeClock().settle()
        exchange.respond(Response(200, [], b"late"))

    async with serve(FunctionApp(handle)) as transport:
        assert (await transport.request(GET)).body == b"late"


async def test_a_streamed_answer_can_be_read_as_a_whole(serve: Serve) -> None:
    """A large list may be streamed by the server without the client knowing."""

    def handle(_: Request, exchange: Exchange) -> None:
        stream = exchange.stream(200, [])
        stream.write(b"a")
        stream.write(b"b")
        stream.close()

    async with serve(FunctionApp(handle)) as transport:
        assert (await transport.request(GET)).body == b"ab"


async def test_a_whole_answer_can_be_read_as_a_stream(serve: Serve) -> None:
    """A rejected watch is answered with a Status."""
    async with (
        serve(FunctionApp(lambda _, exchange: exchange.respond(Response(410, [], b"gone")))) as transport,
        transport.stream(GET) as stream,
    ):
        assert (stream.status, await stream.read()) == (410, b"gone")


async def test_a_stream_can_be_ended_by_either_side(serve: Serve) -> None:
    """The server's end is an end; a reader that stops is a close on the server."""
    streams: list[Stream] = []
    async with serve(FunctionApp(lambda _, exchange: streams.append(exchange.stream(200, [])))) as transport:
        async with transport.stream(GET) as stream:
            streams[0].write(b"one")
            assert await anext(stream) == b"one"
            streams[0].close()
            assert [chunk async for chunk in stream] == []
        closed = asyncio.Event()
        async with transport.stream(GET):
            streams[1].on_close(closed.set)
        await closed.wait()
        assert not streams[1].is_open


@pytest.mark.parametrize("when", ["before", "in the middle"])
async def test_a_broken_connection_is_the_same_in_both(serve: Serve, when: str) -> None:
    """Faults of the embedded server must mean the same in a test as over a network."""

    def handle(_: Request, exchange: Exchange) -> None:
        if when == "before":
            exchange.reset()
        else:
            stream = exchange.stream(200, [])
            stream.write(b"half")
            stream.abort()

    async with serve(FunctionApp(handle)) as transport:
        with pytest.raises(ConnectionLost):
            await transport.request(Request("POST", "/"))


async def test_requests_are_retried_in_both(serve: Serve, clock: FakeClock) -> None:
    """Retries belong to the transport, whichever it is."""
    answers = [Response(429, [("retry-after", "2")]), Response(200, [], b"at last")]

    def handle(_: Request, exchange: Exchange) -> None:
        exchange.respond(answers.pop(0))

    async with serve(FunctionApp(handle)) as transport, asyncio.TaskGroup() as tasks:
        call = tasks.create_task(transport.request(GET))
        await until(lambda: (clock.next_timer() or 99.0) <= 2.0)
        await clock.advance(2)
    assert call.result().body == b"at last"


async def test_a_silent_server_times_out_in_both(serve: Serve, clock: FakeClock) -> None:
    """The caller's limit holds for any transport."""
    asked: list[Request] = []

    def handle(request: Request, _: Exchange) -> None:
        asked.append(request)

    async with serve(FunctionApp(handle)) as transport, asyncio.TaskGroup() as tasks:
        call = tasks.create_task(outcome(transport.request(GET, timeout=5)))
        await until(lambda: asked)
        await clock.advance(5)
    assert isinstance(call.result(), NoAnswer)


async def test_a_silent_stream_times_out_in_both(serve: Serve, clock: FakeClock) -> None:
    """Seventy seconds without a byte are too long."""
    streams: list[Stream] = []

    async def watch() -> None:
        async with transport.stream(GET) as stream:
            async for chunk in stream:
                received.append(chunk)  # noqa: PERF401 - what was received must be seen while the stream goes on

    received: list[bytes] = []
    async with (
        serve(FunctionApp(lambda _, exchange: streams.append(exchange.stream(200, [])))) as transport,
        asyncio.TaskGroup() as tasks,
    ):
        call = tasks.create_task(outcome(watch()))
        await until(lambda: streams)
        await clock.advance(50)
        streams[0].write(b"news")
        await until(lambda: received)
        await clock.advance(69)
        assert not call.done()
        await clock.advance(1)
    assert isinstance(call.result(), NoAnswer)


async def test_a_bug_of_the_app_is_a_500_in_both(serve: Serve, caplog: pytest.LogCaptureFixture) -> None:
    """A test in memory must see what a user would see."""

    async def later() -> None:
        raise ZeroDivisionError

    def handle(request: Request, _: Exchange) -> Awaitable[None]:
        if request.target == "/later":
            return later()
        raise ZeroDivisionError

    async with serve(FunctionApp(handle)) as transport:
        with caplog.at_level(logging.ERROR):
            statuses = [(await transport.request(Request("GET", path))).status for path in ("/now", "/later")]
    assert (statuses, [record.message for record in caplog.records]) == ([500, 500], ["app failed"] * 2)


async def test_work_for_a_caller_that_stopped_is_cancelled_in_both(serve: Serve) -> None:
    """A cancelled call leaves nothing running."""
    started, ended = asyncio.Event(), asyncio.Event()

    async def handle(_: Request, __: Exchange) -> None:
        started.set()
        try:
            await asyncio.Event().wait()
        finally:
            ended.set()

    async with serve(FunctionApp(handle)) as transport:
        async with asyncio.TaskGroup() as tasks:
            call = tasks.create_task(transport.request(GET))
            await started.wait()
            call.cancel()
        await happens(ended, "the end of the work")


async def test_the_app_notices_a_slow_reader_in_both(serve: Serve) -> None:
    """Back-pressure must be testable without a network."""
    streams: list[Stream] = []
    caught_up = asyncio.Event()
    async with (
        serve(FunctionApp(lambda _, exchange: streams.append(exchange.stream(200, [])))) as transport,
        transport.stream(GET) as reader,
    ):
        stream = streams[0]
        stream.on_writable(caught_up.set)
        sent = 0
        while stream.is_writable:
            stream.write(b"x" * 100_000)
            sent += 100_000
            assert sent < 100_000_000
            await FakeClock().settle()
        while sent:
            sent -= len(await anext(reader))
        await happens(caught_up, "the last write")


async def test_an_upgrade_connects_both_sides_in_both(serve: Serve) -> None:
    """An exec or a port-forward is bytes in both directions."""

    async def handle(request: Request, exchange: Exchange) -> None:
        assert request.headers["upgrade"] == "websocket"
        raw = exchange.upgrade([("upgrade", "websocket")])
        while data := await raw.receive():
            raw.write(data.upper())

    async with (
        serve(FunctionApp(handle)) as transport,
        transport.upgrade(GET, protocol="websocket") as raw,
    ):
        assert not isinstance(raw, Response)
        raw.write(b"ping")
        assert await raw.receive() == b"PING"
        raw.close()


async def test_a_large_write_through_an_upgrade_waits_for_the_reader_in_both(serve: Serve) -> None:
    """A copied file must not accumulate in memory, whichever side is slow."""
    piece, pieces = b"x" * 100_000, 300
    written = {"app": 0, "client": 0}
    may_read = asyncio.Event()

    async def write(raw: Upgraded, who: str) -> None:
        for _ in range(pieces):
            raw.write(piece)
            await raw.drain()
            written[who] += 1

    async def read(raw: Upgraded) -> None:
        await may_read.wait()
        left = pieces * len(piece)
        while left:
            left -= len(await raw.receive())

    async def both(raw: Upgraded, who: str) -> None:
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(write(raw, who))
            tasks.create_task(read(raw))

    async def handle(_: Request, exchange: Exchange) -> None:
        await both(exchange.upgrade([("upgrade", "websocket")]), "app")

    async with (
        serve(FunctionApp(handle)) as transport,
        transport.upgrade(GET, protocol="websocket") as raw,
        asyncio.TaskGroup() as tasks,
    ):
        assert not isinstance(raw, Response)
        tasks.create_task(both(raw, "client"))
        for _ in range(5):
            await FakeClock().settle()
        assert max(written.values()) < pieces
        may_read.set()
    assert written["client"] == pieces


async def test_a_write_does_not_wait_for_a_closed_reader_in_both(serve: Serve) -> None:
    """It would wait forever."""
    ended = asyncio.Event()

    async def handle(_: Request, exchange: Exchange) -> None:
        raw = exchange.upgrade([("upgrade", "websocket")])
        try:
            while await raw.receive():
                for _number in range(100):
                    raw.write(b"x" * 1_000_000)
                    await raw.drain()
        finally:
            ended.set()

    async with serve(FunctionApp(handle)) as transport:
        async with transport.upgrade(GET, protocol="websocket") as raw:
            assert not isinstance(raw, Response)
            raw.write(b"go")
            await raw.receive()
        await happens(ended, "the end of the writer")


async def test_a_rejected_upgrade_is_an_answer_in_both(serve: Serve) -> None:
    """The reason is in a Status like any other."""
    async with (
        serve(FunctionApp(lambda _, exchange: exchange.respond(Response(403, [], b"no")))) as transport,
        transport.upgrade(GET, protocol="websocket") as refused,
    ):
        assert isinstance(refused, Response)
        assert (refused.status, refused.body) == (403, b"no")


async def test_head_has_no_body_in_both(serve: Serve) -> None:
    """The app need not know."""
    async with serve(FunctionApp(lambda _, exchange: exchange.respond(Response(200, [], b"body")))) as transport:
        assert (await transport.request(Request("HEAD", "/"))).body == b""


async def test_closing_ends_running_calls_in_both(serve: Serve) -> None:
    """Calls fail instead of hanging, and new ones are rejected."""
    asked: list[Request] = []

    def handle(request: Request, _: Exchange) -> None:
        asked.append(request)

    async with serve(FunctionApp(handle)) as transport:
        async with asyncio.TaskGroup() as tasks:
            call = tasks.create_task(outcome(transport.request(Request("POST", "/"))))
            await until(lambda: asked)
            await transport.close()
        assert isinstance(call.result(), ConnectionLost)
        with pytest.raises(ConnectionFailed):
            await transport.request(GET)


async def test_an_exception_of_the_block_is_raised_unchanged_in_both(serve: Serve) -> None:
    """A consumer's own exception must be caught by its own type."""
    async with serve(FunctionApp(lambda _, exchange: exchange.stream(200, []) and None)) as transport:
        with pytest.raises(KeyError):
            async with transport.stream(GET):
                raise KeyError("mine")


async def test_a_caller_in_memory_lets_other_tasks_run() -> None:
    """An app that answers at once must not turn a busy caller into a blocked event loop."""
    app = FunctionApp(lambda _, exchange: exchange.respond(Response(200)))
    transport = InMemoryTransport(app, clock=FakeClock(), headers={"authorization": "Bearer t"})
    order: list[str] = []

    async def call(name: str) -> None:
        for _ in range(2):
            await transport.request(GET)
            order.append(name)

    async with asyncio.TaskGroup() as tasks:
        tasks.create_task(call("a"))
        tasks.create_task(call("b"))
    assert order == ["a", "b", "a", "b"]
