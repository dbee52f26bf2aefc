"""`UserTransport`: the connection of a scenario, which stands for users.

Users mean objects by their names and try again what a failing webhook prevented; faults are not about them. So a write
that fails because of a webhook is repeated, and a uid that a scenario remembers is replaced by that of the object which
has taken the name since (see ``recreation``).
"""

from collections.abc import Callable, Coroutine
from typing import Any

from steersman.protocol.http import Request, Response
from steersman.transport.base import DEFAULT_TIMEOUT
from steersman.transport.in_memory import InMemoryTransport

_MOST_TRIES = 3
#: Virtual seconds between two tries.
_PAUSE = 1.0


class UserTransport(InMemoryTransport):
    """Carries the requests of a scenario."""

    #: The uid of the object that has taken the name of another one, by the uid of that.
    successors: dict[str, str]
    #: Called with the path of each object that the user deletes.
    on_delete: Callable[[str], object]

    def reset(self) -> None:
        """Forget everything about the run before."""
        self.successors = {}
        self.on_delete = lambda _: None

    def request(self, request: Request, *, timeout: float | None = DEFAULT_TIMEOUT) -> Coroutine[Any, Any, Response]:
        """Send, and wait for the whole answer."""
        return self._send(request, timeout)

    async def _send(self, request: Request, limit: float | None) -> Response:
        if request.method == "DELETE":
            self.on_delete(request.target.partition("?")[0])
        for _ in range(_MOST_TRIES - 1):
            response = await super().request(self._present(request), timeout=limit)
            if not is_webhook_failure(response):
                return response
            await self._clock.sleep(_PAUSE)
        return await super().request(self._present(request), timeout=limit)

    def _present(self, request: Request) -> Request:
        body = request.body
        for old, new in self.successors.items():
            body = body.replace(old.encode(), new.encode())
        return Request(request.method, request.target, request.headers, body, request.fence)


def is_webhook_failure(response: Response) -> bool:
    """Return whether a request failed only because a webhook did not answer properly."""
    return response.status >= 500 and b"webhook" in response.body  # noqa: PLR2004 - failures of the server
