"""`Routes`: an HTTP app that passes each review to the function mounted at its path. It never sees a socket.

``mount(path, review)`` takes any function, plain or async, from the bytes of a review to those of the response.
"""

import inspect
import logging
import re
from collections.abc import Awaitable, Callable
from typing import Final, Protocol, TypeAlias
from urllib.parse import parse_qs, urlsplit

from steersman.clock import Clock
from steersman.errors import DeclarationError, DecodeError
from steersman.protocol.http import Exchange, Request, Response
from steersman.webhook.reviews.failure import ReviewFailed, refusal

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


class ReviewObserver(Protocol):
    """Notified of reviews; must neither block nor raise."""

    def begun(self, path: str) -> None:
        """Record that a review began."""

    def ended(self, path: str, code: int, seconds: float) -> None:
        """Record the HTTP status of the response; a denial has status 200, too."""


class Routes:
    """An app that answers reviews by their path. Any failure becomes an error response."""

    def __init__(self, clock: Clock, observer: ReviewObserver | None = None) -> None:
        self._clock = clock
        self._observer = observer
        self._reviews: dict[str, ReviewFunction] = {}

    def __repr__(self) -> str:
        return f"<Routes {sorted(self._reviews)}>"

    def mount(self, path: str, review: ReviewFunction) -> None:
        """Answer the reviews that are posted to a path by a function."""
        if path in self._reviews:
            raise DeclarationError(f"two webhooks have the path {path}: pass name= to one of them")
        self._reviews[path] = review

    def handle(self, request: Request, exchange: Exchange) -> Awaitable[None] | None:
        """Answer one request."""
        url = urlsplit(request.target)
        problem = self._problem(request, url.path)
        if problem is not None:
            exchange.respond(problem)
            return None
        return self._answer(url.path, request.body, exchange, _limit(url.query))

    def _problem(self, request: Request, path: str) -> Response | None:
        if path not in self._reviews:
            return refusal(404, f"there is no webhook at {path}")
        if request.method != "POST":
            return refusal(405, "reviews are sent with POST")
        if request.headers.get("content-type", "").partition(";")[0].strip().lower() != _JSON:
            return refusal(415, f"reviews must be {_JSON}")
        if len(request.body) > LARGEST:
            return refusal(413, f"the review exceeds {LARGEST} bytes")
        return None

    async def _answer(self, path: str, body: bytes, exchange: Exchange, limit: float) -> None:
        if self._observer is None:
            exchange.respond(await self._response(path, body, limit))
            return
        began, code = self._clock.monotonic(), _CLIENT_CLOSED
        self._observer.begun(path)
        try:
            response = await self._response(path, body, limit)
            code = response.status
            exchange.respond(response)
        finally:
            self._observer.ended(path, code, self._clock.monotonic() - began)

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
