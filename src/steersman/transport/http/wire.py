"""A request as bytes on the wire.

What all requests to a server share (host, user agent, credentials) is encoded once. A caller cannot inject a header or
a second request: line breaks are rejected.
"""

from collections.abc import Iterable

from steersman.protocol.http import Request

#: Headers that belong to the connection, not to a request.
_RESERVED = frozenset(
    {"authorization", "connection", "content-length", "host", "te", "transfer-encoding", "upgrade", "user-agent"}
)
#: Methods that announce their length even when it is nothing.
_WITH_BODY = frozenset({"PATCH", "POST", "PUT"})


class Wire:
    """Bytes ready to be sent. They hold credentials, so they never show themselves."""

    __slots__ = ("data",)

    def __init__(self, data: bytes) -> None:
        self.data = data

    def __repr__(self) -> str:
        return f"<Wire {len(self.data)} bytes>"


class Encoder:
    """Writes requests for one server and one identity."""

    __slots__ = ("_breaks", "_fixed", "_path")

    def __init__(self, *, path: str, headers: Iterable[tuple[str, str]]) -> None:
        self._path = path
        lines = [f"{name}: {value}\r\n" for name, value in headers]
        self._fixed = "HTTP/1.1\r\n" + "".join(lines)
        #: Line breaks of a request without headers: one per fixed line, the request line, the empty line.
        self._breaks = len(lines) + 2
        if self._fixed.count("\n") != len(lines) + 1 or self._fixed.count("\r") != len(lines) + 1:
            raise ValueError("a header of the connection contains a line break")

    def __repr__(self) -> str:
        return "<Encoder>"

    def encode(self, request: Request, *, upgrade: str = "") -> Wire:
        """Return the bytes of one request; ``upgrade`` asks for another protocol."""
        method, target, headers, body = request.method, request.target, request.headers, request.body
        if not _RESERVED.isdisjoint(headers):
            raise ValueError(f"headers set by the transport: {sorted(_RESERVED.intersection(headers))}")
        if not target.startswith("/") or " " in target or not (target.isascii() and target.isprintable()):
            raise ValueError(f"not a request target: {target!r}")
        lines = [f"{name}: {value}\r\n" for name, value in headers.items()]
        if body or method in _WITH_BODY:
            lines.append(f"content-length: {len(body)}\r\n")
        if upgrade:
            lines.append(f"connection: upgrade\r\nupgrade: {upgrade}\r\n")
        breaks = self._breaks + len(lines) + bool(upgrade)
        head = f"{method} {self._path}{target} {self._fixed}{''.join(lines)}\r\n"
        if head.count("\n") != breaks or head.count("\r") != breaks:
            raise ValueError(f"a header of {method} {target} contains a line break")
        return Wire(head.encode() + body)
