"""Time and replicas for simulations of rules alone, without an event loop: a plain queue of events.

Replicas are killed, stand still and lose their network; requests and responses take their time or get lost. What a
replica does and what the server stores is up to ``lease_rules`` and ``shard_rules``.
"""

import heapq
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from itertools import count

from steersman.manager.leader.lease import LeaseTiming
from steersman.randomness import Randomness

#: Seconds in which faults happen.
SECONDS = 90.0
WRITE_EVERY = 0.7
TIMING = LeaseTiming()
NEVER = float("-inf")
_START = datetime(2030, 1, 1, tzinfo=UTC)


class EventQueue:
    """Time, randomness, and what happens when."""

    def __init__(self, seed: int, longest_delay: float, *, end: float = SECONDS) -> None:
        self.chance = Randomness(seed)
        self.longest_delay = longest_delay
        self.now = 0.0
        self._end = end
        self._queue: list[tuple[float, int, Callable[[], None]]] = []
        self._numbers = count()

    def later(self, seconds: float, callback: Callable[[], None]) -> None:
        """Call back after that many seconds."""
        heapq.heappush(self._queue, (self.now + seconds, next(self._numbers), callback))

    def play(self) -> None:
        """Run every event until the end."""
        while self._queue and self._queue[0][0] <= self._end:
            self.now, _, callback = heapq.heappop(self._queue)
            callback()

    def delay(self) -> float:
        """Return how long something is under way: mostly milliseconds."""
        return self.chance.between(0.001, self.longest_delay if self.chance.between(0, 1) < 0.1 else 0.02)

    @property
    def is_quiet(self) -> bool:
        """Whether the time of faults is over."""
        return self.now >= SECONDS


class UnreliableReplica:
    """One pod of an operator; each of its processes begins without memory."""

    def __init__(self, world: EventQueue) -> None:
        self._events = world
        self._skew = timedelta(seconds=world.chance.between(-3600, 3600))
        self._cut_off_until = self._still_until = 0.0
        self._process = 0

    def schedule_faults(self) -> None:
        """Schedule up to two failures of the network and two standstills of the process."""
        world = self._events
        for _ in range(int(world.chance.between(0, 3))):
            world.later(world.chance.between(0, SECONDS), lambda: self._lose_network(world.chance.between(0.5, 30)))
            world.later(world.chance.between(0, SECONDS), lambda: self._stand_still(world.chance.between(0.5, 30)))

    def _lose_network(self, seconds: float) -> None:
        self._cut_off_until = min(self._events.now + seconds, SECONDS)

    def _stand_still(self, seconds: float) -> None:
        self._still_until = min(self._events.now + seconds, SECONDS)

    @property
    def is_cut_off(self) -> bool:
        """Whether it has no network now."""
        return self._events.now < self._cut_off_until and not self._events.is_quiet

    @property
    def wall(self) -> datetime:
        """The time by the clock of its machine, which is wrong."""
        return _START + timedelta(seconds=self._events.now) + self._skew

    # What a process does, unless it is gone or stands still.

    def run_later(self, process: int, seconds: float, step: Callable[[int], None]) -> None:
        """Run a step of a process after some time."""
        self._events.later(seconds, lambda: self.run(process, step))

    def run(self, process: int, step: Callable[[int], None]) -> None:
        """Run a step of a process now, or when it stands still no longer."""
        if process != self._process:
            return
        if self._events.now < self._still_until:
            self._events.later(self._still_until - self._events.now, lambda: self.run(process, step))
        else:
            step(process)

    def send(self, process: int, arrive: Callable[[], Callable[[], None] | None]) -> None:
        """Send a request: ``arrive`` carries it out and returns what its response does, if the process still waits."""
        sent = self._events.now

        def at_server() -> None:
            if self._is_lost():
                return
            received = arrive()
            if received is not None and not self._is_lost():
                self.run_later(process, self._events.delay(), lambda _: self._receive(sent, received))

        self._events.later(self._events.delay(), at_server)

    def _receive(self, sent: float, received: Callable[[], None]) -> None:
        if self._events.now - sent < TIMING.request_timeout:
            received()
            self.received()

    def received(self) -> None:
        """React to any response, after what it does."""

    def _is_lost(self) -> bool:
        if self._events.is_quiet:
            return False
        return self.is_cut_off or self._events.chance.between(0, 1) < 0.03
