"""Parses requests from bytes in pieces of any size: no sockets, no waiting, never an exception.

Anything that is not a request within limits becomes a rejection, after which nothing more is read: the rest of such
bytes is meaningless. The parser itself rejects bare line feeds, a length beside chunks, doubled lengths, folded headers
and unknown methods.
"""

import enum
from dataclasses import dataclass
from typing import Final

import httptools
from msgspec import Struct

from steersman.protocol.http import Request
from steersman.serving.limits import ServerLimits

_METHODS: Final = {
    method.encode(): method for method in ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "CONNECT")
}
#: Lower-case text of header names as received: clients send the same few again and again.
_NAMES: dict[bytes, str] = {}
_MOST_NAMES: Final = 1024


class Incoming(Struct):
    """A complete request and what its response needs to know about it."""

    request: Request
    is_10: bool
    keep_alive: bool


@dataclass(frozen=True, slots=True)
class Refused:
    """No request, and why."""

    status: int
    reason: str


class Phase(enum.Enum):
    """What the next byte belongs to."""

    IDLE = enum.auto()
    HEAD = enum.auto()
    BODY = enum.auto()


def _header_name(raw: bytes) -> str:
    name = raw.decode("latin-1").lower()
    if len(_NAMES) < _MOST_NAMES:
        _NAMES[raw] = name
    return name


class RequestReader:
    """Reads the requests of one connection, in order."""

    def __init__(self, limits: ServerLimits) -> None:
        self._limits = limits
        self._parser = httptools.HttpRequestParser(self)
        self._done: list[Incoming | Refused] = []
        self._is_stopped = False
        #: Bytes after a request for another protocol, until it is decided who reads them.
        self.undecided: bytes | None = None
        self.phase = Phase.IDLE
        #: Requests begun so far: distinguishes one half-read request from the next.
        self.begun = 0
        #: Whether the client waits for ``100 Continue`` before it sends its body.
        self.owes_continue = False
        self._is_primed = False
        self._begin()

    def _begin(self) -> None:
        self._url = b""
        self._headers: dict[str, str] = {}
        self._body: list[bytes] = []
        self._size = 0
        self._incoming: Incoming | None = None

    def feed(self, data: bytes) -> list[Incoming | Refused]:
        """Feed bytes; return the requests that they complete."""
        if self._is_stopped:
            return []
        if self.undecided is not None:
            self.undecided += data
            return []
        rest = self._parse(data)
        while rest:
            rest = self._parse(rest)
        if self.phase is Phase.HEAD:
            self._size += len(data)
            if self._size > self._limits.head:
                self.refuse(431, f"the head of the request exceeds {self._limits.head} bytes")
        done, self._done = self._done, []
        return done

    def _parse(self, data: bytes) -> bytes:
        """Parse, and return what a new parser must begin with."""
        try:
            self._parser.feed_data(data)
        except httptools.HttpParserUpgrade as switch:
            return self._pass_by(data[switch.args[0] :])
        except httptools.HttpParserError as error:
            self.refuse(400, f"not an HTTP/1.1 request: {error}")
        return b""

    def go_on(self) -> list[Incoming | Refused]:
        """Continue with HTTP after an upgrade that was not accepted; return the requests that followed it."""
        rest, self.undecided = self.undecided, None
        return self.feed(rest) if rest else []

    def stop(self, status: int, reason: str) -> Refused:
        """Read no more, for a reason that the bytes do not show."""
        self.refuse(status, reason)
        self._done = []
        return Refused(status, reason)

    def refuse(self, status: int, reason: str) -> None:
        """Read no more."""
        if not self._is_stopped:
            self._is_stopped = True
            self.owes_continue = False
            self.phase = Phase.IDLE
            self._done.append(Refused(status, reason))

    # What the parser calls.

    def on_message_begin(self) -> None:
        """Begin a request."""
        if not self._is_primed:
            self._begin()
            self.begun += 1
            self.phase = Phase.HEAD

    def on_url(self, piece: bytes) -> None:
        """Collect the target."""
        if not self._is_primed:
            self._url += piece

    def on_header(self, raw: bytes, value: bytes) -> None:
        """Collect a header; trailers are ignored."""
        if self.phase is not Phase.HEAD or self._is_primed:
            return
        name = _NAMES.get(raw) or _header_name(raw)
        try:
            text = value.decode()
        except UnicodeDecodeError:
            text = value.decode("latin-1")
        headers = self._headers
        if name in headers:
            if name == "host":
                self.refuse(400, "more than one host header")
            text = f"{headers[name]}, {text}"
        headers[name] = text

    def on_headers_complete(self) -> None:
        """Check the head, and make the request of it."""
        if self._is_stopped or self._is_primed:
            return
        parser, headers = self._parser, self._headers
        version = parser.get_http_version()
        method = _METHODS.get(raw := parser.get_method()) or raw.decode("ascii")
        target = _target(self._url)
        problem = self._problem(method, target, version)
        if problem is not None:
            self.refuse(problem.status, problem.reason)
            return
        self._incoming = Incoming(Request(method, target, headers), version == "1.0", parser.should_keep_alive())
        self.phase = Phase.BODY
        self._size = 0
        if "expect" in headers:
            self._expect(headers["expect"], version)

    def on_body(self, piece: bytes) -> None:
        """Collect the body."""
        if self._is_stopped:
            return
        self.owes_continue = False
        self._size += len(piece)
        if self._size > self._limits.body:
            self._refuse_body()
        else:
            self._body.append(piece)

    def on_message_complete(self) -> None:
        """Return the request away."""
        incoming = self._incoming
        if self._is_stopped or incoming is None or (self._parser.should_upgrade() and self._has_body()):
            return
        body = self._body
        if body:
            incoming.request.body = body[0] if len(body) == 1 else b"".join(body)
        self.phase = Phase.IDLE
        self.owes_continue = False
        self._is_primed = False
        self._incoming = None
        self._done.append(incoming)

    def _problem(self, method: str, target: str, version: str) -> Refused | None:
        if version not in ("1.1", "1.0"):
            return Refused(505, f"HTTP/{version} is not spoken here")
        if method == "CONNECT":
            return Refused(405, "this is not a proxy")
        if not target.startswith("/") and (method, target) != ("OPTIONS", "*"):
            return Refused(400, "the request target is not a path")
        if version == "1.1" and "host" not in self._headers:
            return Refused(400, "no host header")
        if "content-length" in self._headers and int(self._headers["content-length"]) > self._limits.body:
            return self._too_large()
        return None

    def _expect(self, value: str, version: str) -> None:
        if value.lower() != "100-continue":
            self.refuse(417, "only 100-continue can be expected")
        elif version == "1.1" and self._has_body():
            self.owes_continue = True

    def _has_body(self) -> bool:
        headers = self._headers
        return "transfer-encoding" in headers or headers.get("content-length", "0").strip("0") != ""

    def _too_large(self) -> Refused:
        return Refused(413, f"the body of the request exceeds {self._limits.body} bytes")

    def _refuse_body(self) -> None:
        problem = self._too_large()
        self.refuse(problem.status, problem.reason)

    def _pass_by(self, rest: bytes) -> bytes:
        """Handle a request for another protocol.

        With a body it cannot be granted, and some clients ask with every request: then the body is read by a second
        parser that only knows its length, because the first one has stopped reading.
        """
        if self._is_stopped:
            return b""
        if self._incoming is None:
            self.undecided = rest
            return b""
        self._parser = httptools.HttpRequestParser(self)
        self._is_primed = True
        framing = next(name for name in ("transfer-encoding", "content-length") if name in self._headers)
        closing = "" if self._incoming.keep_alive else "connection: close\r\n"
        return f"POST / HTTP/1.1\r\n{closing}{framing}: {self._headers[framing]}\r\n\r\n".encode() + rest


def _target(url: bytes) -> str:
    """Return the path and query, also where a client sends a whole URL as it would to a proxy."""
    target = url.decode("ascii", "replace")
    if url[0:1] != b"/" and target.startswith(("http://", "https://")):
        _, slash, path = target.partition("://")[2].partition("/")
        return slash + path if slash else "/"
    return target
