"""`ReadOnlyTransport`: the last line between a plan and a live cluster. Only reads and dry runs leave this process.

It fails closed: a request that it does not recognise as harmless raises `LiveWriteError`, whatever sent it. The server
decides by the query of a create, update or patch, but by the *body* of a delete that has one, so that is where the
option must be.
"""

from contextlib import AbstractAsyncContextManager, suppress
from typing import Any, Final
from urllib.parse import parse_qs

from steersman.errors import DecodeError
from steersman.objects.codec import decode_json, encode_json
from steersman.protocol.http import SAFE_METHODS, Request, Response, Upgraded
from steersman.transport.base import DEFAULT_IDLE, DEFAULT_TIMEOUT, Transport
from steersman.transport.stream import ResponseStream

_ALL: Final = ["All"]


class LiveWriteError(RuntimeError):
    """A plan tried to change the live cluster: a bug in the planner, never in the operator."""


class ReadOnlyTransport:
    """Send reads and dry runs by another transport; reject everything else."""

    def __init__(self, inner: Transport) -> None:
        self._inner = inner
        #: Requests under way. A plan is not at rest while one is.
        self.pending = 0
        #: Requests that were sent, by method.
        self.sent: dict[str, int] = {}

    async def request(self, request: Request, *, timeout: float | None = DEFAULT_TIMEOUT) -> Response:  # noqa: ASYNC109 - the signature of Transport
        """Send a read or a dry run; raise `LiveWriteError` for any other request."""
        if not is_harmless(request):
            raise LiveWriteError(f"{request.method} {request.target} is neither a read nor a dry run")
        self.sent[request.method] = self.sent.get(request.method, 0) + 1
        self.pending += 1
        try:
            return await self._inner.request(request, timeout=timeout)
        finally:
            self.pending -= 1

    def stream(
        self, request: Request, *, idle: float | None = DEFAULT_IDLE
    ) -> AbstractAsyncContextManager[ResponseStream]:
        """Open a stream that is read, such as a log; raise `LiveWriteError` for any other request."""
        if request.method not in SAFE_METHODS:
            raise LiveWriteError(f"{request.method} {request.target} is not a read")
        self.sent[request.method] = self.sent.get(request.method, 0) + 1
        return self._inner.stream(request, idle=idle)

    def upgrade(self, request: Request, *, protocol: str) -> AbstractAsyncContextManager[Upgraded | Response]:
        """Raise `LiveWriteError`: what a command in a pod or a forwarded port does cannot be known."""
        raise LiveWriteError(f"{request.target} ({protocol}) is not a read")

    async def ping(self) -> None:
        """Check that the server answers."""
        await self._inner.ping()

    async def close(self) -> None:
        """Close the inner transport."""
        await self._inner.close()

    def __repr__(self) -> str:
        return f"<ReadOnlyTransport {self._inner!r}>"


def is_harmless(request: Request) -> bool:
    """Return whether a request is a read or a dry run."""
    if request.method in SAFE_METHODS:
        return "upgrade" not in request.headers
    path, _, query = request.target.partition("?")
    if "/proxy" in path:
        # The server behind a proxy gets the request unchanged, and does not know dry runs.
        return False
    if parse_qs(query, keep_blank_values=True).get("dryRun") != _ALL:
        return False
    return request.method != "DELETE" or _delete_is_dry(request.body)


def as_dry_run(request: Request) -> Request:
    """Return a write as a dry run."""
    separator = "&" if "?" in request.target else "?"
    headers, body = request.headers, request.body
    if request.method == "DELETE":
        options: Any = decode_json(body) if body else {}
        body = encode_json({**options, "dryRun": _ALL})
        headers = {**headers, "content-type": "application/json"}
    return Request(request.method, f"{request.target}{separator}dryRun=All", headers, body, request.fence)


def _delete_is_dry(body: bytes) -> bool:
    with suppress(DecodeError):
        options = decode_json(body) if body else None
        return isinstance(options, dict) and options.get("dryRun") == _ALL
    return False
