"""Two replicas by the rules of the lease alone (`Candidate`), without an event loop: a run takes a millisecond.

The same world as in ``lease_model``, with a plain queue of events instead of the elector and its requests: each round
of a replica reads the lease unless it leads, decides by `Candidate.move`, and writes. What ``lease_model`` shows with
the real elector for thousands of seeds, this shows with its rules for a hundred thousand.
"""

from collections.abc import Callable

from steersman.manager.leader.lease import Candidate, Create, Follow, LeaseRecord
from tests.simulation.unreliable_replicas import NEVER, SECONDS, TIMING, WRITE_EVERY, EventQueue, UnreliableReplica


class World(EventQueue):
    """Time, randomness, and the server with its lease."""

    def __init__(self, seed: int, longest_delay: float) -> None:
        super().__init__(seed, longest_delay)
        self.lease: LeaseRecord | None = None
        self.version = 0
        self.writes = 0
        self.leaders = 0
        #: Writes that arrived while another replica held the lease.
        self.deposed: list[str] = []

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


class Replica(UnreliableReplica):
    """One replica of two."""

    def __init__(self, world: World, identity: str) -> None:
        super().__init__(world)
        self._world = world
        self._identity = identity
        self._begin()
        self.schedule_faults()

    def _begin(self) -> None:
        self._process += 1
        self._candidate = Candidate(self._identity, TIMING)
        self._valid_until = NEVER
        self._has_led = self._is_stopping = False
        self._known = 0
        process = self._process
        self.run(process, self._round)
        self.run(process, self._work)
        self.run_later(process, self._world.chance.between(5, 2 * SECONDS), self._end)

    def _round(self, process: int) -> None:
        """Read the lease unless this replica leads, then renew or take it; go on after a pause."""
        now = self._world.now
        self._adopt()
        if self._process != process:
            return
        pause = TIMING.retry if self._candidate.leads(now) else TIMING.retry * self._world.chance.between(1, 2)
        if self._candidate.leads(now) and self._known:
            self._renew_or_take(process)
        else:
            self.send(process, lambda: self._look(process))
        self.run_later(process, pause, self._round)

    def _look(self, process: int) -> Callable[[], None]:
        lease, version = self._world.lease, self._world.version

        def received() -> None:
            self._candidate.saw(lease, self._world.now)
            self._known = version
            self._renew_or_take(process)

        return received

    def _renew_or_take(self, process: int) -> None:
        now = self._world.now
        move = self._candidate.move(now, self.wall)
        if isinstance(move, Follow):
            return
        record, version = move.record, 0 if isinstance(move, Create) else self._known

        def arrive() -> Callable[[], None]:
            if self._world.store(record, version):
                stored = self._world.version
                return lambda: self._stored(record, stored, now)
            return self._forget

        self.send(process, arrive)

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

            self.send(process, arrive)
        self.run_later(process, WRITE_EVERY, self._work)

    # How a process ends.

    def _end(self, process: int) -> None:
        """Be killed, or stop: end the work, wait until nothing is under way, release the lease."""
        if self._world.chance.between(0, 1) < 0.5:
            self._restart()
            return
        self._is_stopping = True
        self.run_later(process, 2 * self._world.longest_delay, self._release)

    def _release(self, process: int) -> None:
        record, version = self._candidate.release(self.wall), self._known
        if record is not None and version:

            def arrive() -> None:
                self._world.store(record, version)

            self.send(process, arrive)
        self._restart()

    def _restart(self) -> None:
        self._process += 1  # nothing of the old process runs any more; what it has sent arrives
        self._world.later(self._world.chance.between(0.1, 3.0), self._begin)


def play_rules(seed: int, *, longest_delay: float = 2.4) -> World:
    """Run two replicas for a minute and a half; return what the server has seen."""
    world = World(seed, longest_delay)
    for identity in ("replica-1", "replica-2"):
        Replica(world, identity)
    world.play()
    return world
