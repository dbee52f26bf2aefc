"""When a watch is considered dead: rules about time, without waiting.

Silence is not death: for a quiet kind a server sends only a bookmark about once a minute. A watch is dead after::

    no complete event for NO_EVENT seconds      bytes do not count: a trickle of them updates nothing
    OVERDUE seconds after the requested end     the server should have ended the watch itself
    a failed probe                              QUIET seconds without an event, and the server does not answer a request
    a missing event                             DOUBTED seconds without an event, and the reader knows of one

What these rules cannot see: a peer that keeps the connection and answers other requests, but has forgotten this watch.
That is noticed after ``NO_EVENT``, or when the reader misses the event of its own write. Lost packets are noticed by
the system: see ``transport.http.dial``.
"""

from typing import TypeAlias

from msgspec import Struct

#: Seconds to wait for the first byte of a watch: the connection, the queue of a busy server, its answer.
OPENING = 30.0
#: Seconds without an event after which the server is probed.
QUIET = 15.0
#: Seconds without an event after which a watch is dead: just above the time between two bookmarks.
NO_EVENT = 70.0
#: Seconds without any event after which a watch that should have delivered a certain event counts as dead. A watch
#: that delivers other events is only behind, and a new one would be further behind.
DOUBTED = 3.0
#: Seconds after which a watch counts as dead if the server should have ended it.
OVERDUE = 30.0


class KeepWaiting(Struct, frozen=True):
    """Wait for bytes, but no longer than this."""

    seconds: float


class ProbeServer(Struct, frozen=True):
    """Find out whether the server still responds; the watch is kept meanwhile."""


class GiveUp(Struct, frozen=True):
    """Replace the watch."""

    reason: str


Step: TypeAlias = KeepWaiting | ProbeServer | GiveUp


class WatchLiveness:
    """Follows one watch from its opening; only time that is spent waiting for the server counts."""

    def __init__(self, now: float, lasts: float | None) -> None:
        #: When the watch is dead in any case; ``lasts`` is the requested duration in seconds.
        self._overdue_at = float("inf") if lasts is None else now + lasts + OVERDUE
        self._waits_since = now
        self._quiet_since = now
        self._is_doubted = False

    def begin_waiting(self, now: float) -> None:
        """Wait for the next event from now on."""
        self._waits_since = self._quiet_since = now
        self._is_doubted = False

    def doubt(self, now: float) -> bool:
        """Note that the server has an event which the watch has not brought; return whether the watch is dead."""
        self._is_doubted = now - self._waits_since >= DOUBTED
        return self._is_doubted

    def server_responded(self, now: float) -> None:
        """Note that the server responded to a probe."""
        self._quiet_since = now

    def step(self, now: float) -> Step:
        """Return what to do now."""
        if self._is_doubted:
            return GiveUp(f"the watch brought no event for {now - self._waits_since:.1f} s, and one is missing")
        dead_at = min(self._waits_since + NO_EVENT, self._overdue_at)
        if now >= self._overdue_at:
            return GiveUp(f"the server did not end the watch within {OVERDUE:g} s after its time")
        if now >= dead_at:
            return GiveUp(f"the watch brought no complete event for {NO_EVENT:g} s")
        ask_at = self._quiet_since + QUIET
        return ProbeServer() if now >= ask_at else KeepWaiting(min(ask_at, dead_at) - now)

    def __repr__(self) -> str:
        return f"<WatchLiveness waits_since={self._waits_since} overdue_at={self._overdue_at}>"
