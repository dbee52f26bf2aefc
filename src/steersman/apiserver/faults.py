"""Faults that tests inject: rejected, delayed, reset and lost requests, changed events, stale lists; and a request log.

A real cluster does all of it now and then. Rules are tried in the order in which they were added; one that was used up
is gone. Nothing here happens unless a test asks for it.
"""

from collections import deque
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field

from steersman.apiserver.messages.info import Query
from steersman.apiserver.messages.rendering import refusal_response
from steersman.apiserver.resources.request_context import User
from steersman.apiserver.status import Refusal
from steersman.apiserver.storage.history import Event
from steersman.apiserver.watch.hub import Interference, Watcher
from steersman.clock import Clock
from steersman.json_types import JsonObject
from steersman.protocol.http import Exchange, Peer, Request, Response, Stream, Upgraded

#: Returns whether a fault is for a request.
Matches = Callable[[Request], bool]

_REASONS = {
    409: ("Conflict", "the object has been modified; please apply your changes to the latest version and try again"),
    410: ("Expired", "the provided version is too old"),
    429: ("TooManyRequests", "the server has received too many requests and has asked us to try again later"),
    500: ("InternalError", "an error on the server has prevented the request from succeeding"),
    503: ("ServiceUnavailable", "the server is currently unable to handle the request"),
    504: ("Timeout", "the server was unable to return a response in the time allotted"),
}


@dataclass(frozen=True, slots=True)
class LoggedRequest:
    """One logged request."""

    method: str
    target: str
    body: bytes = field(repr=False)
    user_agent: str


@dataclass(slots=True)
class RequestFault:
    """A fault of the next requests that match."""

    matches: Matches
    #: Number of requests that are still to fail.
    times: int
    #: The response instead of the real one.
    refusal: Refusal | None = None
    #: Reset the connection instead of responding.
    reset: bool = False
    #: Carry out the request before the reset, which the client cannot know.
    after: bool = False
    #: Seconds to wait before anything else.
    delay: float = 0.0


@dataclass(slots=True)
class WatchFault:
    """A fault of the next events that match."""

    matches: Callable[[Event], bool]
    times: int
    #: ``drop``, ``duplicate`` or ``break`` (the stream ends before the event).
    what: str


def _any_event(_event: Event) -> bool:
    return True


def requests_of(method: str = "", target: str = "") -> Matches:
    """Return a matcher of requests by their method and a part of their target."""

    def matches(request: Request) -> bool:
        return (not method or request.method == method) and target in request.target

    return matches


@dataclass(slots=True)
class Faults:
    """The faults of one server, and the log of its requests."""

    #: The newest requests; older ones are forgotten.
    log: deque[LoggedRequest] = field(default_factory=lambda: deque(maxlen=10_000))
    is_logging: bool = False
    _requests: list[RequestFault] = field(default_factory=list)
    _watches: list[WatchFault] = field(default_factory=list)
    #: How many versions lists that ask for any version (``resourceVersion=0``) lag behind, as a real cache may.
    stale: int = 0

    @property
    def is_active(self) -> bool:
        """Whether requests can fail, or are logged."""
        return self.is_logging or bool(self._requests) or bool(self._watches)

    def refuse(self, code: int, *, times: int = 1, matches: Matches | None = None, retry_after: int = 0) -> None:
        """Reject the next requests without carrying them out."""
        reason, message = _REASONS.get(code, ("", "injected failure"))
        headers = (("retry-after", str(retry_after)),) if retry_after else ()
        details: JsonObject = {"retryAfterSeconds": retry_after} if retry_after else {}
        refusal = Refusal(code, reason, message, details=details, headers=headers)
        self._requests.append(RequestFault(matches or requests_of(), times, refusal))

    def reset(self, *, times: int = 1, matches: Matches | None = None, after: bool = False) -> None:
        """Reset the connection of the next requests, before or after carrying them out."""
        self._requests.append(RequestFault(matches or requests_of(), times, reset=True, after=after))

    def delay(self, seconds: float, *, times: int = 1, matches: Matches | None = None) -> None:
        """Delay the next requests."""
        self._requests.append(RequestFault(matches or requests_of(), times, delay=seconds))

    def watch(self, what: str, *, times: int = 1, matches: Callable[[Event], bool] | None = None) -> None:
        """Drop or duplicate the next events, or break the stream before them; for every watcher."""
        if what not in ("drop", "duplicate", "break"):
            raise ValueError(f"a watch fault is 'drop', 'duplicate' or 'break', not {what!r}")
        self._watches.append(WatchFault(matches or _any_event, times, what))

    def clear(self) -> None:
        """Remove all faults."""
        self._requests.clear()
        self._watches.clear()
        self.stale = 0

    def note(self, request: Request) -> None:
        """Log a request, if logging is on."""
        if self.is_logging:
            agent = request.headers.get("user-agent", "")
            self.log.append(LoggedRequest(request.method, request.target, request.body, agent))

    def take(self, request: Request) -> RequestFault | None:
        """Return the fault of a request, and count it; ``None`` without one."""
        for fault in self._requests:
            if fault.matches(request):
                fault.times -= 1
                if fault.times <= 0:
                    self._requests.remove(fault)
                return fault
        return None

    @property
    def interference(self) -> Interference | None:
        """What changes events on their way to watchers; ``None`` while no event is to be changed."""
        return self.interfere if self._watches else None

    def interfere(self, watcher: Watcher, event: Event, written: bytes) -> bytes:
        """Return what a watcher gets instead of an event."""
        for fault in self._watches:
            if fault.matches(event):
                fault.times -= 1
                if fault.times <= 0:
                    self._watches.remove(fault)
                if fault.what == "break":
                    watcher.stream.abort()
                return written + written if fault.what == "duplicate" else b""
        return written


#: Answers a request of a user, or of the user whose credentials it carries.
Handle = Callable[[Request, Exchange, User | None], Awaitable[None] | None]


@dataclass(frozen=True, slots=True)
class FaultInjection:
    """Stands before the handler of requests, and lets the requests of a test fail."""

    faults: Faults
    clock: Clock
    next: Handle

    def handle(self, request: Request, exchange: Exchange, user: User | None) -> Awaitable[None] | None:
        """Answer one request, unless it is to fail."""
        self.faults.note(request)
        fault = self.faults.take(request)
        if fault is None:
            return self.next(request, exchange, user)
        if fault.delay:
            return self._handle_late(fault.delay, request, exchange, user)
        if fault.refusal is not None:
            exchange.respond(refusal_response(request, Query(), fault.refusal))
            return None
        if fault.after and (work := self.next(request, _LostExchange(exchange.peer), user)) is not None:
            return _finish_lost(work, exchange)
        exchange.reset()
        return None

    async def _handle_late(self, seconds: float, request: Request, exchange: Exchange, user: User | None) -> None:
        await self.clock.sleep(seconds)
        work = self.next(request, exchange, user)
        if work is not None:
            await work


async def _finish_lost(work: Awaitable[None], exchange: Exchange) -> None:
    await work
    exchange.reset()


class _LostExchange:
    """An exchange whose response is lost: the request is carried out, then the connection breaks."""

    def __init__(self, peer: Peer) -> None:
        self.peer = peer

    def respond(self, response: Response) -> None:
        """Drop the response."""

    def stream(self, status: int, headers: list[tuple[str, str]]) -> Stream:
        """Reject a response that could only be streamed."""
        raise Refusal(503, "ServiceUnavailable", f"the connection broke before the answer {status} {headers[:0]}")

    def upgrade(self, headers: list[tuple[str, str]]) -> Upgraded:
        """Reject a change of the protocol."""
        raise Refusal(503, "ServiceUnavailable", f"the connection broke {headers[:0]}")

    def reset(self) -> None:
        """Do nothing: the connection is broken already."""
