"""`Traffic`: when an operator in another process is at rest. Pure: the caller has the clock.

Whether a program works or waits cannot be seen from outside, so rest means no traffic: no request of the program and no
write to the cluster for some seconds. That is a guess. A program that computes or sleeps for longer than that between
two requests counts as at rest, and the next step of the scenario then comes too early. Renewals of
leadership and events do not count as traffic; the caller leaves them out.
"""

from collections import Counter, deque
from dataclasses import dataclass, field

#: How many requests and writes are kept for messages.
_KEPT = 200


@dataclass(slots=True)
class Traffic:
    """What passed lately between a program and its cluster."""

    #: Seconds without traffic that count as rest.
    quiet: float
    _last: float = 0.0
    _in_flight: int = 0
    #: Whether a process was started that has not sent any request yet.
    is_expecting: bool = False
    _recent: deque[tuple[float, str]] = field(default_factory=lambda: deque(maxlen=_KEPT))

    def expect(self, now: float) -> None:
        """Take note that a process starts: there is no rest before its first request."""
        self.is_expecting = True
        self._last = now

    def begin(self, now: float, request: str) -> None:
        """Take note of a request that is to be answered."""
        self._in_flight += 1
        self.note(now, request)

    def end(self, now: float) -> None:
        """Take note of an answer, or of a request that will never be answered."""
        self._in_flight = max(self._in_flight - 1, 0)
        self._last = now

    def note(self, now: float, what: str) -> None:
        """Take note of a request without an end, or of a write to the cluster."""
        self.is_expecting = False
        self.change(now, what)

    def change(self, now: float, what: str) -> None:
        """Take note of a write to the cluster, which says nothing of the process that is expected."""
        self._last = now
        self._recent.append((now, what))

    def forget_requests(self) -> None:
        """Take note that a process is gone: nothing waits for an answer any more."""
        self._in_flight = 0

    def seconds_left(self, now: float) -> float:
        """Return how many seconds are left until there is rest, if nothing happens; 0 at rest."""
        if self._in_flight or self.is_expecting:
            return self.quiet
        return max(self._last + self.quiet - now, 0.0)

    def busiest(self, now: float) -> str:
        """Return what happened most often since the last moment at which a rest could have begun."""
        counted = Counter(what for time, what in self._recent if time >= now - 2 * self.quiet)
        return ", ".join(f"{what} ({count} times)" for what, count in counted.most_common(3)) or "nothing"
