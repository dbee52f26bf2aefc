"""`ShardReplica`: one replica of a sharded operator: what it has seen, which shards it holds, what it does next.

The caller reads and writes Leases. It calls ``saw_slot`` and ``saw_table`` with whatever it reads; then it reads the
slots of ``to_check`` from the server, calls ``checked_slot`` with each, then ``decide``, and writes the table that it
returns if the stored one still has the version that was seen. All times are of one monotonic clock.
"""

from collections.abc import Mapping
from enum import StrEnum
from typing import NamedTuple

from msgspec import Struct

from steersman.informer.store import is_newer
from steersman.sharding.assignment import Assignment, Holder, newest
from steersman.sharding.placement import placement
from steersman.sharding.ranges import check_count

#: Part of a lease without a renewal after which no shards are left to a replica; it renews about seven times in one.
_FRESH = 0.4


class Phase(StrEnum):
    """What a replica does with a shard that it holds."""

    WORKING = "working"
    #: It starts no run any more, and waits for those that are under way.
    LEAVING = "leaving"
    #: It does not write any more: the shard can be released.
    DRAINED = "drained"


class Hold(Struct):
    """A shard that a replica holds. A shard that is released and taken again has another number."""

    number: int
    phase: Phase = Phase.WORKING


class SlotLease(NamedTuple):
    """The Lease of a slot. Without a Lease the version is empty, without a holder that."""

    holder: str = ""
    version: str = ""
    #: Seconds without a change after which the holder is gone; 0 for the default.
    duration: float = 0.0
    #: Seconds since it was renewed, by the clocks of two machines: good for a proposal, and for nothing else.
    age: float = 0.0


class SlotCheck(NamedTuple):
    """A read of slots from the server: what it shows is as old as the moment at which it was sent."""

    slots: list[int]
    sent_at: float
    #: Version of the table that was known then.
    table: str | None


class _Slot(Struct):
    """The Lease of a slot, as it was last seen."""

    #: Empty if the slot is free.
    holder: str
    #: The resource version; empty if there is no Lease.
    version: str
    #: Seconds without a change after which the holder is gone.
    duration: float
    #: When this version was seen first.
    seen_at: float
    #: When it was renewed, as far as is known: earlier if the first look at it showed an old time.
    renewed_at: float
    #: Whether a read from the server has shown that it did not change for the whole duration.
    is_silent: bool = False
    #: The version of the table that was known before the last read of this slot from the server.
    checked_for: str | None = None

    def is_due(self, now: float) -> bool:
        """Return whether its holder may be gone, which a read from the server has to show."""
        return not self.is_silent and now >= self.seen_at + self.duration


def _is_later(version: str, known: str) -> bool:
    """Return whether a Lease is later than the one that is known; a deleted one always is."""
    return version != known and (not version or not known or is_newer(version, known))


class ShardReplica:
    """One process of a sharded operator."""

    def __init__(self, count: int, identity: str, *, lease: float) -> None:
        check_count(count)
        self._count = count
        self._identity = identity
        self._lease = lease
        #: This replica, while it has a slot.
        self.me: Holder | None = None
        self._slots: dict[int, _Slot] = {}
        self._table: Assignment | None = None
        #: Version of the table; empty if there is none, ``None`` while it was never read.
        self._version: str | None = None
        #: The newest version that was seen; it stays when the table is gone.
        self._newest = ""
        #: Since when there is no table any more.
        self._gone_at: float | None = None
        self._holds: dict[int, Hold] = {}
        #: What it held when the table was gone.
        self._holds_before: dict[int, Hold] = {}
        self._numbers = 0
        self._is_leaving = False
        #: Versions that this replica had seen of each resource when its shards were drained.
        self._versions: dict[str, str] = {}

    # What it has seen.

    def join(self, slot: int) -> None:
        """Record that this replica has a slot."""
        self.me = Holder(slot, self._identity)

    def saw_slot(self, slot: int, lease: SlotLease, now: float) -> None:
        """Record the Lease of a slot; only a change starts a new waiting time."""
        known = self._slots.get(slot)
        if known is None or _is_later(lease.version, known.version):
            self._enter(slot, lease, now)

    def checked_slot(self, slot: int, lease: SlotLease, check: SlotCheck, now: float) -> None:
        """Record the Lease of a slot that was read from the server."""
        known = self._slots.get(slot)
        if known is None or _is_later(lease.version, known.version):
            known = self._enter(slot, lease, now)
        elif lease.version == known.version and check.sent_at >= known.seen_at + known.duration:
            known.is_silent = True
        if lease.version == known.version:
            known.checked_for = check.table

    def _enter(self, slot: int, lease: SlotLease, now: float) -> _Slot:
        renewed_at = now if slot in self._slots else now - lease.age
        found = _Slot(lease.holder, lease.version, lease.duration or self._lease, now, renewed_at)
        self._slots[slot] = found
        return found

    def saw_table(self, table: Assignment | None, version: str, now: float) -> None:
        """Record the table; an older one than was seen is ignored. Without a table the version is empty.

        The absence of a table has no version, so it may be older than what is known. If the table is seen again, this
        replica goes on where it was: shards that it has drained, and perhaps released, stay closed.
        """
        if table is None:
            if self._table is not None:
                self._gone_at = now
                self._holds, self._holds_before = {}, self._holds
            self._table, self._version = None, ""
            return
        if self._newest and not is_newer(version, self._newest):
            if self._table is not None or version != self._newest:
                return
            self._holds = self._holds_before
        self._gone_at = None
        self._table, self._version, self._newest = table, version, version
        mine = table.held_by(self.me) if self.me is not None else frozenset[int]()
        for shard in self._holds.keys() - mine:
            del self._holds[shard]
        for shard in mine - self._holds.keys():
            self._numbers += 1
            self._holds[shard] = Hold(self._numbers)

    def drained(self, shard: int, number: int, versions: Mapping[str, str]) -> None:
        """Record that nothing is written for a shard any more, and what the caches had seen by then."""
        hold = self._holds.get(shard)
        if hold is not None and hold.number == number and hold.phase is Phase.LEAVING:
            hold.phase = Phase.DRAINED
            self._versions = newest(self._versions, versions)

    def leave(self, versions: Mapping[str, str]) -> None:
        """Release every shard, and take none any more: all work has ended."""
        self._is_leaving = True
        self._versions = newest(self._versions, versions)
        for hold in self._holds.values():
            hold.phase = Phase.DRAINED

    # What it may do.

    @property
    def table(self) -> Assignment | None:
        """The table as it was last seen."""
        return self._table

    @property
    def version(self) -> str | None:
        """Version of the table; empty if there is none, ``None`` while it was never read."""
        return self._version

    @property
    def open_shards(self) -> dict[int, int]:
        """Shards that this replica may write for while its slot is valid, with the number of each hold."""
        return {shard: hold.number for shard, hold in self._holds.items() if hold.phase is not Phase.DRAINED}

    @property
    def leaving_shards(self) -> frozenset[int]:
        """Shards whose runs should end, because another replica should have them."""
        return frozenset(shard for shard, hold in self._holds.items() if hold.phase is Phase.LEAVING)

    @property
    def problem(self) -> str:
        """Why this replica takes no shard: other replicas divide the objects in another way; empty if it may.

        It must not have a slot then: the others would leave shards to it.
        """
        if self._table is None or self._table.count == self._count or all(map(self._is_free, self._table.holders)):
            return ""
        return f"other replicas still work with {self._table.count} shards, this one has {self._count}"

    def members(self, now: float) -> dict[int, str]:
        """Return the identity of the replica in each slot to which shards may be left, this one included.

        One that has not renewed its slot for a while may be dead. It keeps what it holds until it is gone, but shards
        that are left to it might wait for a whole lease.
        """
        found = {
            slot: known.holder
            for slot, known in self._slots.items()
            if slot < self._count and known.holder and now < known.renewed_at + self._lease * _FRESH
        }
        if self.me is not None:
            found[self.me.slot] = self.me.identity
        return found

    def free_slots(self) -> list[int]:
        """Return slots that this replica may try to get: its own after a lost response, free ones, silent ones."""
        known = {slot: self._slots.get(slot) for slot in range(self._count)}
        own = [slot for slot, one in known.items() if one is not None and one.holder == self._identity]
        free = [slot for slot, one in known.items() if one is None or not one.holder]
        return [*own, *free, *(slot for slot, one in known.items() if one is not None and one.is_silent and one.holder)]

    # What it does next.

    def check(self, slots: list[int], now: float) -> SlotCheck:
        """Begin to read slots from the server."""
        return SlotCheck(slots, now, self._version)

    def to_check(self, now: float) -> list[int]:
        """Return the slots to read from the server: their holders may be gone."""
        slots = {slot for slot, known in self._slots.items() if known.holder and known.is_due(now)}
        for holder in self._table.holders if self._table is not None else ():
            if holder is not None and holder != self.me and self._is_suspect(holder, now):
                slots.add(holder.slot)
        if self.me is not None:
            slots.discard(self.me.slot)
        return sorted(slots)

    def seconds_to_check(self, now: float) -> float:
        """Return after how many seconds ``to_check`` may have something new."""
        due = [known.seen_at + known.duration - now for known in self._slots.values() if not known.is_silent]
        if self._gone_at is not None:
            due.append(self._gone_at + self._lease - now)
        return max(min((seconds for seconds in due if seconds > 0), default=self._lease), 0.0)

    def decide(self, now: float) -> Assignment | None:
        """Mark the shards that should leave, and return the table to write; ``None`` if it should stay as it is."""
        if self.me is None or (base := self._base(now)) is None:
            return None
        members = self.members(now)
        current = [
            holder.slot if holder is not None and members.get(holder.slot) == holder.identity else None
            for holder in base.holders
        ]
        wanted = {shard for shard, slot in placement(current, members).items() if slot == self.me.slot}
        for shard, hold in self._holds.items():
            if hold.phase is Phase.WORKING and shard not in wanted:
                hold.phase = Phase.LEAVING
        free = [shard for shard, holder in enumerate(base.holders) if self._is_free(holder)]
        take = [] if self._is_leaving else [shard for shard in free if shard in wanted]
        release = [shard for shard, hold in self._holds.items() if hold.phase is Phase.DRAINED]
        # A replica that has just started would have to wait for a whole lease until it knows that a holder is gone.
        gone = [shard for shard in free if base.holders[shard] is not None]
        if not take and not release and not gone and base is self._table:
            return None
        versions = self._versions if release else {}
        return base.moved(self.me, take=take, release=[*release, *gone], versions=versions)

    def _base(self, now: float) -> Assignment | None:
        """Return the table to change: a new one if there is none, or if the last replica with other shards is gone."""
        table = self._table
        if table is None:
            # A table that was there before has been deleted: its holders may not know it yet.
            is_settled = self._gone_at is None or now >= self._gone_at + self._lease
            return Assignment.empty(self._count) if self._version is not None and is_settled else None
        if table.count == self._count:
            return table
        return None if self.problem else Assignment(Assignment.empty(self._count).holders, table.versions)

    def _is_free(self, holder: Holder | None) -> bool:
        """Return whether a shard may be taken from its holder: a read of its slot after the table shows it gone."""
        if holder is None:
            return True
        if self.me is not None and holder.slot == self.me.slot:
            # This replica could take the slot only because the former holder was gone.
            return holder != self.me
        slot = self._slots.get(holder.slot)
        if slot is None or slot.checked_for != self._version:
            return False
        if slot.version and slot.holder != holder.identity:
            return True
        return slot.is_silent

    def _is_suspect(self, holder: Holder, now: float) -> bool:
        slot = self._slots.get(holder.slot)
        if slot is None:
            return True
        if slot.checked_for == self._version and (slot.is_silent or not slot.is_due(now)):
            return False
        return slot.holder != holder.identity or slot.is_silent or slot.is_due(now)

    def __repr__(self) -> str:
        return f"<ShardReplica {self.me} shards={sorted(self._holds)} slots={sorted(self._slots)}>"
