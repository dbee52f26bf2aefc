"""Runs an app: at once where it can, as child tasks where it must wait; a bug never ends the server."""

import asyncio
import logging
from collections.abc import Awaitable
from typing import TYPE_CHECKING

from steersman.protocol.http import App, Request, Response

if TYPE_CHECKING:
    from steersman.serving.exchange import HttpExchange

__all__ = ["App", "AppRunner"]

_log = logging.getLogger(__name__)
_INTERNAL_ERROR = Response(500, [("content-type", "text/plain; charset=utf-8")], b"internal error\n")


class AppRunner:
    """Hands requests to an app on behalf of one server, whose task group is the parent of all waiting answers."""

    def __init__(self, app: App, tasks: asyncio.TaskGroup) -> None:
        self._app = app
        self._tasks = tasks

    def run(self, request: Request, exchange: "HttpExchange") -> None:
        """Run the app; pass its task to the exchange if there is one."""
        try:
            work = self._app.handle(request, exchange)
        except Exception:  # noqa: BLE001 - whatever an app raises is a bug of that app, reported and survived
            self._report(request, exchange)
            return
        if work is not None:
            name = f"answer {request.method} {request.target}"
            exchange.task = self._tasks.create_task(self._wait(work, request, exchange), name=name)

    async def _wait(self, work: Awaitable[None], request: Request, exchange: "HttpExchange") -> None:
        try:
            await work
        except Exception:  # noqa: BLE001 - as above
            self._report(request, exchange)

    def _report(self, request: Request, exchange: "HttpExchange") -> None:
        _log.exception("app failed", extra={"method": request.method, "target": request.target})
        if exchange.is_begun:
            exchange.reset()
        else:
            exchange.respond(_INTERNAL_ERROR)
