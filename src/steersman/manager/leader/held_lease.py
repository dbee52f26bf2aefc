"""`HeldLease`: one Lease that a process holds or wants to hold; sends the requests. The rules are in ``lease``."""

from steersman.client.client import Client
from steersman.clock import Clock
from steersman.errors import AlreadyExists, Conflict, NotFound
from steersman.kinds.coordination_v1 import Lease, LeaseSpec
from steersman.manager.leader.lease import Candidate, Create, Follow, LeaseRecord, Take
from steersman.objects.meta import ObjectMeta
from steersman.objects.times import MicroTime


def record_of(lease: Lease) -> LeaseRecord:
    """Return the record in a Lease."""
    spec = lease.spec
    return LeaseRecord(
        spec.holder_identity or "",
        spec.lease_duration_seconds or 0,
        spec.acquire_time,
        spec.renew_time,
        spec.lease_transitions or 0,
    )


def write_record(lease: Lease, record: LeaseRecord) -> None:
    """Write a record into a Lease."""
    spec = lease.spec
    spec.holder_identity = record.holder
    spec.lease_duration_seconds = record.duration
    spec.acquire_time = MicroTime.of(record.acquired) if record.acquired else None
    spec.renew_time = MicroTime.of(record.renewed) if record.renewed else None
    spec.lease_transitions = record.transitions


class HeldLease:
    """A Lease and a candidate for it."""

    def __init__(self, client: Client, clock: Clock, candidate: Candidate, meta: ObjectMeta) -> None:
        self._client = client
        self._clock = clock
        self._candidate = candidate
        #: Name, namespace and labels of the Lease if it has to be created.
        self._meta = meta
        self._name = meta.name or ""
        #: The Lease as it was last read or written.
        self._lease: Lease | None = None

    @property
    def lease(self) -> Lease | None:
        """The Lease as it was last read or written."""
        return self._lease

    async def renew_or_take(self) -> None:
        """Renew the Lease if this process holds it, or take it if the rules allow."""
        if self._lease is None or not self._candidate.leads(self._clock.monotonic()):
            await self.look()
        # The second round is for a lease that has changed since it was read: deleted, or ours after a lost response.
        for _ in range(2):
            asked_at = self._clock.monotonic()
            move = self._candidate.move(asked_at, self._clock.now())
            if isinstance(move, Follow):
                return
            try:
                await self._write(move)
            except (Conflict, AlreadyExists, NotFound):
                await self.look()
            else:
                self._candidate.wrote(move.record, asked_at=asked_at)
                return

    async def release(self) -> bool:
        """Release the Lease; return whether this process held it."""
        while (record := self._candidate.release(self._clock.now())) is not None and self._lease is not None:
            write_record(self._lease, record)
            try:
                self._lease = await self._client.update(self._lease)
            except Conflict:
                await self.look()
                continue
            self._candidate.wrote(record, asked_at=self._clock.monotonic())
            return True
        return False

    async def look(self) -> None:
        """Read the Lease from the server."""
        try:
            self._lease = await self._client.get(Lease, self._name, self._meta.namespace)
        except NotFound:
            self._lease = None
        record = None if self._lease is None else record_of(self._lease)
        self._candidate.saw(record, self._clock.monotonic())

    async def _write(self, move: Create | Take) -> None:
        if self._lease is None or isinstance(move, Create):
            self._lease = await self._client.create(self._fresh_lease(move.record))
        else:
            write_record(self._lease, move.record)
            self._lease = await self._client.update(self._lease)

    def _fresh_lease(self, record: LeaseRecord) -> Lease:
        meta = ObjectMeta(self._meta.name, self._meta.namespace, labels=dict(self._meta.labels))
        lease = Lease(meta, spec=LeaseSpec())
        write_record(lease, record)
        return lease

    def __repr__(self) -> str:
        return f"<HeldLease {self._meta.name} {self._candidate!r}>"
