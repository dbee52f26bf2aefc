"""Between an operator and its server: records every request, lets chosen ones fail, and has a tap on every watch."""

import re
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import TypeAlias

from steersman.errors import ApiError, ConnectionLost
from steersman.objects.codec import encode_json
from steersman.protocol.confidential import CREDENTIAL_HEADERS, is_confidential
from steersman.protocol.http import App, Exchange, Request, Response
from steersman.testing.taps import TappedExchange, TappedStream


@dataclass(frozen=True, slots=True)
class Refuse:
    """Answer with a failure instead of passing the request on."""

    code: int = 500
    reason: str = "InternalError"
    message: str = "injected by a test"
    retry_after: int | None = None


@dataclass(frozen=True, slots=True)
class Lose:
    """Carry the request out, but lose the answer: the connection breaks."""


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
    """A fault, and which requests it strikes."""

    fault: Fault
    method: str = ""
    #: A pattern that must be found in the request's target.
    path: str = ""
    #: How often it strikes; ``None`` for ever.
    times: int | None = 1
    struck: int = 0

    def strikes(self, request: Request) -> bool:
        """Tell whether it strikes this request."""
        if self.times is not None and self.struck >= self.times:
            return False
        if self.method and request.method != self.method:
            return False
        return re.search(self.path, request.target) is not None


@dataclass(slots=True)
class Faults:
    """An app around an app. ``requests`` is what came, in order, without credentials and the content of Secrets."""

    app: App
    requests: list[Request] = field(default_factory=list)
    injections: list[Injection] = field(default_factory=list)
    #: Watches that are open, oldest first.
    streams: list[TappedStream] = field(default_factory=list)
    #: Faults that struck so far, each once; ``clear`` keeps them.
    struck: list[Fault] = field(default_factory=list)

    def inject(self, fault: Fault, *, method: str = "", path: str = "", times: int | None = 1) -> Injection:
        """Let requests fail: those of a method, whose target matches a pattern, so many times."""
        injection = Injection(fault, method, path, times)
        self.injections.append(injection)
        return injection

    def clear(self) -> None:
        """Let nothing fail any more, and forget what came."""
        self.injections.clear()
        self.requests.clear()

    def count(self, method: str = "", path: str = "") -> int:
        """Give how many requests came, of a method and with a matching target."""
        return sum((not method or one.method == method) and bool(re.search(path, one.target)) for one in self.requests)

    def writes(self) -> list[str]:
        """Give every request that is no read, as ``PATCH /api/…``."""
        return [f"{one.method} {one.target.partition('?')[0]}" for one in self.requests if one.method != "GET"]

    def watches(self, path: str = "") -> list[TappedStream]:
        """Give the open watches whose target matches a pattern."""
        return [stream for stream in self.streams if re.search(path, stream.target)]

    def hold(self, path: str = "") -> None:
        """Let open watches fall behind: what the server tells them waits for ``release``."""
        for stream in self.watches(path):
            stream.is_held = True

    def release(self, path: str = "") -> None:
        """Let held watches catch up."""
        for stream in self.watches(path):
            stream.release()

    def drop(self, path: str = "") -> None:
        """Break the connections of open watches; what they held is lost."""
        for stream in self.watches(path):
            stream.abort()

    def say(self, data: bytes, path: str = "") -> None:
        """Let open watches receive bytes that the server never sent."""
        for stream in self.watches(path):
            stream.write(data)

    def explains(self, error: BaseException) -> bool:
        """Return whether a fault that struck leads to such an error at its caller."""
        return any(_leads_to(fault, error) for fault in self.struck)

    def around(self, app: App) -> App:
        """Stand before another app too, such as the same server as somebody else sees it."""
        return _Branch(self, app)

    def handle(self, request: Request, exchange: Exchange) -> Awaitable[None] | None:
        """Record, and pass on unless a fault strikes."""
        return self.pass_on(self.app, request, exchange)

    def pass_on(self, app: App, request: Request, exchange: Exchange) -> Awaitable[None] | None:
        """Record, and pass on to an app unless a fault strikes."""
        self.requests.append(_recorded(request))
        if request.method == "GET" and "watch=" in request.target:
            exchange = TappedExchange(exchange, request.target, self._tap)
        injection = next((one for one in self.injections if one.strikes(request)), None)
        if injection is None:
            return app.handle(request, exchange)
        injection.struck += 1
        if injection.fault not in self.struck:
            self.struck.append(injection.fault)
        return _strike(injection.fault, app, request, exchange)

    def _tap(self, stream: TappedStream) -> None:
        self.streams.append(stream)
        stream.on_close(lambda: self.streams.remove(stream))


@dataclass(frozen=True, slots=True)
class _Branch:
    """One more app behind the same faults."""

    faults: Faults
    app: App

    def handle(self, request: Request, exchange: Exchange) -> Awaitable[None] | None:
        """Pass on what no fault strikes."""
        return self.faults.pass_on(self.app, request, exchange)


def _recorded(request: Request) -> Request:
    """Give a request as it is kept: without credentials, and without a body that may carry secrets."""
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
            return app.handle(request, _Deaf(exchange))
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


class _Deaf:
    """An exchange whose answer never arrives."""

    def __init__(self, inner: Exchange) -> None:
        self._inner = inner
        self.peer = inner.peer
        self.stream = inner.stream
        self.upgrade = inner.upgrade
        self.reset = inner.reset

    def respond(self, _: Response) -> None:
        self._inner.reset()
