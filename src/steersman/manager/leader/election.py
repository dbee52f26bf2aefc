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
from steersman.errors import SteersmanError
from steersman.informer.changes import Change, Deleted
from steersman.informer.informer import Informer, Selection
from steersman.informer.list_watch_driver import ApiConnection
from steersman.informer.wakeup import Wakeup
from steersman.kinds.coordination_v1 import Lease
from steersman.manager.leader.held_lease import HeldLease
from steersman.manager.leader.leadership import Leadership
from steersman.manager.leader.lease import JITTER, Candidate, Follow, LeaseTiming
from steersman.objects.codec import decode
from steersman.objects.meta import ObjectMeta

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


class LeaderElector:
    """Take part in an election until cancelled, or until a won leadership is lost."""

    def __init__(self, connection: ApiConnection, options: ElectionOptions, leadership: Leadership) -> None:
        self._connection = connection
        self._clock = connection.clock
        client = Client(connection.transport, clock=connection.clock, randomness=connection.randomness)
        self._options = options
        self._leadership = leadership
        self._randomness = connection.randomness
        self._candidate = Candidate(options.identity, options.timing)
        meta = ObjectMeta(options.name, options.namespace)
        self._held = HeldLease(client, self._clock, self._candidate, meta)
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
            if await self._held.release():
                _log.info("released leadership", extra=self._fields())
        except SteersmanError as error:
            _log.warning("cannot release the lease", extra={**self._fields(), "error": str(error)})

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
                await self._held.renew_or_take()
        except (SteersmanError, TimeoutError) as error:
            _log.warning("cannot renew or take the lease", extra={**self._fields(), "error": str(error) or "timeout"})

    def _fields(self) -> dict[str, str]:
        return {
            "lease": f"{self._options.namespace}/{self._options.name}",
            "identity": self._options.identity,
            "leader": self._candidate.leader,
        }

    def __repr__(self) -> str:
        return f"<LeaderElector {self._candidate!r}>"
