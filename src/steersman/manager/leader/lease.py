"""The rules of leadership by a Lease, without waiting and without a server.

Only the time since a change of the lease was *observed here* counts; the times in the lease are for people, so that
clocks may differ by any amount. Two clocks may run at different rates up to ``lease / renew_deadline``. This alone is
not a fence: a process that is paused between its last check of the clock and a write can still write late, so the limit
for writing is well before the time at which another process may take over.
"""

from dataclasses import dataclass, replace
from datetime import datetime
from typing import TypeAlias

#: Maximum random part that is added to a retry period, as a factor.
JITTER = 1.2


@dataclass(frozen=True, slots=True, kw_only=True)
class LeaseTiming:
    """Times of the election in seconds (client-go's defaults)."""

    #: How long other candidates wait after the last observed change before they take over.
    lease: float = 15.0
    #: How long the leader may write after its last renewal.
    renew_deadline: float = 10.0
    #: How often the leader renews, and how often other candidates check.
    retry: float = 2.0

    def __post_init__(self) -> None:
        if not 0 < self.retry * JITTER < self.renew_deadline < self.lease:
            raise ValueError(f"need 0 < {JITTER} * retry < renew_deadline < lease, got {self}")

    @property
    def request_timeout(self) -> float:
        """Time limit of one request, in seconds."""
        return max(1.0, self.renew_deadline / 2)


@dataclass(frozen=True, slots=True)
class LeaseRecord:
    """The content of a Lease. An empty holder means that it is free."""

    holder: str = ""
    duration: int = 0
    acquired: datetime | None = None
    renewed: datetime | None = None
    transitions: int = 0


@dataclass(frozen=True, slots=True)
class Create:
    """The lease does not exist: create this one."""

    record: LeaseRecord


@dataclass(frozen=True, slots=True)
class Take:
    """Replace the lease by this one, if it has not changed since it was read."""

    record: LeaseRecord


@dataclass(frozen=True, slots=True)
class Follow:
    """Another process leads; its lease can expire after this many seconds at the earliest."""

    seconds: float
    leader: str


Move: TypeAlias = Create | Take | Follow


class Candidate:
    """A process that leads or wants to: what it has seen of the lease, and until when it leads."""

    def __init__(self, identity: str, timing: LeaseTiming | None = None) -> None:
        if not identity:
            raise ValueError("a candidate needs an identity")
        self.identity = identity
        self.timing = timing if timing is not None else LeaseTiming()
        self._seen: LeaseRecord | None = None
        self._seen_at = 0.0
        #: Until when this candidate may write; only its own renewal extends it.
        self._valid_until = float("-inf")

    # Observations.

    def saw(self, record: LeaseRecord | None, now: float) -> None:
        """Record the lease as it is on the server; only a change starts a new waiting time."""
        if record != self._seen:
            self._seen = record
            self._seen_at = now
        if record is None or record.holder != self.identity:
            self._valid_until = float("-inf")

    def wrote(self, record: LeaseRecord, *, asked_at: float) -> None:
        """Record that its own write succeeded; leadership counts from when the request was sent."""
        self._seen = record
        self._seen_at = asked_at
        self._valid_until = asked_at + self.timing.renew_deadline if record.holder == self.identity else float("-inf")

    # Decisions.

    def leads(self, now: float) -> bool:
        """Return whether it may write now."""
        return now < self._valid_until

    @property
    def valid_until(self) -> float:
        """Monotonic time from which on it must not write."""
        return self._valid_until

    @property
    def leader(self) -> str:
        """Holder of the lease when it was last seen."""
        return self._seen.holder if self._seen is not None else ""

    def move(self, now: float, wall: datetime) -> Move:
        """Return what to do about the lease."""
        seen = self._seen
        if seen is None:
            return Create(self._fresh(wall, transitions=0))
        if seen.holder == self.identity:
            return Take(replace(seen, renewed=wall, duration=self._duration))
        free_at = self._seen_at + seen.duration
        if seen.holder and now < free_at:
            return Follow(free_at - now, seen.holder)
        return Take(self._fresh(wall, transitions=seen.transitions + 1))

    def release(self, wall: datetime) -> LeaseRecord | None:
        """Return the record that releases the lease at once; ``None`` if this candidate does not hold it."""
        seen = self._seen
        if seen is None or seen.holder != self.identity:
            return None
        return LeaseRecord("", 1, wall, wall, seen.transitions)

    @property
    def _duration(self) -> int:
        return max(1, round(self.timing.lease))

    def _fresh(self, wall: datetime, transitions: int) -> LeaseRecord:
        return LeaseRecord(self.identity, self._duration, wall, wall, transitions)

    def __repr__(self) -> str:
        return f"<Candidate {self.identity} leader={self.leader!r}>"
