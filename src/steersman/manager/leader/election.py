"""Leader election by a Lease: sends the requests and updates ``Leadership``. The rules are in ``lease``.

It should run in a thread with a connection of its own (``thread``), so that a blocked event loop or a busy connection
does not cost the leadership. The times are client-go's.
"""

import logging
from collections.abc import Callable
from dataclasses import dataclass, field

from steersman.client.client import Client
from steersman.clock import Deadline
from steersman.concurrency import background
from steersman.errors import AlreadyExists, Conflict, NotFound, SteersmanError
from steersman.informer.changes import Change, Deleted
from steersman.informer.informer import Informer, Selection
from steersman.informer.list_watch_driver import ApiConnection
from steersman.informer.wakeup import Wakeup
from steersman.kinds.coordination_v1 import Lease, LeaseSpec
from steersman.manager.leader.leadership import Leadership
from steersman.manager.leader.lease import JITTER, Candidate, Create, Follow, LeaseRecord, LeaseTiming, Take
from steersman.objects.codec import decode
from steersman.objects.meta import ObjectMeta
from steersman.objects.times import MicroTime

_log = logging.getLogger("steersman.leader-election")


@dataclass(frozen=True, slots=True, kw_only=True)
class ElectionOptions:
    """The lease, and the identity of this process."""

    name: str
    namespace: str
    identity: str
    timing: LeaseTiming = field(default_factory=LeaseTiming)
    #: Called when leadership was lost, in the thread of the election: the event loop of the operator may be blocked.
    on_lost: Callable[[], object] = lambda: None


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


class LeaderElector:
    """Take part in an election until cancelled, or until a won leadership is lost."""

    def __init__(self, connection: ApiConnection, options: ElectionOptions, leadership: Leadership) -> None:
        self._connection = connection
        self._clock = connection.clock
        self._client = Client(connection.transport, clock=connection.clock, randomness=connection.randomness)
        self._options = options
        self._leadership = leadership
        self._randomness = connection.randomness
        self._candidate = Candidate(options.identity, options.timing)
        self._lease: Lease | None = None
        self._wakeup = Wakeup()
        #: Ends leadership at the renew deadline, even while a request is under way.
        self._deadline = Deadline(self._clock, self._lose)
        self._has_led = False
        self._has_lost = False

    async def run(self) -> None:
        """Wait for leadership, keep it, and return when it is lost."""
        selection = Selection(
            namespaces=(self._options.namespace,), field_selector=f"metadata.name={self._options.name}"
        )
        informer = Informer(Lease, self._connection, selection)
        informer.add_handler(self._on_change, name="leader-election")
        try:
            async with background(informer.run(), name="informer/leases"):
                await self._take_part()
        finally:
            self._deadline.cancel()

    async def release(self) -> None:
        """Release the lease if this process holds it. Call it after all work has stopped; a failure only costs time.

        It is kept if runs were cut off: a request that was cancelled here may still be carried out by the server.
        """
        self._leadership.end()
        if not self._leadership.may_release:
            _log.warning("the lease is left to expire: runs were cut off, and a write may still arrive")
            return
        try:
            while (record := self._candidate.release(self._clock.now())) is not None and self._lease is not None:
                if await self._give_back(self._lease, record):
                    _log.info("released leadership", extra=self._fields())
                    return
        except SteersmanError as error:
            _log.warning("cannot release the lease", extra={**self._fields(), "error": str(error)})

    async def _give_back(self, lease: Lease, record: LeaseRecord) -> bool:
        write_record(lease, record)
        try:
            self._lease = await self._client.update(lease)
        except Conflict:
            await self._look()
            return False
        self._candidate.wrote(record, asked_at=self._clock.monotonic())
        return True

    def _on_change(self, change: Change) -> None:
        """React at once to changes of the lease by other processes; our own renewals would each cause the next."""
        if isinstance(change, Deleted) or decode(Lease, change.new.data).spec.holder_identity != self._options.identity:
            self._wakeup.set()

    async def _take_part(self) -> None:
        while True:
            await self._try()
            now = self._clock.monotonic()
            if self._candidate.leads(now):
                self._win()
            elif self._has_led:
                self._deadline.cancel()
                self._lose()
                return
            await self._wakeup.wait(self._clock, self._pause(now))

    def _pause(self, now: float) -> float:
        timing = self._options.timing
        if self._candidate.leads(now):
            return min(timing.retry, max(self._candidate.valid_until - now, 0.0))
        pause = self._randomness.jitter(timing.retry, JITTER)
        move = self._candidate.move(now, self._clock.now())
        return max(min(pause, move.seconds), 0.0) if isinstance(move, Follow) else pause

    def _lose(self) -> None:
        """End leadership once; both the deadline and the next round may call this."""
        if self._has_lost:
            return
        self._has_lost = True
        self._leadership.end()
        self._options.on_lost()
        _log.error("lost leadership", extra=self._fields())
        self._wakeup.set()

    def _win(self) -> None:
        if not self._has_led:
            _log.info("became leader", extra=self._fields())
        self._has_led = True
        self._leadership.extend(self._candidate.valid_until)
        self._deadline.set(self._candidate.valid_until - self._clock.monotonic())

    async def _try(self) -> None:
        """Renew or take the lease if the rules allow; a failure is logged and retried in the next round."""
        try:
            async with self._clock.timeout(self._options.timing.request_timeout):
                await self._renew_or_take()
        except (SteersmanError, TimeoutError) as error:
            _log.warning("cannot renew or take the lease", extra={**self._fields(), "error": str(error) or "timeout"})

    async def _renew_or_take(self) -> None:
        if self._lease is None or not self._candidate.leads(self._clock.monotonic()):
            await self._look()
        # The second round is for a lease that has changed since it was read: deleted, or ours after a lost response.
        for _ in range(2):
            asked_at = self._clock.monotonic()
            move = self._candidate.move(asked_at, self._clock.now())
            if isinstance(move, Follow):
                return
            try:
                await self._write(move)
            except (Conflict, AlreadyExists, NotFound):
                await self._look()
            else:
                self._candidate.wrote(move.record, asked_at=asked_at)
                return

    async def _write(self, move: Create | Take) -> None:
        if self._lease is None or isinstance(move, Create):
            self._lease = await self._client.create(self._fresh_lease(move.record))
        else:
            write_record(self._lease, move.record)
            self._lease = await self._client.update(self._lease)

    async def _look(self) -> None:
        options = self._options
        try:
            self._lease = await self._client.get(Lease, options.name, options.namespace)
        except NotFound:
            self._lease = None
        record = None if self._lease is None else record_of(self._lease)
        self._candidate.saw(record, self._clock.monotonic())

    def _fresh_lease(self, record: LeaseRecord) -> Lease:
        lease = Lease(ObjectMeta(self._options.name, self._options.namespace), spec=LeaseSpec())
        write_record(lease, record)
        return lease

    def _fields(self) -> dict[str, str]:
        return {
            "lease": f"{self._options.namespace}/{self._options.name}",
            "identity": self._options.identity,
            "leader": self._candidate.leader,
        }

    def __repr__(self) -> str:
        return f"<LeaderElector {self._candidate!r}>"
