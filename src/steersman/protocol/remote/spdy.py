"""SPDY/3.1 as far as Kubernetes tunnels it through WebSockets for port-forwarding. Pure: bytes in, frames out.

No flow control: neither kubectl nor a kubelet uses it here. Priorities and settings are read over.
"""

import struct
import zlib
from dataclasses import dataclass, field
from enum import IntEnum
from typing import TypeAlias

from steersman.errors import DecodeError

_VERSION = 3
_CONTROL = 0x80000000
_FIN = 0x01
#: More than any frame that is sent here; Go's peer writes data in pieces of at most 32 KiB.
_MOST_BYTES = 1024 * 1024
_MOST_HEADER_BYTES = 64 * 1024
_WORDS = (
    "options head post put delete trace accept accept-charset accept-encoding accept-language accept-ranges age allow "
    "authorization cache-control connection content-base content-encoding content-language content-length "
    "content-location content-md5 content-range content-type date etag expect expires from host if-match "
    "if-modified-since if-none-match if-range if-unmodified-since last-modified location max-forwards pragma "
    "proxy-authenticate proxy-authorization range referer retry-after server te trailer transfer-encoding upgrade "
    "user-agent vary via warning www-authenticate method get status 200_OK version HTTP/1.1 url public set-cookie "
    "keep-alive origin"
)
_TEXT = (
    "100101201202205206300302303304305306307402405406407408409410411412413414415416417502504505203 Non-Authoritative "
    "Information204 No Content301 Moved Permanently400 Bad Request401 Unauthorized403 Forbidden404 Not Found500 "
    "Internal Server Error501 Not Implemented503 Service UnavailableJan Feb Mar Apr May Jun Jul Aug Sept Oct Nov Dec "
    "00:00:00 Mon, Tue, Wed, Thu, Fri, Sat, Sun, GMTchunked,text/html,image/png,image/jpg,image/gif,application/xml,"
    "application/xhtml+xml,text/plain,text/javascript,publicprivatemax-age=gzip,deflate,sdchcharset=utf-8charset="
    "iso-8859-1,utf-,*,enq=0."
)
#: The dictionary that both ends start with, by the specification: common names, then common texts.
DICTIONARY = (
    b"".join(struct.pack("!I", len(word)) + word.replace("_", " ").encode() for word in _WORDS.split()) + _TEXT.encode()
)


class _Type(IntEnum):
    SYN_STREAM = 1
    SYN_REPLY = 2
    RST_STREAM = 3
    SETTINGS = 4
    PING = 6
    GOAWAY = 7
    HEADERS = 8
    WINDOW_UPDATE = 9


@dataclass(frozen=True, slots=True)
class Opened:
    """The peer opened a stream."""

    stream: int
    headers: dict[str, str]
    is_end: bool = False


@dataclass(frozen=True, slots=True)
class Accepted:
    """The peer accepted a stream."""

    stream: int
    headers: dict[str, str]


@dataclass(frozen=True, slots=True)
class Data:
    """Bytes of a stream came, and perhaps its end."""

    stream: int
    data: bytes = field(repr=False)
    is_end: bool = False


@dataclass(frozen=True, slots=True)
class Reset:
    """The peer gave a stream up."""

    stream: int


@dataclass(frozen=True, slots=True)
class Ping:
    """A ping of the peer, which is answered with the same frame."""

    number: int


@dataclass(frozen=True, slots=True)
class GoingAway:
    """The peer opens no more streams."""


Frame: TypeAlias = Opened | Accepted | Data | Reset | Ping | GoingAway


class SpdyConnection:
    """One end of a connection: what goes out as bytes, and what comes in as frames."""

    def __init__(self) -> None:
        self._buffer = bytearray()
        self._deflate = zlib.compressobj(zdict=DICTIONARY)
        self._inflate = zlib.decompressobj(zdict=DICTIONARY)

    # Out.

    def open(self, stream: int, headers: dict[str, str]) -> bytes:
        """Return the frame that opens a stream."""
        return _control(_Type.SYN_STREAM, 0, struct.pack("!IIBB", stream, 0, 0, 0) + self._packed(headers))

    def accept(self, stream: int) -> bytes:
        """Return the frame that accepts a stream of the peer."""
        return _control(_Type.SYN_REPLY, 0, struct.pack("!I", stream) + self._packed({}))

    def data(self, stream: int, data: bytes, *, is_end: bool = False) -> bytes:
        """Send bytes of a stream, and perhaps its end."""
        return struct.pack("!II", stream, (_FIN if is_end else 0) << 24 | len(data)) + data

    def reset(self, stream: int, status: int = 5) -> bytes:
        """Return the frame that resets a stream; status 5 means that it is cancelled."""
        return _control(_Type.RST_STREAM, 0, struct.pack("!II", stream, status))

    def ping(self, number: int) -> bytes:
        """Return a ping, or the answer to one."""
        return _control(_Type.PING, 0, struct.pack("!I", number))

    def _packed(self, headers: dict[str, str]) -> bytes:
        plain = struct.pack("!I", len(headers))
        for name, value in headers.items():
            for text in (name.encode(), value.encode()):
                plain += struct.pack("!I", len(text)) + text
        return self._deflate.compress(plain) + self._deflate.flush(zlib.Z_SYNC_FLUSH)

    # In.

    def receive(self, data: bytes) -> list[Frame]:
        """Feed bytes in pieces of any size; return the complete frames. ``DecodeError`` for invalid ones."""
        self._buffer += data
        frames: list[Frame] = []
        while len(self._buffer) >= 8:  # noqa: PLR2004 - the head of a frame
            first, second = struct.unpack_from("!II", self._buffer)
            flags, length = second >> 24, second & 0xFFFFFF
            if length > _MOST_BYTES:
                raise DecodeError(f"a SPDY frame of {length} bytes exceeds {_MOST_BYTES}")
            if len(self._buffer) < 8 + length:
                break
            payload = bytes(self._buffer[8 : 8 + length])
            del self._buffer[: 8 + length]
            frame = self._frame(first, flags, payload)
            if frame is not None:
                frames.append(frame)
        return frames

    def _frame(self, first: int, flags: int, payload: bytes) -> Frame | None:
        if not first & _CONTROL:
            return Data(first, payload, is_end=bool(flags & _FIN))
        if first >> 16 & 0x7FFF != _VERSION:
            raise DecodeError(f"the peer speaks SPDY/{first >> 16 & 0x7FFF}, not SPDY/3")
        try:
            return self._control_frame(first & 0xFFFF, flags, payload)
        except (struct.error, zlib.error, UnicodeDecodeError) as error:
            raise DecodeError(f"a SPDY frame is malformed: {error}") from None

    def _control_frame(self, kind: int, flags: int, payload: bytes) -> Frame | None:
        number = struct.unpack_from("!I", payload)[0] & 0x7FFFFFFF if kind != _Type.SETTINGS else 0
        match kind:
            case _Type.SYN_STREAM:
                return Opened(number, self._unpacked(payload[10:]), is_end=bool(flags & _FIN))
            case _Type.SYN_REPLY:
                return Accepted(number, self._unpacked(payload[4:]))
            case _Type.HEADERS:
                self._unpacked(payload[4:])  # the next headers are packed on top of these
                return None
            case _Type.RST_STREAM:
                return Reset(number)
            case _Type.PING:
                return Ping(struct.unpack_from("!I", payload)[0])
            case _Type.GOAWAY:
                return GoingAway()
            case _:
                return None

    def _unpacked(self, packed: bytes) -> dict[str, str]:
        plain = self._inflate.decompress(packed, _MOST_HEADER_BYTES)
        if self._inflate.unconsumed_tail:
            raise DecodeError(f"the headers of a SPDY stream exceed {_MOST_HEADER_BYTES} bytes")
        (count,) = struct.unpack_from("!I", plain)
        position, headers = 4, dict[str, str]()
        for _ in range(min(count, _MOST_HEADER_BYTES)):
            texts = []
            for _ in range(2):
                (length,) = struct.unpack_from("!I", plain, position)
                texts.append(plain[position + 4 : position + 4 + length].decode())
                position += 4 + length
            headers[texts[0].lower()] = texts[1]
        return headers


def _control(kind: _Type, flags: int, payload: bytes) -> bytes:
    return struct.pack("!II", _CONTROL | _VERSION << 16 | kind, flags << 24 | len(payload)) + payload
