"""A connection to a port of a pod through the API server, as `kubectl port-forward` makes it.

SPDY streams inside a WebSocket. One connection is two streams of the same request: ``error``, which the server writes
to if it cannot connect, and ``data``. The peer connects from inside the pod, so it also reaches ports that listen on
loopback only; the caller needs ``get`` (a WebSocket begins with a GET) and ``create`` on
``pods/portforward``.
"""

import secrets
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from steersman.client.session import Session, Target
from steersman.errors import BadAnswer, ConnectionLost, DecodeError
from steersman.protocol.http import Response, Upgraded
from steersman.protocol.remote.spdy import Data, Frame, Ping, Reset, SpdyConnection
from steersman.protocol.remote.websocket import WebSocket, request_headers
from steersman.protocol.responses import error_of

PROTOCOL = "SPDY/3.1+portforward.k8s.io"
#: The numbers of the streams: a client's are odd.
_ERROR, _DATA = 1, 3
_CHUNK = 32 * 1024


class PortConnection:
    """Bytes to and from a port of a pod."""

    def __init__(self, raw: Upgraded, port: int) -> None:
        self._socket = WebSocket(raw, is_client=True)
        self._spdy = SpdyConnection()
        self._received: list[bytes] = []
        self._error = bytearray()
        self._is_ended = False
        self._port = port
        for stream, kind in ((_ERROR, "error"), (_DATA, "data")):
            self._socket.send(self._spdy.open(stream, {"streamtype": kind, "port": str(port), "requestid": "0"}))
        self._socket.send(self._spdy.data(_ERROR, b"", is_end=True))

    async def send(self, data: bytes) -> None:
        """Send bytes, and wait until the peer keeps up."""
        for start in range(0, len(data), _CHUNK):
            self._socket.send(self._spdy.data(_DATA, data[start : start + _CHUNK]))
            await self._socket.drain()

    async def receive(self) -> bytes:
        """Wait for bytes; empty at the end. Raises ``ConnectionLost`` if the port cannot be reached."""
        while not self._received:
            if self._is_ended:
                if self._error:
                    raise ConnectionLost(bytes(self._error).decode("utf-8", "replace"))
                return b""
            try:
                message = await self._socket.receive()
                frames = self._spdy.receive(message) if message is not None else None
            except DecodeError as error:
                raise BadAnswer(str(error)) from None
            if frames is None:
                self._is_ended = True
            for frame in frames or ():
                self._take(frame)
        return self._received.pop(0)

    def close(self) -> None:
        """Close the connection."""
        self._socket.close()

    def _take(self, frame: Frame) -> None:
        match frame:
            case Data(stream, data) if stream == _ERROR:
                self._error += data
            case Data(_, data, is_end):
                self._received += [data] if data else []
                self._is_ended = self._is_ended or is_end
            case Reset(stream):
                self._error += f"the server closed stream {stream} of port {self._port}".encode()
                self._is_ended = True
            case Ping(number):
                self._socket.send(self._spdy.ping(number))
            case _:
                pass


@asynccontextmanager
async def open_port(session: Session, target: Target, port: int) -> AsyncIterator[PortConnection]:
    """Connect to a port of a pod inside the block; an ``ApiError`` if the server refuses."""
    requests, key = await session.locate(target)
    request = requests.forward_port(key)
    request.headers |= request_headers(secrets.token_bytes(16), [PROTOCOL])
    async with session.transport.upgrade(request, protocol="websocket") as answer:
        if isinstance(answer, Response):
            raise error_of(answer)
        connection = PortConnection(answer, port)
        try:
            yield connection
        finally:
            connection.close()
