"""When to retry a request, and how long to wait first: the rule, and the loop that applies it.

The server decides: 429 and 5xx are retried only with ``Retry-After``. A broken connection is retried only for reads,
because a write may have been carried out already. Whether a write may still be sent is decided by its fence: the
transport checks it in each attempt, right before the first byte.
"""

from collections.abc import Awaitable, Callable

from steersman.clock import Clock
from steersman.errors import ConnectionLost, TransportError
from steersman.protocol.http import Request, Response
from steersman.protocol.responses import error_of, is_too_large_version

#: Repetitions of one request, as client-go.
MAX_RETRIES = 10
#: Longer waits are for the caller to decide about: priority and fairness asks for 32 at most.
MAX_WAIT = 60.0
#: Seconds before a read is repeated whose connection broke.
AFTER_RESET = 1.0
#: Requests that change nothing, even if they were carried out twice.
READS = frozenset({"GET", "HEAD"})

_TOO_MANY_REQUESTS = 429
_GATEWAY_TIMEOUT = 504
_SERVER_ERRORS = range(500, 600)


def wait_before_retry(method: str, outcome: Response | TransportError) -> float | None:
    """Return the seconds to wait before a retry, or ``None`` to accept the outcome."""
    if isinstance(outcome, Response):
        if outcome.status == _TOO_MANY_REQUESTS or outcome.status in _SERVER_ERRORS:
            return None if _asks_for_another_version(outcome) else _retry_after(outcome)
        return None
    return AFTER_RESET if method in READS and isinstance(outcome, ConnectionLost) else None


def _asks_for_another_version(response: Response) -> bool:
    """Return whether a read failed because its resource version is from the future.

    The server sends ``Retry-After`` then too, but a version of a lost history never comes: its reader must know at
    once.
    """
    return response.status == _GATEWAY_TIMEOUT and is_too_large_version(error_of(response))


def _retry_after(response: Response) -> float | None:
    value = response.header("retry-after")
    if not (value.isascii() and value.isdigit()) or len(value) > 4:  # noqa: PLR2004 - more digits are no waiting time
        return None
    seconds = float(value)
    return seconds if seconds <= MAX_WAIT else None


async def request_with_retries(
    attempt: Callable[[Request, float | None], Awaitable[Response]],
    request: Request,
    *,
    clock: Clock,
    timeout: float | None,  # noqa: ASYNC109 - measured by the injected clock
) -> Response:
    """Repeat ``attempt(request, deadline)`` while the rule requires it and the deadline allows the wait."""
    deadline = None if timeout is None else clock.monotonic() + timeout
    retries = 0
    while True:
        outcome: Response | TransportError
        try:
            outcome = await attempt(request, deadline)
            if outcome.status < 400:  # noqa: PLR2004 - nearly every answer
                return outcome
        except ConnectionLost as error:
            outcome = error
        wait = wait_before_retry(request.method, outcome) if retries < MAX_RETRIES else None
        if wait is None or (deadline is not None and clock.monotonic() + wait >= deadline):
            if isinstance(outcome, Response):
                return outcome
            raise outcome
        retries += 1
        await clock.sleep(wait)
