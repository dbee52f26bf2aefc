"""`RequestContext`: who sends a request, when, and with which randomness; one immutable value for the whole request.

Verbs run without waiting, and a verb that has to wait for a webhook is run again from the start (see
``webhook_calls/replay``). So that every run makes the same object, time and randomness are not asked of the server in
the middle of a verb: the request brings them along, and the second run gets the same ones.
"""

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from msgspec import Struct

from steersman.clock import Clock
from steersman.objects.times import format_time
from steersman.randomness import Randomness

_NEVER = datetime.min.replace(tzinfo=UTC)
_SECOND = timedelta(seconds=1)


@dataclass(frozen=True, slots=True)
class User:
    """The user who sends a request."""

    name: str
    groups: tuple[str, ...] = ()
    uid: str = ""
    extra: tuple[tuple[str, tuple[str, ...]], ...] = ()


class RequestContext(Struct, frozen=True, gc=False):
    """The properties of a request that do not depend on its verb."""

    user: User
    #: When the request arrived.
    moment: datetime
    #: The same as objects carry it: RFC 3339, whole seconds.
    now: str
    #: Source of the uids, generated names, addresses and ports of this request.
    randomness: Randomness
    #: Replies of webhooks to this request so far; ``None`` for requests that cannot wait for webhooks.
    answers: dict[Any, Any] | None = None

    def __repr__(self) -> str:
        return f"RequestContext(user={self.user!r}, now={self.now!r})"


class RequestContexts:
    """Creates the contexts of one server's requests; within one second the time is formatted once."""

    def __init__(self, clock: Clock, randomness: Randomness) -> None:
        self._clock = clock
        self._randomness = randomness
        #: The second that was formatted last, the one after it, and its text.
        self._second = self._next = _NEVER
        self._text = ""

    def of(self, user: User) -> RequestContext:
        """Return the context of a request that a user sends now."""
        moment = self._clock.now()
        if not self._second <= moment < self._next:
            self._second = moment.replace(microsecond=0)
            self._next = self._second + _SECOND
            self._text = format_time(self._second)
        return RequestContext(user, moment, self._text, self._randomness)
