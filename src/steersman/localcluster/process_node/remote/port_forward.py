"""Forwards connections to a pod's ports, as `kubectl port-forward` asks: SPDY streams inside a WebSocket.

Each connection is two streams of the same request: one carries the bytes, the other what went wrong.
"""

import asyncio
from contextlib import suppress
from dataclasses import dataclass, field
from typing import assert_never

from steersman.errors import DecodeError
from steersman.protocol.remote.spdy import Accepted, Data, Frame, GoingAway, Opened, Ping, Reset, SpdyConnection
from steersman.protocol.remote.websocket import WebSocket

PROTOCOL = "SPDY/3.1+portforward.k8s.io"
_CHUNK = 32 * 1024
#: Pieces that may wait for a port before the other side is made to wait.
_MOST_WAITING = 64


@dataclass(slots=True)
class _Request:
    """One forwarded connection."""

    number: str
    port: int = 0
    error_stream: int = 0
    data_stream: int = 0
    #: Bytes for the port; empty at the end.
    outgoing: asyncio.Queue[bytes] = field(default_factory=lambda: asyncio.Queue(_MOST_WAITING), repr=False)


class PortForward:
    """All connections of one `kubectl port-forward`."""

    def __init__(self, socket: WebSocket, address: str, pod: str) -> None:
        self._socket = socket
        self._address = address
        self._pod = pod
        self._spdy = SpdyConnection()
        self._requests: dict[str, _Request] = {}
        self._by_stream: dict[int, _Request] = {}
        self._forwards: set[asyncio.Task[None]] = set()

    async def run(self) -> None:
        """Forward until the client disconnects."""
        async with asyncio.TaskGroup() as tasks:
            with suppress(DecodeError):
                while (said := await self._socket.receive()) is not None:
                    for frame in self._spdy.receive(said):
                        await self._heed(frame, tasks)
            for task in list(self._forwards):
                task.cancel()
        self._socket.close()

    async def _heed(self, frame: Frame, tasks: asyncio.TaskGroup) -> None:
        match frame:
            case Opened(stream, headers):
                self._open(stream, headers, tasks)
            case Data(stream, data, is_end):
                await self._hand_over(stream, data, is_end=is_end)
            case Reset(stream):
                await self._hand_over(stream, b"", is_end=True)
            case Ping(number):
                self._socket.send(self._spdy.ping(number))
            case Accepted() | GoingAway():
                pass
            case _:
                assert_never(frame)

    async def _hand_over(self, stream: int, data: bytes, *, is_end: bool) -> None:
        request = self._by_stream.get(stream)
        if request is None or stream != request.data_stream:
            return
        for piece in ([data] if data else []) + ([b""] if is_end else []):
            await request.outgoing.put(piece)

    def _open(self, stream: int, headers: dict[str, str], tasks: asyncio.TaskGroup) -> None:
        kind, port = headers.get("streamtype", ""), headers.get("port", "")
        if kind not in ("error", "data") or not port.isdigit() or not 0 < int(port) < 1 << 16:
            self._socket.send(self._spdy.reset(stream))
            return
        number = headers.get("requestid", "")
        request = self._requests.setdefault(number, _Request(number))
        self._by_stream[stream] = request
        self._socket.send(self._spdy.accept(stream))
        if kind == "error":
            request.error_stream = stream
            return
        request.port, request.data_stream = int(port), stream
        task = tasks.create_task(self._forward(request), name=f"port-forward/{self._pod}/{port}")
        self._forwards.add(task)
        task.add_done_callback(self._forwards.discard)

    async def _forward(self, request: _Request) -> None:
        failure = b""
        try:
            reader, writer = await asyncio.open_connection(self._address, request.port)
        except OSError as error:
            text = f"error forwarding port {request.port} to pod {self._pod}, {self._address}: {error}"
            failure = text.encode()
        else:
            try:
                async with asyncio.TaskGroup() as tasks:
                    sending = tasks.create_task(_send(request, writer), name="port-forward/out")
                    with suppress(OSError):
                        while data := await reader.read(_CHUNK):
                            self._socket.send(self._spdy.data(request.data_stream, data))
                            await self._socket.drain()
                    sending.cancel()
            finally:
                writer.close()
        self._finish(request, failure)

    def _finish(self, request: _Request, failure: bytes) -> None:
        for stream, last in ((request.error_stream, failure), (request.data_stream, b"")):
            if stream:
                self._socket.send(self._spdy.data(stream, last, is_end=True))
                self._by_stream.pop(stream, None)
        self._requests.pop(request.number, None)


async def _send(request: _Request, writer: asyncio.StreamWriter) -> None:
    with suppress(OSError):
        while data := await request.outgoing.get():
            writer.write(data)
            await writer.drain()
        writer.write_eof()
