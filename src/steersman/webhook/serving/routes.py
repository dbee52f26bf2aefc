"""`Routes`: an HTTP app that passes each review to the function mounted at its path. It never sees a socket.

``mount(path, review)`` takes any function, plain or async, from the bytes of a review to those of the response.
"""

import inspect
import logging
import re
from collections.abc import Awaitable, Callable
from typing import Final, TypeAlias
from urllib.parse import parse_qs

from steersman.clock import Clock
from steersman.errors import DeclarationError, DecodeError
from steersman.history.records import WebhookCall
from steersman.protocol.http import Exchange, Request, Response
from steersman.webhook.reviews.failure import ReviewFailed, refusal
from steersman.webhook.serving.call_record import CallTiming, call_record

#: From the bytes of a review to those of its response; raises ``ReviewFailed`` or ``DecodeError`` if it is not valid.
ReviewFunction: TypeAlias = Callable[[bytes], bytes | Awaitable[bytes]]

_log = logging.getLogger("steersman.webhook")
_JSON: Final = "application/json"
#: Bytes of a review: two objects of the maximum size, and the rest of the request.
LARGEST: Final = 7 * 1024 * 1024
_SECONDS: Final = re.compile(r"(\d{1,3}(?:\.\d+)?)s")
#: Timeout of a review in seconds if the API server does not send one, and the longest timeout.
_DEFAULT_TIMEOUT, _LONGEST_TIMEOUT = 10.0, 30.0
#: Part of the API server's timeout that a function gets: our own timeout response must still arrive in time.
_TIMEOUT_SHARE: Final = 0.9
#: Status that is counted when the API server closed the connection before the response.
_CLIENT_CLOSED: Final = 499
#: Characters of a trace context.
_TRACE: Final = 128


#: Called with the record of each review; must neither block nor raise.
OnCall: TypeAlias = Callable[[WebhookCall], None]


class Routes:
    """An app that answers reviews by their path. Any failure becomes an error response."""

    def __init__(self, clock: Clock, on_call: OnCall | None = None) -> None:
        self._clock = clock
        self._on_call = on_call
        #: Reviews under way, by path.
        self.active: dict[str, int] = {}
        self._reviews: dict[str, ReviewFunction] = {}

    def __repr__(self) -> str:
        return f"<Routes {sorted(self._reviews)}>"

    def mount(self, path: str, review: ReviewFunction) -> None:
        """Answer the reviews that are posted to a path by a function."""
        if path in self._reviews:
            raise DeclarationError(f"two webhooks have the path {path}: pass name= to one of them")
        self._reviews[path] = review
        self.active[path] = 0

    def handle(self, request: Request, exchange: Exchange) -> Awaitable[None] | None:
        """Answer one request."""
        path, _, query = request.target.partition("?")
        problem = self._problem(request, path)
        if problem is not None:
            exchange.respond(problem)
            return None
        return self._answer(path, request, exchange, _limit(query))

    def _problem(self, request: Request, path: str) -> Response | None:
        if path not in self._reviews:
            return refusal(404, f"there is no webhook at {path[:100]}")
        if request.method != "POST":
            return refusal(405, "reviews are sent with POST")
        if request.headers.get("content-type", "").partition(";")[0].strip().lower() != _JSON:
            return refusal(415, f"reviews must be {_JSON}")
        if len(request.body) > LARGEST:
            return refusal(413, f"the review exceeds {LARGEST} bytes")
        return None

    async def _answer(self, path: str, request: Request, exchange: Exchange, limit: float) -> None:
        started, began = self._clock.now(), self._clock.monotonic()
        response = Response(_CLIENT_CLOSED)
        self.active[path] += 1
        try:
            response = await self._response(path, request.body, limit)
            exchange.respond(response)
        finally:
            self.active[path] -= 1
            if self._on_call is not None:
                timing = CallTiming(started, self._clock.monotonic() - began)
                trace = request.headers.get("traceparent", "")[:_TRACE]
                self._on_call(call_record(path, request.body, response.status, response.body, timing, trace))

    async def _response(self, path: str, body: bytes, limit: float) -> Response:
        try:
            async with self._clock.timeout(limit):
                answer = self._reviews[path](body)
                content = await answer if inspect.isawaitable(answer) else answer
        except TimeoutError:
            _log.warning("webhook took too long", extra={"path": path, "limit": limit})
            return refusal(504, f"no response within {limit:g} s")
        except ReviewFailed as failure:
            return refusal(failure.code, str(failure))
        except DecodeError as error:
            return refusal(400, str(error))
        except Exception as error:  # noqa: BLE001 - a bug of the function must not end the server
            _log.exception("webhook failed", extra={"path": path})
            return refusal(500, f"the webhook at {path} failed with {type(error).__name__}")
        return Response(200, [("content-type", _JSON)], content)


def _limit(query: str) -> float:
    """Return the seconds that a function may take, from the timeout that the API server sends in the URL."""
    sent = _SECONDS.fullmatch(parse_qs(query).get("timeout", [""])[0])
    seconds = float(sent[1]) if sent is not None else _DEFAULT_TIMEOUT
    return max(min(seconds, _LONGEST_TIMEOUT), 0.1) * _TIMEOUT_SHARE
