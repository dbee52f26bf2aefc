"""The rules of leadership by a Lease, without waiting and without a server.

Only the time since a change of the lease was *observed here* counts; times written in it are for people, so clocks may
differ by any amount. Two clocks may run at different rates up to ``lease / renew_deadline``. This alone is no fence: a
process that is paused between its last look at the clock and a write can still write late, so the limit for writing
lies well before the time at which another may take over.
"""

from dataclasses import dataclass, replace
from datetime import datetime
from typing import TypeAlias

#: How much of a retry period chance adds at most.
JITTER = 1.2


@dataclass(frozen=True, slots=True, kw_only=True)
class LeaseTiming:
    """Seconds that leadership lasts, may go unrenewed, and is retried (client-go's defaults)."""

    #: How long others wait after the last change they saw, before they take over.
    lease: float = 15.0
    #: How long the leader may go on after its last renewal.
    renew_deadline: float = 10.0
    #: How often it is renewed, and how often others look.
    retry: float = 2.0

    def __post_init__(self) -> None:
        if not 0 < self.retry * JITTER < self.renew_deadline < self.lease:
            raise ValueError(f"need 0 < {JITTER} * retry < renew_deadline < lease, got {self}")

    @property
    def request_timeout(self) -> float:
        """Seconds that one request about the lease may take."""
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
    """There is no lease: create this one."""

    record: LeaseRecord


@dataclass(frozen=True, slots=True)
class Take:
    """Replace the lease by this one, provided that it has not changed since it was read."""

    record: LeaseRecord


@dataclass(frozen=True, slots=True)
class Stand:
    """Somebody else leads; at the earliest after so many seconds that may be over."""

    seconds: float
    leader: str


Move: TypeAlias = Create | Take | Stand


class Candidate:
    """One who leads or wants to: what it has seen of the lease, and until when it leads."""

    def __init__(self, identity: str, timing: LeaseTiming | None = None) -> None:
        if not identity:
            raise ValueError("a candidate needs an identity")
        self.identity = identity
        self.timing = timing if timing is not None else LeaseTiming()
        self._seen: LeaseRecord | None = None
        self._seen_at = 0.0
        #: Until when this candidate may write; never moved forward but by its own renewal.
        self._valid_until = float("-inf")

    # What happens to it.

    def saw(self, record: LeaseRecord | None, now: float) -> None:
        """Take note of the lease as it is on the server; only a change begins a new waiting time."""
        if record != self._seen:
            self._seen = record
            self._seen_at = now
        if record is None or record.holder != self.identity:
            self._valid_until = float("-inf")

    def wrote(self, record: LeaseRecord, *, asked_at: float) -> None:
        """Take note that its own write succeeded; leadership counts from when the write was asked for."""
        self._seen = record
        self._seen_at = asked_at
        self._valid_until = asked_at + self.timing.renew_deadline if record.holder == self.identity else float("-inf")

    # What it may do.

    def leads(self, now: float) -> bool:
        """Tell whether it may write now."""
        return now < self._valid_until

    @property
    def valid_until(self) -> float:
        """The monotonic time from which on it may not write."""
        return self._valid_until

    @property
    def leader(self) -> str:
        """Who held the lease when it was last seen."""
        return self._seen.holder if self._seen is not None else ""

    def move(self, now: float, wall: datetime) -> Move:
        """Decide what to do about the lease."""
        seen = self._seen
        if seen is None:
            return Create(self._fresh(wall, transitions=0))
        if seen.holder == self.identity:
            return Take(replace(seen, renewed=wall, duration=self._duration))
        free_at = self._seen_at + seen.duration
        if seen.holder and now < free_at:
            return Stand(free_at - now, seen.holder)
        return Take(self._fresh(wall, transitions=seen.transitions + 1))

    def release(self, wall: datetime) -> LeaseRecord | None:
        """Give the lease with which it hands over at once; ``None`` if it does not hold the lease."""
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
