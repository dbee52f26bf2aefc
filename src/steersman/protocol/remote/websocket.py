"""WebSockets (RFC 6455) over an upgraded connection, either end. wsproto handles the frames; no I/O of its own."""

import base64
import hashlib
from collections.abc import Mapping, Sequence

from wsproto.connection import Connection, ConnectionType
from wsproto.events import BytesMessage, CloseConnection, Ping, TextMessage
from wsproto.utilities import LocalProtocolError

from steersman.errors import DecodeError
from steersman.protocol.http import Upgraded

_GUID = b"258EAFA5-E914-47DA-95CA-C5AB0DC85B11"
#: Bytes of one message, however many frames it comes in.
_MOST_BYTES = 4 * 1024 * 1024
_TOO_BIG, _NORMAL = 1009, 1000


def is_websocket(headers: Mapping[str, str]) -> bool:
    """Return whether a request asks for a WebSocket."""
    return headers.get("upgrade", "").lower() == "websocket" and "sec-websocket-key" in headers


def offered_protocols(headers: Mapping[str, str]) -> list[str]:
    """Return what the client would speak inside, its favourite first."""
    return [name.strip() for name in headers.get("sec-websocket-protocol", "").split(",") if name.strip()]


def accept_headers(headers: Mapping[str, str], protocol: str) -> list[tuple[str, str]]:
    """Return the headers of an answer that agrees to a WebSocket."""
    agreed = [("upgrade", "websocket"), ("sec-websocket-accept", _accept(headers["sec-websocket-key"]))]
    return [*agreed, ("sec-websocket-protocol", protocol)] if protocol else agreed


def request_headers(key: bytes, protocols: Sequence[str]) -> dict[str, str]:
    """Return the headers of a request for a WebSocket; the key is 16 bytes of chance."""
    return {
        "sec-websocket-version": "13",
        "sec-websocket-key": base64.b64encode(key).decode(),
        "sec-websocket-protocol": ", ".join(protocols),
    }


def _accept(key: str) -> str:
    return base64.b64encode(hashlib.sha1(key.encode() + _GUID).digest()).decode()  # noqa: S324 - the RFC's own


class WebSocket:
    """One end of a WebSocket: whole messages in and out."""

    def __init__(self, raw: Upgraded, *, is_client: bool) -> None:
        self._raw = raw
        self._frames = Connection(ConnectionType.CLIENT if is_client else ConnectionType.SERVER)
        self._messages: list[bytes] = []
        self._parts = bytearray()
        self._is_closed = False

    @property
    def is_closed(self) -> bool:
        """Whether one of the ends has closed it."""
        return self._is_closed

    async def receive(self) -> bytes | None:
        """Wait for a message; ``None`` at the end or after invalid data. Raise ``DecodeError`` if it is too large."""
        while not self._messages:
            if self._is_closed:
                return None
            data = await self._raw.receive()
            if not data:
                self._is_closed = True
                return None
            self._take(data)
        return self._messages.pop(0)

    def send(self, message: bytes) -> None:
        """Send a binary message; a no-op once it is closed."""
        if not self._is_closed:
            self._raw.write(self._frames.send(BytesMessage(data=message)))

    async def drain(self) -> None:
        """Wait until the peer keeps up, or has disconnected."""
        await self._raw.drain()

    def close(self, code: int = _NORMAL) -> None:
        """Close it properly, after what was written."""
        if not self._is_closed:
            self._is_closed = True
            self._raw.write(self._frames.send(CloseConnection(code=code)))
        self._raw.close()

    def _take(self, data: bytes) -> None:
        self._frames.receive_data(data)
        for event in self._frames.events():
            match event:
                case BytesMessage() | TextMessage():
                    part = event.data.encode() if isinstance(event, TextMessage) else bytes(event.data)
                    self._collect(part, is_whole=event.message_finished)
                case Ping():
                    self._raw.write(self._frames.send(event.response()))
                case CloseConnection():
                    self._is_closed = True
                    self._answer_close(event)
                case _:
                    pass  # an answer to a ping

    def _collect(self, part: bytes, *, is_whole: bool) -> None:
        self._parts += part
        if len(self._parts) > _MOST_BYTES:
            self.close(_TOO_BIG)
            raise DecodeError(f"a WebSocket message exceeds {_MOST_BYTES} bytes")
        if is_whole:
            self._messages.append(bytes(self._parts))
            self._parts.clear()

    def _answer_close(self, event: CloseConnection) -> None:
        try:
            self._raw.write(self._frames.send(event.response()))
        except LocalProtocolError:  # both ends closed at the same time
            return
