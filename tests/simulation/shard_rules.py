"""The rules of shards alone (`ShardReplica`, with `Candidate` for the slot), without an event loop.

Replicas join, leave, are killed, stand still and lose their network; requests take their time or get lost, and what a
replica sees of a Lease without a read from the server may be seconds old. Each replica writes for every shard that its
fence leaves open; the server looks at the table at the moment when a write arrives.

As in ``lease_rules``, a write that was sent in time arrives before the lease of its sender has expired: ``delay`` is
shorter than the time between the renew deadline and the end of a lease.
"""

from collections.abc import Callable, Iterable
from functools import lru_cache
from typing import NamedTuple

from steersman.manager.leader.lease import Candidate, Create, Follow, LeaseRecord
from steersman.randomness import Randomness
from steersman.sharding.assignment import Assignment, Holder
from steersman.sharding.replica import ShardReplica, SlotCheck, SlotLease
from tests.simulation.unreliable_replicas import NEVER, SECONDS, TIMING, WRITE_EVERY, EventQueue, UnreliableReplica

#: Seconds after the faults in which every shard must find its replica.
_QUIET = 60.0


class World(EventQueue):
    """Time, randomness, and the server with its Leases."""

    def __init__(self, seed: int, shards: int, longest_delay: float) -> None:
        super().__init__(seed, longest_delay, end=SECONDS + _QUIET)
        self.shards = shards
        #: The record and the version of each slot.
        self.slots: dict[int, tuple[LeaseRecord, int]] = {}
        self.table = ""
        self.table_version = 0
        self.version = 1
        self.replicas: list[Replica] = []
        self.writes = 0
        self.moves = 0
        #: Writes that arrived while another replica held the shard.
        self.unfenced: list[str] = []
        #: Shards that two replicas worked on at the same time.
        self.shared: list[str] = []

    def holder_of(self, shard: int) -> Holder | None:
        """Return who holds a shard."""
        return _parsed(self.table).holders[shard] if self.table else None

    def store_slot(self, slot: int, record: LeaseRecord, version: int) -> bool:
        """Replace the Lease of a slot if it has not changed since that version; return whether it was replaced."""
        if version != self.slots.get(slot, (None, 0))[1]:
            return False
        self.version += 1
        self.slots[slot] = record, self.version
        return True

    def store_table(self, text: str, version: int) -> bool:
        """Replace the table if it has not changed since that version; return whether it was replaced."""
        if version != self.table_version:
            return False
        self.version += 1
        self.moves += 1
        self.table, self.table_version = text, self.version
        return True

    def write(self, writer: Holder, shard: int) -> None:
        """Carry out a write of an operator."""
        self.writes += 1
        holder = self.holder_of(shard)
        if holder != writer:
            self.unfenced.append(f"{self.now:.3f} {writer.identity} writes shard {shard}, which {holder} holds")

    def check_workers(self) -> None:
        """Note every shard that two replicas work on."""
        seen: dict[int, str] = {}
        for replica in self.replicas:
            for shard in replica.working():
                if shard in seen:
                    self.shared.append(f"{self.now:.3f} {seen[shard]} and {replica.name} both work on shard {shard}")
                seen[shard] = replica.name

    def forgotten(self) -> list[int]:
        """Return the shards that no replica works on."""
        worked = {shard for replica in self.replicas for shard in replica.working()}
        return sorted(set(range(self.shards)) - worked)


#: Reads a table; replicas read the same one many times.
_parsed = lru_cache(1024)(Assignment.parse)


def _lease(record: LeaseRecord | None, version: int) -> SlotLease:
    return SlotLease() if record is None else SlotLease(record.holder, str(version), record.duration)


class Replica(UnreliableReplica):
    """One replica of several."""

    def __init__(self, world: World, name: str) -> None:
        super().__init__(world)
        self._world = world
        self.name = name
        self._begin_later(world.chance.between(0, 20))
        self.schedule_faults()

    def received(self) -> None:
        """Check after every response that no shard has two workers."""
        self._world.check_workers()

    def working(self) -> list[int]:
        """Return the shards that the fence of this replica leaves open."""
        if self._process == 0 or self._world.now >= self._valid_until or self._is_stopping:
            return []
        return list(self._shards.open_shards)

    def _begin_later(self, seconds: float) -> None:
        self._world.later(seconds, self._begin)

    def _begin(self) -> None:
        self._process += 1
        self._identity = f"{self.name}#{self._process}"
        self._shards = ShardReplica(self._world.shards, self._identity, lease=TIMING.lease)
        self._candidate = Candidate(self._identity, TIMING)
        self._asked_at = 0.0
        self._slot: int | None = None
        self._slot_version = 0
        self._valid_until = NEVER
        self._has_led = self._is_stopping = False
        self._last_sent: dict[int, float] = {}
        self._draining: set[int] = set()
        process = self._process
        self.run(process, self._round)
        self.run(process, self._work)
        if not self._world.is_quiet:
            self.run_later(process, self._world.chance.between(5, SECONDS), self._end)

    def _round(self, process: int) -> None:
        """Receive what the watch shows, renew or get a slot, then move shards; go on after a pause."""
        self._adopt()
        if self._process != process:
            return
        if not self._is_stopping:
            self._watch(process)
            if self._slot is None:
                self._asked_at = self._world.now
                self.send(process, lambda: self._choose(process))
            else:
                self._renew(process)
                self._move(process)
        pause = TIMING.retry if self._slot is not None else TIMING.retry * self._world.chance.between(1, 2)
        self.run_later(process, pause, self._round)

    def _watch(self, process: int) -> None:
        """Receive the state of the server as it is now, some time later: what a watch shows is the past."""
        slots, table, version = dict(self._world.slots), self._world.table, self._world.table_version

        def received() -> None:
            for slot, (record, known) in slots.items():
                self._shards.saw_slot(slot, _lease(record, known), self._world.now)
            self._see_table(table, version)
            self._drain(process)

        if not self.is_cut_off:
            self.run_later(process, self._world.delay(), lambda _: received())

    def _see_table(self, table: str, version: int) -> None:
        self._shards.saw_table(_parsed(table) if table else None, str(version) if table else "", self._world.now)

    def _choose(self, process: int) -> Callable[[], None]:
        slots = dict(self._world.slots)
        check = self._shards.check(list(range(self._world.shards)), self._asked_at)

        def received() -> None:
            if self._slot is not None:
                return
            for slot in check.slots:
                self._shards.checked_slot(slot, _lease(*slots.get(slot, (None, 0))), check, self._world.now)
            if free := self._shards.free_slots():
                slot = free[0]
                record, version = slots.get(slot, (None, 0))
                self._candidate = Candidate(self._identity, TIMING)
                self._candidate.saw(record, NEVER)  # a silent holder was silent for long enough
                self._take_slot(process, slot, version)

        return received

    def _take_slot(self, process: int, slot: int, version: int) -> None:
        now = self._world.now
        move = self._candidate.move(now, self.wall)
        if isinstance(move, Follow):
            return
        record, version = move.record, 0 if isinstance(move, Create) else version

        def arrive() -> Callable[[], None] | None:
            if not self._world.store_slot(slot, record, version):
                return None
            stored = self._world.version
            return lambda: self._got_slot(process, slot, record, stored, now)

        self.send(process, arrive)

    def _got_slot(self, process: int, slot: int, record: LeaseRecord, version: int, asked_at: float) -> None:
        if self._slot is not None:
            return  # it has another one by now; this one expires
        self._candidate.wrote(record, asked_at=asked_at)
        self._slot, self._slot_version = slot, version
        self._shards.join(slot)
        self._adopt()
        if self._process == process:
            self._move(process)

    def _renew(self, process: int) -> None:
        now, slot, version = self._world.now, self._slot, self._slot_version
        move = self._candidate.move(now, self.wall)
        if slot is None or isinstance(move, Follow):
            return
        record = move.record

        def arrive() -> Callable[[], None]:
            if self._world.store_slot(slot, record, version):
                stored = self._world.version
                return lambda: self._renewed(record, stored, now)
            current, known = self._world.slots[slot]
            return lambda: self._looked(process, current, known)

        self.send(process, arrive)

    def _renewed(self, record: LeaseRecord, version: int, asked_at: float) -> None:
        # A look may have shown this renewal before its own response: it counts all the same.
        if version >= self._slot_version:
            self._candidate.wrote(record, asked_at=asked_at)
            self._slot_version = version
            self._adopt()

    def _looked(self, process: int, record: LeaseRecord, version: int) -> None:
        if version > self._slot_version:
            self._candidate.saw(record, self._world.now)
            self._slot_version = version
            self._renew(process)

    def _adopt(self) -> None:
        """Take over what the candidate may do; a replica that lost its slot ends its process."""
        if self._candidate.leads(self._world.now):
            self._has_led = True
            self._valid_until = self._candidate.valid_until
        elif self._has_led:
            self._restart()

    def _move(self, process: int) -> None:
        """Read the table and the suspicious slots, one after the other, then decide and write."""

        def look() -> Callable[[], None]:
            table, version = self._world.table, self._world.table_version
            return lambda: self._looked_at_table(process, table, version)

        self.send(process, look)

    def _looked_at_table(self, process: int, table: str, version: int) -> None:
        self._see_table(table, version)
        if self._is_stopping or not self._shards.to_check(self._world.now):
            self._decide(process)
            return
        check = self._shards.check(self._shards.to_check(self._world.now), self._world.now)

        def look() -> Callable[[], None]:
            found = {slot: self._world.slots.get(slot) for slot in check.slots}
            return lambda: self._checked(process, check, found)

        self.send(process, look)

    def _checked(self, process: int, check: SlotCheck, found: dict[int, tuple[LeaseRecord, int] | None]) -> None:
        for slot, stored in found.items():
            self._shards.checked_slot(slot, _lease(*stored or (None, 0)), check, self._world.now)
        self._decide(process)

    def _decide(self, process: int) -> None:
        if not self._candidate.leads(self._world.now):
            return
        known = self._shards.version
        table = self._shards.decide(self._world.now)
        self._drain(process)
        if table is None:
            return
        text, version = table.text(), int(known or 0)

        def arrive() -> Callable[[], None] | None:
            if not self._world.store_table(text, version):
                return None
            stored = self._world.table_version
            return lambda: self._see_table(text, stored)

        self.send(process, arrive)

    def _drain(self, process: int) -> None:
        """End the runs of shards that leave: a run takes its time, and waits for the answers to its writes."""
        for shard in self._shards.leaving_shards - self._draining:
            self._draining.add(shard)
            number = self._shards.open_shards[shard]
            idle = self._last_sent.get(shard, NEVER) + 2 * self._world.longest_delay
            wait = max(idle - self._world.now, self._world.chance.between(0, 1))
            self.run_later(process, wait, lambda one, shard=shard, number=number: self._drained(one, shard, number))

    def _drained(self, process: int, shard: int, number: int) -> None:
        self._draining.discard(shard)
        self._shards.drained(shard, number, {})
        if not self._is_stopping:
            self._decide(process)

    def _work(self, process: int) -> None:
        """Write for each shard that the fence leaves open, unless it is leaving."""
        for shard in self.working():
            if shard not in self._shards.leaving_shards:
                self._last_sent[shard] = self._world.now
                me = Holder(self._slot if self._slot is not None else -1, self._identity)

                def arrive(shard: int = shard, me: Holder = me) -> None:
                    self._world.write(me, shard)

                self.send(process, arrive)
        self.run_later(process, WRITE_EVERY, self._work)

    # How a process ends.

    def _end(self, process: int) -> None:
        """Be killed, or stop: end the work, wait until nothing is under way, release shards and slot."""
        if self._world.is_quiet:
            return
        if self._world.chance.between(0, 1) < 0.5:
            self._restart()
            return
        self._is_stopping = True
        self.run_later(process, 2 * self._world.longest_delay, self._release)

    def _release(self, process: int) -> None:
        self._shards.leave({})
        self._decide(process)
        self.run_later(process, 2 * self._world.longest_delay, self._release_slot)

    def _release_slot(self, process: int) -> None:
        del process
        record, slot, version = self._candidate.release(self.wall), self._slot, self._slot_version
        if record is not None and slot is not None:

            def arrive() -> None:
                self._world.store_slot(slot, record, version)

            self.send(self._process, arrive)
        self._restart()

    def _restart(self) -> None:
        self._process += 1  # nothing of the old process runs any more; what it has sent arrives
        self._valid_until = NEVER
        self._begin_later(self._world.chance.between(0.1, 3.0))


def play_shards(seed: int, *, longest_delay: float = 2.4) -> World:
    """Run two to five replicas with a few shards until all faults are over; return what the server has seen."""
    chance = Randomness(seed + 1_000_000)
    world = World(seed, int(chance.between(1, 9)), longest_delay)
    for number in range(int(chance.between(2, 6))):
        world.replicas.append(Replica(world, f"replica-{number}"))
    world.play()
    world.check_workers()
    return world


class Played(NamedTuple):
    """What the servers of some runs have seen."""

    runs: int = 0
    writes: int = 0
    moves: int = 0
    unfenced: tuple[str, ...] = ()
    shared: tuple[str, ...] = ()
    #: Shards that no replica worked on when all faults were over.
    forgotten: tuple[str, ...] = ()

    @property
    def wrong(self) -> tuple[str, ...]:
        """Everything that must not happen."""
        return (*self.unfenced, *self.shared, *self.forgotten)

    def plus(self, other: "Played") -> "Played":
        """Return the sum of two."""
        return Played(*(mine + more for mine, more in zip(self, other, strict=True)))


def play_seeds(seeds: Iterable[int]) -> Played:
    """Run seeds; return the sum of what their servers have seen."""
    total = Played()
    for seed in seeds:
        world = play_shards(seed)
        total = total.plus(
            Played(
                1,
                world.writes,
                world.moves,
                tuple(f"seed {seed}: {text}" for text in world.unfenced),
                tuple(f"seed {seed}: {text}" for text in world.shared),
                tuple(f"seed {seed}: no replica works on shard {shard}" for shard in world.forgotten()),
            )
        )
    return total
