"""Sends the requests of a sharded operator and updates ``ShardLeadership``. The rules are in ``steersman.sharding``.

One round: renew the slot (or get one), check slots whose holders may be gone, decide, write the table. Like the elector
of a single leader it should run in a thread with a connection of its own.
"""

import asyncio
import logging
from collections.abc import Iterator
from typing import Final

from steersman.client.client import Client
from steersman.clock import Deadline
from steersman.concurrency import background
from steersman.errors import AlreadyExists, Conflict, DecodeError, NotFound, SteersmanError
from steersman.informer.changes import Change, Deleted
from steersman.informer.informer import Informer, Selection
from steersman.informer.list_watch_driver import ApiConnection
from steersman.informer.wakeup import Wakeup
from steersman.kinds.coordination_v1 import Lease, LeaseSpec
from steersman.manager.leader.election import ElectionOptions
from steersman.manager.leader.held_lease import HeldLease, record_of
from steersman.manager.leader.lease import JITTER, Candidate, Follow
from steersman.manager.leader.shard_leadership import ShardHoldings, ShardLeadership
from steersman.objects.codec import decode
from steersman.objects.meta import ObjectMeta
from steersman.sharding.assignment import Assignment
from steersman.sharding.replica import ShardReplica, SlotLease

_log = logging.getLogger("steersman.leader-election")

#: Label of the Leases of a sharded operator, with its name: one watch shows all of them.
LABEL: Final = "steersman.dev/shards-of"
#: Annotation with the table of shards.
TABLE: Final = "steersman.dev/shards"
_SLOT: Final = "-slot-"
#: How often a table that changes all the time is written in one round.
_WRITES = 5
_NEVER = float("-inf")


def table_name(operator: str) -> str:
    """Return the name of the Lease with the table."""
    return f"{operator}-shards"


def slot_names(operator: str, count: int) -> list[str]:
    """Return the names of the Leases of all slots: no more replicas than shards can work."""
    return [f"{operator}{_SLOT}{slot}" for slot in range(count)]


def _slot_of(lease: str, operator: str) -> int | None:
    """Return the slot of a Lease, also of one that replicas with more shards use; ``None`` for another Lease."""
    number = lease.removeprefix(f"{operator}{_SLOT}")
    return int(number) if number.isdecimal() and number != lease else None


class ShardElector:
    """Hold a slot and shards until cancelled, or until the slot is lost."""

    def __init__(self, connection: ApiConnection, options: ElectionOptions, leadership: ShardLeadership) -> None:
        self._connection = connection
        self._clock = connection.clock
        self._client = Client(connection.transport, clock=connection.clock, randomness=connection.randomness)
        self._options = options
        self._leadership = leadership
        self._randomness = connection.randomness
        self._names = slot_names(options.name, leadership.count)
        self._replica = ShardReplica(leadership.count, options.identity, lease=options.timing.lease)
        self._candidate = Candidate(options.identity, options.timing)
        #: What is known of the Lease of a version without shards, which this process never takes.
        self._sole_leader = Candidate(options.identity, options.timing)
        self._held: HeldLease | None = None
        self._table: Lease | None = None
        self._wakeup = Wakeup()
        #: Ends leadership at the renew deadline, even while a request is under way.
        self._deadline = Deadline(self._clock, self._lose)
        self._has_led = self._has_lost = False
        self._problem = ""

    async def run(self) -> None:
        """Wait for a slot, hold shards, and return when the slot is lost."""
        loop = asyncio.get_running_loop()
        self._leadership.listen(lambda: None if loop.is_closed() else loop.call_soon_threadsafe(self._wakeup.set))
        selection = Selection(namespaces=(self._options.namespace,), label_selector=f"{LABEL}={self._options.name}")
        informer = Informer(Lease, self._connection, selection)
        informer.add_handler(self._on_change, name="shards")
        try:
            async with background(informer.run(), name="informer/leases"):
                await informer.wait_synced()
                while not self._leadership.is_ready:
                    await self._wakeup.wait()
                await self._take_part()
        finally:
            self._deadline.cancel()

    async def release(self) -> None:
        """Release all shards and the slot. Call it after all work has stopped; a failure only costs time.

        They are kept if runs were cut off: a request that was cancelled here may still be carried out by the server.
        """
        self._leadership.end()
        if self._held is None:
            return
        if not self._leadership.may_release:
            _log.warning("the slot is left to expire: runs were cut off, and a write may still arrive")
            return
        try:
            self._replica.leave(self._leadership.written)
            self._leadership.publish(ShardHoldings())
            await self._move()
            if await self._held.release():
                _log.info("released shards", extra=self._fields())
        except (SteersmanError, TimeoutError) as error:
            _log.warning("cannot release the shards", extra={**self._fields(), "error": str(error) or "timeout"})

    # What the watch shows.

    def _on_change(self, change: Change) -> None:
        """Record a change of a Lease; wake up unless it is a renewal."""
        deleted = isinstance(change, Deleted)
        record = change.old if isinstance(change, Deleted) else change.new
        lease = None if deleted else decode(Lease, record.data)
        if record.key.name == table_name(self._options.name):
            self._see_table(lease)
            self._wakeup.set()
        elif (slot := _slot_of(record.key.name, self._options.name)) is not None:
            now = self._clock.monotonic()
            before = self._replica.members(now).get(slot)
            self._replica.saw_slot(slot, self._slot_lease(lease), now)
            if self._replica.members(now).get(slot) != before:
                self._wakeup.set()

    def _slot_lease(self, lease: Lease | None) -> SlotLease:
        if lease is None:
            return SlotLease()
        record = record_of(lease)
        age = (self._clock.now() - record.renewed).total_seconds() if record.renewed is not None else 0.0
        return SlotLease(record.holder, lease.resource_version, float(record.duration), max(age, 0.0))

    def _see_table(self, lease: Lease | None) -> None:
        if lease is None:
            self._replica.saw_table(None, "", self._clock.monotonic())
            self._table = None
        else:
            self._replica.saw_table(self._parse(lease), lease.resource_version, self._clock.monotonic())
            if self._replica.version == lease.resource_version:
                self._table = lease
        self._publish()

    def _parse(self, lease: Lease) -> Assignment:
        """Return the table in a Lease; one that cannot be read is empty, so that its holders stop at once."""
        text = lease.metadata.annotations.get(TABLE, "")
        try:
            return Assignment.parse(text)
        except DecodeError as error:
            _log.error("the table of shards is replaced", extra={**self._fields(), "error": str(error)})
            return Assignment.empty(self._leadership.count)

    # Rounds.

    async def _take_part(self) -> None:
        while True:
            await self._try()
            now = self._clock.monotonic()
            if self._candidate.leads(now):
                self._win()
                await self._try_to_move()
            elif self._has_led:
                self._deadline.cancel()
                self._lose()
                return
            await self._wakeup.wait(self._clock, self._pause())

    def _pause(self) -> float:
        now, timing = self._clock.monotonic(), self._options.timing
        check = self._replica.seconds_to_check(now)
        if self._candidate.leads(now):
            return max(min(timing.retry, self._candidate.valid_until - now, check), 0.0)
        return max(min(self._randomness.jitter(timing.retry, JITTER), check), 0.0)

    async def _try(self) -> None:
        """Renew the slot, or get one; a failure is logged and retried in the next round."""
        try:
            async with self._clock.timeout(self._options.timing.request_timeout):
                await (self._get_slot() if self._held is None else self._held.renew_or_take())
        except (SteersmanError, TimeoutError) as error:
            _log.warning("cannot renew or take a slot", extra={**self._fields(), "error": str(error) or "timeout"})

    async def _get_slot(self) -> None:
        if self._replica.version is None:
            await self._look_at_table()
        await self._check_slots()
        self._note_problem(self._replica.problem or await self._sole_leader_problem())
        if self._problem:
            return
        for slot in self._replica.free_slots():
            held = await self._claim(slot)
            if self._candidate.leads(self._clock.monotonic()):
                self._held = held
                self._replica.join(slot)
                _log.info("has a slot", extra={**self._fields(), "slot": slot})
                return

    async def _sole_leader_problem(self) -> str:
        """Return why no slot may be taken: a replica without shards leads, such as one of an earlier version.

        It works on all objects. This is a look before the start, not a fence: the two kinds of replicas do not check
        each other's Leases before each write.
        """
        name, namespace = self._options.name, self._options.namespace
        listed = self._client.list(Lease, namespace=namespace, field_selector=f"metadata.name={name}")
        leases = [lease async for lease in listed]
        now = self._clock.monotonic()
        self._sole_leader.saw(record_of(leases[0]) if leases else None, now)
        move = self._sole_leader.move(now, self._clock.now())
        return f"{move.leader} leads without shards, by Lease {namespace}/{name}" if isinstance(move, Follow) else ""

    async def _claim(self, slot: int) -> HeldLease:
        self._candidate = Candidate(self._options.identity, self._options.timing)
        meta = ObjectMeta(self._names[slot], self._options.namespace, labels={LABEL: self._options.name})
        held = HeldLease(self._client, self._clock, self._candidate, meta)
        check = self._replica.check([slot], self._clock.monotonic())
        await held.look()
        self._replica.checked_slot(slot, self._slot_lease(held.lease), check, self._clock.monotonic())
        if held.lease is not None and slot in self._replica.free_slots():
            # Its holder was silent for the whole duration; the candidate has only just seen it.
            self._candidate.saw(None, _NEVER)
            self._candidate.saw(record_of(held.lease), _NEVER)
        await held.renew_or_take()
        return held

    def _win(self) -> None:
        if not self._has_led:
            _log.info("takes part in the work", extra=self._fields())
        self._has_led = True
        self._leadership.extend(self._candidate.valid_until)
        self._deadline.set(self._candidate.valid_until - self._clock.monotonic())

    def _lose(self) -> None:
        """End leadership once; both the deadline and the next round may call this."""
        if self._has_lost:
            return
        self._has_lost = True
        self._leadership.end()
        self._leadership.publish(ShardHoldings())
        self._options.on_lost()
        _log.error("lost its slot, and with it all shards", extra=self._fields())
        self._wakeup.set()

    # Shards.

    async def _try_to_move(self) -> None:
        try:
            async with self._clock.timeout(self._options.timing.request_timeout):
                await self._move()
        except (SteersmanError, TimeoutError) as error:
            # Whether a write was carried out is unknown: the next round reads the table.
            self._table = None
            _log.warning("cannot move shards", extra={**self._fields(), "error": str(error) or "timeout"})

    async def _move(self) -> None:
        """Take and release shards until nothing is left to do."""
        for drained in self._leadership.drained:
            self._replica.drained(drained.shard, drained.number, drained.versions)
        for _ in range(_WRITES):
            if self._table is None:
                await self._look_at_table()
            await self._check_slots()
            table = self._replica.decide(self._clock.monotonic())
            # Published before the write: what is released must not be written for any more.
            self._publish()
            if self._replica.problem:
                # Replicas with another number of shards were faster: give the slot up, so that they have all shards.
                self._lose()
            if table is None:
                return
            try:
                self._see_table(await self._write(table))
            except (Conflict, AlreadyExists, NotFound):
                self._table = None

    async def _look_at_table(self) -> None:
        try:
            lease = await self._client.get(Lease, table_name(self._options.name), self._options.namespace)
        except NotFound:
            self._see_table(None)
        else:
            self._see_table(lease)

    async def _check_slots(self) -> None:
        """Read the slots whose holders may be gone from the server."""
        now = self._clock.monotonic()
        if not (slots := self._replica.to_check(now)):
            return
        # The watch may show a newer table until the response arrives, about which it says nothing.
        check = self._replica.check(slots, now)
        selector = f"{LABEL}={self._options.name}"
        listed = self._client.list(Lease, namespace=self._options.namespace, label_selector=selector)
        found = {_slot_of(lease.name, self._options.name): lease async for lease in listed}
        for slot in slots:
            self._replica.checked_slot(slot, self._slot_lease(found.get(slot)), check, self._clock.monotonic())

    async def _write(self, table: Assignment) -> Lease:
        if self._table is None:
            name, labels = table_name(self._options.name), {LABEL: self._options.name}
            meta = ObjectMeta(name, self._options.namespace, labels=labels, annotations={TABLE: table.text()})
            return await self._client.create(Lease(meta, spec=LeaseSpec()))
        self._table.metadata.annotations[TABLE] = table.text()
        return await self._client.update(self._table)

    def _publish(self) -> None:
        table = self._replica.table
        self._leadership.publish(
            ShardHoldings(
                self._replica.open_shards, self._replica.leaving_shards, table.versions if table is not None else {}
            )
        )

    def _note_problem(self, problem: str) -> None:
        before, self._problem = self._problem, problem
        if self._problem and self._problem != before:
            _log.warning("waiting for shards", extra={**self._fields(), "reason": self._problem})

    def _fields(self) -> dict[str, object]:
        return dict(self._log_fields())

    def _log_fields(self) -> Iterator[tuple[str, object]]:
        yield "operator", f"{self._options.namespace}/{self._options.name}"
        yield "identity", self._options.identity
        if self._replica.me is not None:
            yield "slot", self._replica.me.slot
            yield "shards", sorted(self._replica.open_shards)

    def __repr__(self) -> str:
        return f"<ShardElector {self._replica!r}>"
