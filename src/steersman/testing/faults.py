"""`Faults`: an app between an operator and its server that records requests, injects faults and controls watches."""

import re
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import TypeAlias

from steersman.errors import ApiError, ConnectionLost
from steersman.objects.codec import encode_json
from steersman.protocol.confidential import CREDENTIAL_HEADERS, is_confidential
from steersman.protocol.http import App, Exchange, Peer, Request, Response, Stream, Upgraded


@dataclass(slots=True, eq=False)
class WatchControl:
    """The stream of a watch. While it is held, what the server writes waits."""

    inner: Stream
    target: str
    is_held: bool = False
    waiting: list[bytes] = field(default_factory=list, repr=False)

    def write(self, chunk: bytes) -> None:
        """Send a chunk, or keep it while the stream is held."""
        if self.is_held:
            self.waiting.append(chunk)
        else:
            self.inner.write(chunk)

    def release(self) -> None:
        """Send the chunks that were kept, and stop holding."""
        self.is_held = False
        waiting, self.waiting = self.waiting, []
        for chunk in waiting:
            self.inner.write(chunk)

    def close(self) -> None:
        """End the response properly."""
        self.inner.close()

    def abort(self) -> None:
        """Break the connection in the middle of the response."""
        self.inner.abort()

    @property
    def is_open(self) -> bool:
        """Whether the peer may still receive."""
        return self.inner.is_open

    @property
    def is_writable(self) -> bool:
        """Whether the peer keeps up."""
        return self.inner.is_writable

    def on_writable(self, callback: Callable[[], None]) -> None:
        """Call back each time the peer has caught up."""
        self.inner.on_writable(callback)

    def on_close(self, callback: Callable[[], None]) -> None:
        """Call back once when the peer has disconnected or the response has ended."""
        self.inner.on_close(callback)


@dataclass(frozen=True, slots=True)
class ControlledExchange:
    """An exchange whose stream is put under control."""

    inner: Exchange
    target: str
    on_stream: Callable[[WatchControl], None]

    @property
    def peer(self) -> Peer:
        """The peer of the request."""
        return self.inner.peer

    def respond(self, response: Response) -> None:
        """Respond with a complete body."""
        self.inner.respond(response)

    def stream(self, status: int, headers: list[tuple[str, str]]) -> Stream:
        """Begin a streamed response."""
        tapped = WatchControl(self.inner.stream(status, headers), self.target)
        self.on_stream(tapped)
        return tapped

    def upgrade(self, headers: list[tuple[str, str]]) -> Upgraded:
        """Switch protocols."""
        return self.inner.upgrade(headers)

    def reset(self) -> None:
        """Break the connection without a response."""
        self.inner.reset()


@dataclass(frozen=True, slots=True)
class Refuse:
    """Answer with a failure instead of passing the request on."""

    code: int = 500
    reason: str = "InternalError"
    message: str = "injected by a test"
    retry_after: int | None = None


@dataclass(frozen=True, slots=True)
class Lose:
    """Carry out the request, but lose the response: the connection breaks."""


@dataclass(frozen=True, slots=True)
class Reset:
    """Break the connection before the server sees the request."""


@dataclass(frozen=True, slots=True)
class Before:
    """Do something, such as a competing write, right before the server sees the request."""

    action: Callable[[], None]


Fault: TypeAlias = Refuse | Lose | Reset | Before


@dataclass(slots=True)
class Injection:
    """A fault, and the requests it strikes."""

    fault: Fault
    method: str = ""
    #: A regular expression that must match somewhere in the request's target.
    path: str = ""
    #: How often it strikes; ``None`` means always.
    times: int | None = 1
    struck: int = 0

    def strikes(self, request: Request) -> bool:
        """Return whether the fault strikes a request."""
        if self.times is not None and self.struck >= self.times:
            return False
        if self.method and request.method != self.method:
            return False
        return re.search(self.path, request.target) is not None


@dataclass(slots=True)
class Faults:
    """An app that wraps an app. ``requests`` are those received, without credentials and the content of Secrets."""

    app: App
    requests: list[Request] = field(default_factory=list)
    injections: list[Injection] = field(default_factory=list)
    #: Open watches, oldest first.
    streams: list[WatchControl] = field(default_factory=list)
    #: Faults that struck so far, without duplicates; ``clear`` keeps them.
    struck: list[Fault] = field(default_factory=list)

    def inject(self, fault: Fault, *, method: str = "", path: str = "", times: int | None = 1) -> Injection:
        """Inject a fault into requests with this method whose target matches a pattern, ``times`` times."""
        injection = Injection(fault, method, path, times)
        self.injections.append(injection)
        return injection

    def clear(self) -> None:
        """Remove all faults, and forget the recorded requests."""
        self.injections.clear()
        self.requests.clear()

    def count(self, method: str = "", path: str = "") -> int:
        """Return the number of requests with this method and a matching target."""
        return sum((not method or one.method == method) and bool(re.search(path, one.target)) for one in self.requests)

    def writes(self) -> list[str]:
        """Return every request that is not a read, as ``PATCH /api/…``."""
        return [f"{one.method} {one.target.partition('?')[0]}" for one in self.requests if one.method != "GET"]

    def watches(self, path: str = "") -> list[WatchControl]:
        """Return the open watches whose target matches a pattern."""
        return [stream for stream in self.streams if re.search(path, stream.target)]

    def hold(self, path: str = "") -> None:
        """Hold back what the server sends to open watches, until ``release``."""
        for stream in self.watches(path):
            stream.is_held = True

    def release(self, path: str = "") -> None:
        """Deliver what held watches missed."""
        for stream in self.watches(path):
            stream.release()

    def drop(self, path: str = "") -> None:
        """Break the connections of open watches; what they held back is lost."""
        for stream in self.watches(path):
            stream.abort()

    def send(self, data: bytes, path: str = "") -> None:
        """Send bytes to open watches that the server never sent."""
        for stream in self.watches(path):
            stream.write(data)

    def explains(self, error: BaseException) -> bool:
        """Return whether a fault that struck can cause such an error at the caller."""
        return any(_leads_to(fault, error) for fault in self.struck)

    def around(self, app: App) -> App:
        """Wrap another app too, such as the same server for another user."""
        return _Branch(self, app)

    def handle(self, request: Request, exchange: Exchange) -> Awaitable[None] | None:
        """Record a request, and pass it on unless a fault strikes."""
        return self.pass_on(self.app, request, exchange)

    def pass_on(self, app: App, request: Request, exchange: Exchange) -> Awaitable[None] | None:
        """Record a request, and pass it on to an app unless a fault strikes."""
        self.requests.append(_recorded(request))
        if request.method == "GET" and "watch=" in request.target:
            exchange = ControlledExchange(exchange, request.target, self._control)
        injection = next((one for one in self.injections if one.strikes(request)), None)
        if injection is None:
            return app.handle(request, exchange)
        injection.struck += 1
        if injection.fault not in self.struck:
            self.struck.append(injection.fault)
        return _strike(injection.fault, app, request, exchange)

    def _control(self, stream: WatchControl) -> None:
        self.streams.append(stream)
        stream.on_close(lambda: self.streams.remove(stream))


@dataclass(frozen=True, slots=True)
class _Branch:
    """Another app behind the same faults."""

    faults: Faults
    app: App

    def handle(self, request: Request, exchange: Exchange) -> Awaitable[None] | None:
        """Pass a request on unless a fault strikes."""
        return self.faults.pass_on(self.app, request, exchange)


def _recorded(request: Request) -> Request:
    """Return a request without credentials, and without a body that may contain secrets."""
    if CREDENTIAL_HEADERS.isdisjoint(request.headers) and not (request.body and is_confidential(request.target)):
        return request
    headers = {name: value for name, value in request.headers.items() if name not in CREDENTIAL_HEADERS}
    return Request(request.method, request.target, headers, b"" if is_confidential(request.target) else request.body)


def _strike(fault: Fault, app: App, request: Request, exchange: Exchange) -> Awaitable[None] | None:
    match fault:
        case Refuse():
            exchange.respond(_refusal(fault))
        case Reset():
            exchange.reset()
        case Lose():
            return app.handle(request, _LostResponse(exchange))
        case Before(action):
            action()
            return app.handle(request, exchange)
    return None


def _leads_to(fault: Fault, error: BaseException) -> bool:
    match fault:
        case Refuse():
            return isinstance(error, ApiError) and (error.code, error.message) == (fault.code, fault.message)
        case Reset() | Lose():
            return isinstance(error, ConnectionLost)
        case Before():
            return False


def _refusal(fault: Refuse) -> Response:
    body = {
        "kind": "Status",
        "apiVersion": "v1",
        "metadata": {},
        "status": "Failure",
        "message": fault.message,
        "reason": fault.reason,
        "code": fault.code,
    }
    headers = [("content-type", "application/json")]
    if fault.retry_after is not None:
        headers.append(("retry-after", str(fault.retry_after)))
    return Response(fault.code, headers, encode_json(body))


class _LostResponse:
    """An exchange whose response never arrives."""

    def __init__(self, inner: Exchange) -> None:
        self._inner = inner
        self.peer = inner.peer
        self.stream = inner.stream
        self.upgrade = inner.upgrade
        self.reset = inner.reset

    def respond(self, _: Response) -> None:
        self._inner.reset()
