"""Two replicas by the rules of the lease alone (`Candidate`), without an event loop: a run takes a millisecond.

The same world as in ``lease_model``, with a plain queue of events instead of the elector and its requests: each round
of a replica reads the lease unless it leads, decides by `Candidate.move`, and writes. What ``lease_model`` shows with
the real elector for thousands of seeds, this shows with its rules for a hundred thousand.
"""

import heapq
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from itertools import count

from steersman.manager.leader.lease import Candidate, Create, Follow, LeaseRecord, LeaseTiming
from steersman.randomness import Randomness

SECONDS = 90.0
WRITE_EVERY = 0.7
_START = datetime(2030, 1, 1, tzinfo=UTC)
_TIMING = LeaseTiming()
_NEVER = float("-inf")


@dataclass(slots=True)
class World:
    """Time, randomness, and the server with its lease."""

    seed: int
    longest_delay: float
    chance: Randomness = field(init=False)
    now: float = 0.0
    lease: LeaseRecord | None = None
    version: int = 0
    writes: int = 0
    leaders: int = 0
    #: Writes that arrived while another replica held the lease.
    deposed: list[str] = field(default_factory=list)
    _queue: list[tuple[float, int, Callable[[], None]]] = field(default_factory=list)
    _numbers: "count[int]" = field(default_factory=count)

    def __post_init__(self) -> None:
        self.chance = Randomness(self.seed)

    def later(self, seconds: float, callback: Callable[[], None]) -> None:
        """Call back after that many seconds."""
        heapq.heappush(self._queue, (self.now + seconds, next(self._numbers), callback))

    def play(self) -> None:
        """Run every event until the end."""
        while self._queue and self._queue[0][0] <= SECONDS:
            self.now, _, callback = heapq.heappop(self._queue)
            callback()

    def delay(self) -> float:
        """Return how long something is under way: mostly milliseconds."""
        return self.chance.between(0.001, self.longest_delay if self.chance.between(0, 1) < 0.1 else 0.02)

    def store(self, record: LeaseRecord, version: int) -> bool:
        """Replace the lease if it has not changed since that version; return whether it was replaced."""
        if version != self.version:
            return False
        if record.holder and (self.lease is None or self.lease.holder != record.holder):
            self.leaders += 1
        self.lease, self.version = record, version + 1
        return True

    def write(self, identity: str) -> None:
        """Carry out a write of an operator."""
        self.writes += 1
        holder = self.lease.holder if self.lease is not None else ""
        if holder != identity:
            self.deposed.append(f"{self.now:.3f} {identity} writes although {holder or 'no one'} holds the lease")


class Replica:
    """One pod of the operator; each of its processes begins without memory."""

    def __init__(self, world: World, identity: str) -> None:
        self._world = world
        self._identity = identity
        self._skew = timedelta(seconds=world.chance.between(-3600, 3600))
        self._cut_off_until = self._still_until = 0.0
        self._process = 0
        self._begin()
        for _ in range(int(world.chance.between(0, 3))):
            world.later(world.chance.between(0, SECONDS), lambda: self._lose_network(world.chance.between(0.5, 30)))
            world.later(world.chance.between(0, SECONDS), lambda: self._stand_still(world.chance.between(0.5, 30)))

    def _lose_network(self, seconds: float) -> None:
        self._cut_off_until = self._world.now + seconds

    def _stand_still(self, seconds: float) -> None:
        self._still_until = self._world.now + seconds

    def _begin(self) -> None:
        self._process += 1
        self._candidate = Candidate(self._identity, _TIMING)
        self._valid_until = _NEVER
        self._has_led = self._is_stopping = False
        self._known = 0
        process = self._process
        self._run(process, self._round)
        self._run(process, self._work)
        self._run_later(process, self._world.chance.between(5, 2 * SECONDS), self._end)

    # What a process does, unless it is gone or stands still.

    def _run_later(self, process: int, seconds: float, step: Callable[[int], None]) -> None:
        self._world.later(seconds, lambda: self._run(process, step))

    def _run(self, process: int, step: Callable[[int], None]) -> None:
        if process != self._process:
            return
        if self._world.now < self._still_until:
            self._world.later(self._still_until - self._world.now, lambda: self._run(process, step))
        else:
            step(process)

    def _send(self, process: int, arrive: Callable[[], Callable[[], None] | None]) -> None:
        """Send a request: ``arrive`` carries it out and returns what its response does, if the process still waits."""
        sent = self._world.now

        def at_server() -> None:
            if self._is_lost():
                return
            received = arrive()
            if received is not None and not self._is_lost():
                self._run_later(process, self._world.delay(), lambda _: self._receive(sent, received))

        self._world.later(self._world.delay(), at_server)

    def _receive(self, sent: float, received: Callable[[], None]) -> None:
        if self._world.now - sent < _TIMING.request_timeout:
            received()

    def _is_lost(self) -> bool:
        return self._world.now < self._cut_off_until or self._world.chance.between(0, 1) < 0.03

    def _round(self, process: int) -> None:
        """Read the lease unless this replica leads, then renew or take it; go on after a pause."""
        now = self._world.now
        self._adopt()
        if self._process != process:
            return
        pause = _TIMING.retry if self._candidate.leads(now) else _TIMING.retry * self._world.chance.between(1, 2)
        if self._candidate.leads(now) and self._known:
            self._renew_or_take(process)
        else:
            self._send(process, lambda: self._look(process))
        self._run_later(process, pause, self._round)

    def _look(self, process: int) -> Callable[[], None]:
        lease, version = self._world.lease, self._world.version

        def received() -> None:
            self._candidate.saw(lease, self._world.now)
            self._known = version
            self._renew_or_take(process)

        return received

    def _renew_or_take(self, process: int) -> None:
        now = self._world.now
        move = self._candidate.move(now, self._wall)
        if isinstance(move, Follow):
            return
        record, version = move.record, 0 if isinstance(move, Create) else self._known

        def arrive() -> Callable[[], None]:
            if self._world.store(record, version):
                stored = self._world.version
                return lambda: self._stored(record, stored, now)
            return self._forget

        self._send(process, arrive)

    def _stored(self, record: LeaseRecord, version: int, asked_at: float) -> None:
        self._candidate.wrote(record, asked_at=asked_at)
        self._known = version
        self._adopt()

    def _forget(self) -> None:
        self._known = 0

    def _adopt(self) -> None:
        """Take over what the candidate may do; a leader that lost the lease ends its process."""
        if self._candidate.leads(self._world.now):
            self._has_led = True
            self._valid_until = self._candidate.valid_until
        elif self._has_led:
            self._restart()

    def _work(self, process: int) -> None:
        """Write if this replica leads, by its fence."""
        if self._world.now < self._valid_until and not self._is_stopping:

            def arrive() -> None:
                self._world.write(self._identity)

            self._send(process, arrive)
        self._run_later(process, WRITE_EVERY, self._work)

    # How a process ends.

    def _end(self, process: int) -> None:
        """Be killed, or stop: end the work, wait until nothing is under way, release the lease."""
        if self._world.chance.between(0, 1) < 0.5:
            self._restart()
            return
        self._is_stopping = True
        self._run_later(process, 2 * self._world.longest_delay, self._release)

    def _release(self, process: int) -> None:
        record, version = self._candidate.release(self._wall), self._known
        if record is not None and version:

            def arrive() -> None:
                self._world.store(record, version)

            self._send(process, arrive)
        self._restart()

    def _restart(self) -> None:
        self._process += 1  # nothing of the old process runs any more; what it has sent arrives
        self._world.later(self._world.chance.between(0.1, 3.0), self._begin)

    @property
    def _wall(self) -> datetime:
        return _START + timedelta(seconds=self._world.now) + self._skew


def play_rules(seed: int, *, longest_delay: float = 2.4) -> World:
    """Run two replicas for a minute and a half; return what the server has seen."""
    world = World(seed, longest_delay)
    for identity in ("replica-1", "replica-2"):
        Replica(world, identity)
    world.play()
    return world
