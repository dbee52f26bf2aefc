"""`Traffic`: when an operator in another process is at rest. Pure: the caller has the clock.

Rest is the absence of traffic: no request of the program and no write to the cluster for some seconds. Only seconds
count in which the program had nothing to run: on a busy machine it may wait for a processor longer than that, and the
caller, which looks at it again and again, may come late. What is left is a guess: a program that sleeps for longer
between two requests is taken to be at rest, and the next step of the scenario comes too early. Renewals of leadership
and events do not count as traffic; the caller leaves them out.
"""

from collections import Counter, deque
from dataclasses import dataclass, field

#: How many requests and writes are kept for messages.
_KEPT = 200


@dataclass(slots=True)
class Traffic:
    """What passed lately between a program and its cluster."""

    #: Idle seconds without traffic that count as rest.
    quiet: float
    #: Idle seconds since the last traffic.
    _idle: float = 0.0
    _in_flight: int = 0
    #: Whether a process was started that has not sent any request yet.
    is_expecting: bool = False
    _recent: deque[tuple[float, str]] = field(default_factory=lambda: deque(maxlen=_KEPT))

    def expect(self) -> None:
        """Take note that a process starts: there is no rest before its first request."""
        self.is_expecting = True
        self._idle = 0.0

    def begin(self, now: float, request: str) -> None:
        """Take note of a request that is to be answered."""
        self._in_flight += 1
        self.note(now, request)

    def end(self) -> None:
        """Take note of an answer, or of a request that will never be answered."""
        self._in_flight = max(self._in_flight - 1, 0)
        self._idle = 0.0

    def note(self, now: float, what: str) -> None:
        """Take note of a request without an end, or of a write to the cluster."""
        self.is_expecting = False
        self.change(now, what)

    def change(self, now: float, what: str) -> None:
        """Take note of a write to the cluster, which says nothing of the process that is expected."""
        self._idle = 0.0
        self._recent.append((now, what))

    def forget_requests(self) -> None:
        """Take note that a process is gone: nothing waits for an answer any more."""
        self._in_flight = 0

    def look(self, seconds: float, *, is_running: bool) -> None:
        """Take note of some seconds that have passed; ``is_running`` if the program runs or waits for a processor."""
        if not is_running and not self._in_flight and not self.is_expecting:
            self._idle += seconds

    def seconds_left(self) -> float:
        """Return how many idle seconds are left until there is rest, if nothing happens; 0 at rest."""
        return max(self.quiet - self._idle, 0.0)

    def busiest(self, now: float) -> str:
        """Return what happened most often since the last moment at which a rest could have begun."""
        counted = Counter(what for time, what in self._recent if time >= now - 2 * self.quiet)
        return ", ".join(f"{what} ({count} times)" for what, count in counted.most_common(3)) or "nothing"
