"""`Routes`: the table of what is asked where. Admission and conversion are mounted; it never sees a socket.

``mount(path, review)`` takes any function from a review's bytes to its answer's bytes, waiting or not.
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

#: From the bytes of a review to those of its answer; ``ReviewFailed`` and ``DecodeError`` say that it is none.
Review: TypeAlias = Callable[[bytes], bytes | Awaitable[bytes]]

_log = logging.getLogger("steersman.webhook")
_JSON: Final = "application/json"
#: Bytes of a review: two objects of the largest size, and what is said about them.
LARGEST: Final = 7 * 1024 * 1024
_SECONDS: Final = re.compile(r"(\d{1,3}(?:\.\d+)?)s")
#: Seconds that a review may take when the API server does not say, and at most.
_USUAL, _LONGEST = 10.0, 30.0
#: How much of the API server's patience is used: the answer that time is up should still arrive.
_PATIENCE: Final = 0.9
#: What is counted when the API server did not wait for the answer.
_GONE: Final = 499


class Observer(Protocol):
    """Hears of reviews; it must neither wait nor fail."""

    def begun(self, path: str) -> None:
        """Take note of a question."""

    def ended(self, path: str, code: int, seconds: float) -> None:
        """Take note of its answer: by its HTTP status, since a denial is an answer like any other."""


class Routes:
    """An app that answers reviews by their path. Whatever comes, the worst that follows is a refusal."""

    def __init__(self, clock: Clock, observer: Observer | None = None) -> None:
        self._clock = clock
        self._observer = observer
        self._reviews: dict[str, Review] = {}

    def __repr__(self) -> str:
        return f"<Routes {sorted(self._reviews)}>"

    def mount(self, path: str, review: Review) -> None:
        """Let a function answer the reviews that are posted to a path."""
        if path in self._reviews:
            raise DeclarationError(f"two webhooks would be asked at {path}: name= one of them")
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
            return refusal(404, f"no webhook is asked at {path}")
        if request.method != "POST":
            return refusal(405, "reviews are posted")
        if request.headers.get("content-type", "").partition(";")[0].strip().lower() != _JSON:
            return refusal(415, f"reviews are {_JSON}")
        if len(request.body) > LARGEST:
            return refusal(413, f"the review exceeds {LARGEST} bytes")
        return None

    async def _answer(self, path: str, body: bytes, exchange: Exchange, limit: float) -> None:
        if self._observer is None:
            exchange.respond(await self._response(path, body, limit))
            return
        began, code = self._clock.monotonic(), _GONE
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
            return refusal(504, f"no verdict within {limit:g} s")
        except ReviewFailed as failure:
            return refusal(failure.code, str(failure))
        except DecodeError as error:
            return refusal(400, str(error))
        except Exception as error:  # noqa: BLE001 - whatever a function raises is its fault, told and survived
            _log.exception("webhook failed", extra={"path": path})
            return refusal(500, f"the webhook at {path} failed with {type(error).__name__}")
        return Response(200, [("content-type", _JSON)], content)


def _limit(query: str) -> float:
    """Give the seconds that an answer may take, from what the API server says about its own patience."""
    told = _SECONDS.fullmatch(parse_qs(query).get("timeout", [""])[0])
    seconds = float(told[1]) if told is not None else _USUAL
    return max(min(seconds, _LONGEST), 0.1) * _PATIENCE
