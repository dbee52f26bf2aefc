"""A server that follows a script byte by byte, to cause faults on purpose."""

import asyncio
import socket
import struct
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from ssl import SSLContext

from steersman.errors import SteersmanError

OK = b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok"


def answer(status: int, body: bytes = b"", *headers: str) -> bytes:
    """Return the bytes of a whole answer."""
    lines = "".join(f"{header}\r\n" for header in headers)
    return f"HTTP/1.1 {status} X\r\ncontent-length: {len(body)}\r\n{lines}\r\n".encode() + body


class PeerConnection:
    """One accepted connection."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader = reader
        self.writer = writer

    async def request(self) -> bytes:
        """Wait for a whole request; empty if the client disconnected instead."""
        try:
            head = await self.reader.readuntil(b"\r\n\r\n")
        except (asyncio.IncompleteReadError, ConnectionError):
            return b""
        length = 0
        for line in head.lower().split(b"\r\n"):
            if line.startswith(b"content-length:"):
                length = int(line.partition(b":")[2])
        return head + await self.reader.readexactly(length)

    async def send(self, data: bytes) -> None:
        """Send bytes."""
        self.writer.write(data)
        await self.writer.drain()

    def reset(self) -> None:
        """Break the connection with a TCP reset."""
        sock: socket.socket = self.writer.get_extra_info("socket")
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.writer.transport.abort()

    async def gone(self) -> None:
        """Wait until the client has disconnected."""
        try:
            while await self.reader.read(65536):
                pass
        except ConnectionError:
            pass


Script = Callable[[PeerConnection], Awaitable[None]]


class Peer:
    """The scripted server: its address, and what it received."""

    def __init__(self, scripts: tuple[Script, ...]) -> None:
        self._scripts = scripts
        self.connections = 0
        self.port = 0
        self.scheme = "http"

    @property
    def url(self) -> str:
        """Its address."""
        return f"{self.scheme}://127.0.0.1:{self.port}"

    async def accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Follow the next script; the last one is repeated."""
        script = self._scripts[min(self.connections, len(self._scripts) - 1)]
        self.connections += 1
        try:
            await script(PeerConnection(reader, writer))
        except (ConnectionError, asyncio.CancelledError):
            pass
        finally:
            writer.transport.abort()


@asynccontextmanager
async def scripted(*scripts: Script, tls: SSLContext | None = None) -> AsyncIterator[Peer]:
    """Run a scripted server for the block; scripts that still wait are cancelled at the end."""
    peer = Peer(scripts)
    tasks: list[asyncio.Task[None]] = []
    loop = asyncio.get_running_loop()

    def accept(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        tasks.append(loop.create_task(peer.accept(reader, writer)))

    server = await asyncio.start_server(accept, "127.0.0.1", 0, ssl=tls)
    peer.port = server.sockets[0].getsockname()[1]
    peer.scheme = "http" if tls is None else "https"
    try:
        yield peer
    finally:
        server.close()
        for task in tasks:
            task.cancel()
        if tasks:
            await asyncio.wait(tasks)


def answering(*answers: bytes) -> Script:
    """Answer each request with the next bytes, then disconnect."""

    async def script(connection: PeerConnection) -> None:
        for data in answers:
            if not await connection.request():
                return
            await connection.send(data)
        await connection.request()

    return script


async def until(condition: Callable[[], object]) -> None:
    """Run the event loop until a condition holds; fail if it does not."""
    loop = asyncio.get_running_loop()
    give_up = loop.time() + 10.0
    while not condition():
        assert loop.time() < give_up, "waited in vain"
        looked = loop.create_future()
        loop.call_later(0.001, looked.set_result, None)
        await looked


async def outcome(call: Awaitable[object]) -> object:
    """Return the result or the exception of a call."""
    try:
        return await call
    except SteersmanError as error:
        return error
