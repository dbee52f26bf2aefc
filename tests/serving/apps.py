"""An app for tests that does what the path says, and a client that sends raw bytes to it."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

from steersman.clock import Clock, RealClock
from steersman.protocol.http import Exchange, Request, Response, Stream, Upgraded
from steersman.serving.limits import ServerLimits
from steersman.serving.server import Server

Handler = Callable[[Request, Exchange], Awaitable[None] | None]


class RecordingApp:
    """Answers by path; records the requests and the streams it opened."""

    def __init__(self, **handlers: Handler) -> None:
        self.requests: list[Request] = []
        self.streams: list[Stream] = []
        self._handlers = handlers

    def handle(self, request: Request, exchange: Exchange) -> Awaitable[None] | None:
        """Call the handler named by the first word of the path; otherwise echo the body."""
        self.requests.append(request)
        word = request.target.strip("/").partition("/")[0].partition("?")[0]
        if word in self._handlers:
            return self._handlers[word](request, exchange)
        if word == "stream":
            self.streams.append(exchange.stream(200, [("content-type", "application/json")]))
        elif word == "fail":
            raise ZeroDivisionError("an app's bug")
        elif word == "upgrade":
            return _echo(exchange.upgrade([("upgrade", "echo")]))
        else:
            exchange.respond(Response(200, [("content-type", "text/plain")], request.target.encode() + request.body))
        return None


async def _echo(raw: Upgraded) -> None:
    while data := await raw.receive():
        raw.write(data.upper())
    raw.close()


class RawClient:
    """Sends and receives bytes."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader = reader
        self.writer = writer

    async def send(self, data: bytes) -> None:
        """Send bytes."""
        self.writer.write(data)
        await self.writer.drain()

    async def read_until(self, end: bytes) -> bytes:
        """Read up to and including these bytes."""
        return await self.reader.readuntil(end)

    async def read_all(self) -> bytes:
        """Read until the server closes the connection."""
        return await self.reader.read()


@asynccontextmanager
async def serving(
    app: RecordingApp, *, clock: Clock | None = None, limits: ServerLimits | None = None
) -> AsyncIterator[Server]:
    """Serve an app for the block."""
    async with Server(app, clock=clock or RealClock(), limits=limits or ServerLimits(drain=2)) as server:
        yield server


@asynccontextmanager
async def raw(server: Server) -> AsyncIterator[RawClient]:
    """Connect for the block."""
    reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
    try:
        yield RawClient(reader, writer)
    finally:
        writer.transport.abort()


async def until(condition: Callable[[], object]) -> None:
    """Run the event loop until a condition holds; fail if it does not."""
    loop = asyncio.get_running_loop()
    give_up = loop.time() + 10.0
    while not condition():
        assert loop.time() < give_up, "waited in vain"
        looked = loop.create_future()
        loop.call_later(0.001, looked.set_result, None)
        await looked
