"""`RequestLog`: one log line for each answer. Bodies, tokens and other headers never appear in it."""

import logging
from collections.abc import Awaitable

from steersman.protocol.http import App, Exchange, Peer, Request, Response, Stream, Upgraded

_log = logging.getLogger("steersman.apiserver")
_SWITCHING = 101


class RequestLog:
    """Wraps an app and logs its responses."""

    def __init__(self, app: App) -> None:
        self._app = app

    def handle(self, request: Request, exchange: Exchange) -> Awaitable[None] | None:
        """Pass the request to the app; see ``App``."""
        return self._app.handle(request, _Observed(request, exchange))


class _Observed:
    """An exchange that tells how it was answered."""

    __slots__ = ("_exchange", "_request")

    def __init__(self, request: Request, exchange: Exchange) -> None:
        self._request = request
        self._exchange = exchange

    @property
    def peer(self) -> Peer:
        """Address and certificate of the client."""
        return self._exchange.peer

    def respond(self, response: Response) -> None:
        """Answer at once."""
        self._tell(response.status)
        self._exchange.respond(response)

    def stream(self, status: int, headers: list[tuple[str, str]]) -> Stream:
        """Begin an answer."""
        self._tell(status)
        return self._exchange.stream(status, headers)

    def upgrade(self, headers: list[tuple[str, str]]) -> Upgraded:
        """Switch protocols."""
        self._tell(_SWITCHING)
        return self._exchange.upgrade(headers)

    def reset(self) -> None:
        """Break the connection."""
        self._tell(0)
        self._exchange.reset()

    def _tell(self, status: int) -> None:
        request = self._request
        agent = request.headers.get("user-agent", "").partition(" ")[0]
        fields = {"method": request.method, "target": request.target, "status": status, "agent": agent}
        _log.info("answered", extra=fields)
