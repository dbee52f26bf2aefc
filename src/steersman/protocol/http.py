"""An HTTP request and answer as plain values: the vocabulary that transports, servers and apps share.

No parsing and no sockets here. Header names are lower-case everywhere; on the wire they are case-insensitive anyway.
"""

from collections.abc import Awaitable, Callable
from typing import Any, Protocol

from msgspec import Struct

#: Methods that change nothing at the server, as RFC 9110 defines them.
SAFE_METHODS = frozenset({"GET", "HEAD", "OPTIONS"})


class WriteFence(Protocol):
    """Decides whether this process may write now. Leadership is one."""

    def check(self) -> None:
        """Raise unless a write may be sent in this moment; never waits."""


class Request(Struct):
    """One HTTP request. ``target`` is the path with its query, percent-encoded as it goes over the wire."""

    method: str
    target: str
    #: Lower-case names; a header that came several times is joined with ", ". It may hold credentials.
    headers: dict[str, str] = {}
    body: bytes = b""
    #: Checked by the transport right before each attempt is sent, retries included. It is part of the request, so that
    #: no wrapper around a transport can lose it.
    fence: WriteFence | None = None

    def __repr__(self) -> str:
        # Headers and bodies carry secrets, and a repr ends up in logs.
        return f"Request(method={self.method!r}, target={self.target!r})"


class Response(Struct):
    """One whole HTTP answer. Header names are lower-case and may repeat (``warning`` does)."""

    status: int
    headers: list[tuple[str, str]] = []
    body: bytes = b""

    def __repr__(self) -> str:
        return f"Response(status={self.status})"

    def header(self, name: str, default: str = "") -> str:
        """Return the first value of a header."""
        for key, value in self.headers:
            if key == name:
                return value
        return default

    def header_values(self, name: str) -> list[str]:
        """Return every value of a header, in order."""
        return [value for key, value in self.headers if key == name]


class Stream(Protocol):
    """The server's end of a response without a known length, such as a watch. Nothing here suspends."""

    def write(self, chunk: bytes) -> None:
        """Send one chunk; a no-op once the peer has disconnected."""

    def close(self) -> None:
        """End the response properly."""

    def abort(self) -> None:
        """Break the connection in the middle of the response."""

    @property
    def is_open(self) -> bool:
        """Whether the peer may still receive."""

    @property
    def is_writable(self) -> bool:
        """Whether the peer keeps up; when it does not, hold back and wait for ``on_writable``."""

    def on_writable(self, callback: Callable[[], None]) -> None:
        """Call back each time the peer has caught up."""

    def on_close(self, callback: Callable[[], None]) -> None:
        """Call back once when the peer has disconnected or the response has ended."""


class Peer(Struct, frozen=True):
    """What the server knows about the client, besides the headers."""

    address: str = ""
    #: The verified client certificate as ``ssl.SSLSocket.getpeercert()`` returns it, if one was presented.
    certificate: dict[str, Any] | None = None


class Exchange(Protocol):
    """One request on the server's end: exactly one of ``respond`` or ``stream`` must be called."""

    @property
    def peer(self) -> Peer:
        """The client of the request."""

    def respond(self, response: Response) -> None:
        """Respond with a complete body."""

    def stream(self, status: int, headers: list[tuple[str, str]]) -> Stream:
        """Begin a response whose end is not known yet."""

    def upgrade(self, headers: list[tuple[str, str]]) -> "Upgraded":
        """Switch protocols (101) and hand over the raw connection."""

    def reset(self) -> None:
        """Break the connection without a response."""


class Upgraded(Protocol):
    """A raw connection after an upgrade, such as a WebSocket."""

    def write(self, data: bytes) -> None:
        """Send bytes as they are."""

    def close(self) -> None:
        """Close the connection after what was written."""

    async def drain(self) -> None:
        """Wait until the peer keeps up with the writes, or has disconnected; call it after each large piece."""

    async def receive(self) -> bytes:
        """Wait for bytes; empty at the end."""


class App(Protocol):
    """What answers requests: the embedded API server, a webhook, a probe. It never sees a socket."""

    def handle(self, request: Request, exchange: Exchange) -> Awaitable[None] | None:
        """Respond through the exchange, now or later.

        Work that needs no waiting is done before returning ``None``: that is the fast path. A returned awaitable is run
        as a child task of the server, and is cancelled when the peer disconnects. An exception, here or there, becomes
        a 500 and a log line; it never ends the server.
        """
