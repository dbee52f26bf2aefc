"""Two replicas of an operator, with the real leader election, on a model of an API server that has one Lease.

A run of a minute takes milliseconds, so that a hundred thousand seeds can be tried. The seed decides what happens:
requests and responses take their time or get lost, each replica loses its network, stands still, is killed or stopped,
and its wall clock is wrong. Each replica writes all the time while it leads; the server looks at the Lease at the
moment when a write arrives.

What no leader can know is how long a request is under way. A write that was sent in time and arrives later than the
lease lasts beyond the renew deadline (15 s - 10 s) arrives under another leader: ``longest_delay`` is below that.
"""

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager, suppress
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Never

import msgspec

from steersman.clock import Clock, Timer
from steersman.concurrency import background
from steersman.errors import ConnectionFailed, ConnectionLost, LeadershipLost, NoAnswer, TransportError
from steersman.informer.list_watch_driver import ApiConnection
from steersman.json_types import JsonObject
from steersman.manager.leader.election import ElectionOptions
from steersman.manager.leader.leadership import Leadership
from steersman.manager.leader.thread import elect_here
from steersman.protocol.http import Request, Response
from steersman.randomness import Randomness
from steersman.simulation.event_loop import SimulatedClock, SimulationLoop
from steersman.simulation.network.exchanges import failure
from steersman.transport.base import DEFAULT_IDLE, DEFAULT_TIMEOUT
from steersman.transport.stream import ResponseStream

SECONDS = 60.0
#: Seconds between two writes of a leader.
WRITE_EVERY = 0.7
_JSON = [("content-type", "application/json")]


@dataclass(slots=True)
class LeaseServer:
    """One Lease with its resource version, and a log of its writers."""

    lease: JsonObject | None = None
    version: int = 1
    writes: int = 0
    #: How often the lease changed hands.
    leaders: list[str] = field(default_factory=list)
    #: Writes that arrived while another replica held the lease.
    deposed: list[str] = field(default_factory=list)
    watchers: list[Callable[[bytes], None]] = field(default_factory=list)

    @property
    def holder(self) -> str:
        """The replica that holds the lease."""
        return (self.lease or {}).get("spec", {}).get("holderIdentity") or ""

    def handle(self, identity: str, request: Request, now: float) -> Response:
        """Process a request that arrives."""
        if request.target == "/write":
            self.writes += 1
            if self.holder != identity:
                self.deposed.append(f"{now:.3f} {identity} writes although {self.holder or 'no one'} holds the lease")
            return Response(200, _JSON, b"{}")
        if self.lease is None:
            if request.method != "POST":
                return failure(404, "NotFound", "there is no lease")
            return self._store(msgspec.json.decode(request.body), 201)
        return self._handle_existing(self.lease, request)

    def _handle_existing(self, lease: JsonObject, request: Request) -> Response:
        if request.method == "POST":
            return failure(409, "AlreadyExists", "there is a lease")
        if request.method == "GET":
            return Response(200, _JSON, msgspec.json.encode(lease))
        patch = msgspec.json.decode(request.body)
        wanted = patch.get("metadata", {}).get("resourceVersion")
        if wanted is not None and wanted != str(self.version):
            return failure(409, "Conflict", "the lease has changed")
        return self._store({**lease, "spec": {**lease["spec"], **patch.get("spec", {})}}, 200)

    def _store(self, lease: JsonObject, status: int) -> Response:
        before = self.holder
        self.version += 1
        lease["metadata"] = {
            "name": "operator",
            "namespace": "default",
            "uid": "1",
            "resourceVersion": str(self.version),
        }
        self.lease = lease
        if self.holder and self.holder != before:
            self.leaders.append(self.holder)
        for notify in list(self.watchers):
            notify(_event("MODIFIED", lease))
        return Response(status, _JSON, msgspec.json.encode(lease))

    def initial_events(self) -> bytes:
        """Return what a watch begins with."""
        mark = {"resourceVersion": str(self.version), "annotations": {"k8s.io/initial-events-end": "true"}}
        bookmark = {"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": mark}
        return (_event("ADDED", self.lease) if self.lease is not None else b"") + _event("BOOKMARK", bookmark)


def _event(kind: str, lease: JsonObject) -> bytes:
    return msgspec.json.encode({"type": kind, "object": lease}) + b"\n"


class ReplicaClock(Clock):
    """The clock of one replica: its wall clock is wrong, and timers that are due during a stall run afterwards."""

    def __init__(self, inner: SimulatedClock, skew: timedelta) -> None:
        self._inner = inner
        self._skew = skew
        self._still_until = 0.0

    def stand_still(self, seconds: float) -> None:
        """Run nothing for a while."""
        self._still_until = max(self._still_until, self.monotonic() + seconds)

    def now(self) -> datetime:
        """Return the wrong wall-clock time."""
        return self._inner.now() + self._skew

    def monotonic(self) -> float:
        """Return the seconds since the beginning."""
        return self._inner.monotonic()

    def call_later(self, seconds: float, callback: Callable[[], object]) -> Timer:
        """Run the callback when it is due and the replica does not stand still."""
        timer = _ReplicaTimer()

        def run() -> None:
            left = self._still_until - self.monotonic()
            if left > 0:
                timer.inner = self._inner.call_later(left, run)
            else:
                callback()

        timer.inner = self._inner.call_later(seconds, run)
        return timer


class _ReplicaTimer:
    inner: Timer

    def cancel(self) -> None:
        """Cancel the timer."""
        self.inner.cancel()


class LeaseTransport:
    """The network of one replica. What was sent arrives, whether its sender still waits for it or not."""

    def __init__(self, replica: "Replica") -> None:
        self._replica = replica
        self._network = replica.run
        #: Whether the process has ended.
        self.is_dead = False
        self._streams: list[ResponseStream] = []

    async def request(self, request: Request, *, timeout: float | None = DEFAULT_TIMEOUT) -> Response:  # noqa: ASYNC109 - as declared
        """Send a request, and wait for its response."""
        if self.is_dead:
            raise ConnectionFailed("the process is gone")
        if request.fence is not None:
            request.fence.check()
        answer: asyncio.Future[Response] = asyncio.get_running_loop().create_future()
        self._network.later(lambda: self._arrive(request, answer))
        limit = self._replica.clock.call_later(timeout or DEFAULT_TIMEOUT, lambda: _fail(answer, NoAnswer("no answer")))
        try:
            return await answer
        finally:
            limit.cancel()

    def _arrive(self, request: Request, answer: asyncio.Future[Response]) -> None:
        if self._replica.is_cut_off or self._network.is_lost():
            self._network.later(lambda: _fail(answer, ConnectionLost("lost")))
            return
        response = self._network.server.handle(self._replica.identity, request, self._network.clock.monotonic())
        if self._network.is_lost():
            self._network.later(lambda: _fail(answer, ConnectionLost("lost")))
            return
        # Through the clock of the replica: while it stands still it receives nothing.
        self._replica.clock.call_later(self._network.delay(), lambda: _resolve(answer, response))

    @asynccontextmanager
    async def stream(self, request: Request, *, idle: float | None = DEFAULT_IDLE) -> AsyncIterator[ResponseStream]:
        """Watch the lease."""
        del request, idle
        if self.is_dead or self._replica.is_cut_off:
            raise ConnectionFailed("cut off")
        stream = ResponseStream(200, _JSON)
        server = self._network.server

        def notify(event: bytes) -> None:
            self._replica.clock.call_later(self._network.delay(), lambda: stream.feed(event))

        stream.feed(server.initial_events())
        server.watchers.append(notify)
        self._streams.append(stream)
        try:
            yield stream
        finally:
            server.watchers.remove(notify)
            self._streams.remove(stream)

    def upgrade(self, request: Request, *, protocol: str) -> AbstractAsyncContextManager[Never]:
        """Reject other protocols."""
        raise ConnectionFailed(f"{protocol} is not part of the model: {request}")

    async def ping(self) -> None:
        """Return."""

    async def close(self) -> None:
        """End every watch."""
        self.cut()

    def cut(self) -> None:
        """Break every watch."""
        for stream in list(self._streams):
            stream.finish(ConnectionLost("cut off"))


def _resolve(answer: asyncio.Future[Response], response: Response) -> None:
    if not answer.done():
        answer.set_result(response)


def _fail(answer: asyncio.Future[Response], error: TransportError) -> None:
    if not answer.done():
        answer.set_exception(error)


class Replica:
    """One pod of the operator, started again whenever its process ends."""

    def __init__(self, run: "Run", identity: str) -> None:
        self.run = run
        self.identity = identity
        self.clock = ReplicaClock(run.clock, timedelta(seconds=run.chance.between(-3600, 3600)))
        self.is_cut_off = False
        self._transport = LeaseTransport(self)

    async def live(self) -> None:
        """Run one process after the other."""
        while True:
            end = self.run.chance.between(5, 2 * SECONDS)
            self._transport = LeaseTransport(self)
            with suppress(LeadershipLost):
                await self._process(end, is_killed=self.run.chance.between(0, 1) < 0.5)
            await self.run.clock.sleep(self.run.chance.between(0.1, 3.0))

    async def _process(self, seconds: float, *, is_killed: bool) -> None:
        connection = ApiConnection(self._transport, self.clock, self.run.chance)
        options = ElectionOptions(name="operator", namespace="default", identity=self.identity)
        async with elect_here(connection, options) as leadership:
            try:
                await self._work(leadership, self.run.clock.monotonic() + seconds)
            except asyncio.CancelledError:
                self._transport.is_dead = True  # the end of the run: nothing is stopped in order
                raise
            self._transport.is_dead = is_killed

    async def _work(self, leadership: Leadership, end: float) -> None:
        """Write while this replica leads, until the process ends; a write that is under way is waited for."""
        while self.clock.monotonic() < end:
            if leadership.is_valid:
                with suppress(TransportError):
                    await self._transport.request(Request("POST", "/write", fence=leadership), timeout=10.0)
            await self.clock.sleep(WRITE_EVERY)

    def cut_off(self, seconds: float) -> None:
        """Lose the network for a while."""
        self.is_cut_off = True
        self._transport.cut()
        self.run.clock.call_later(seconds, self._reconnect)

    def _reconnect(self) -> None:
        self.is_cut_off = False


class Run:
    """Two replicas, and what happens to them."""

    def __init__(self, seed: int, *, longest_delay: float) -> None:
        self.clock = SimulatedClock()
        self.chance = Randomness(seed)
        self.server = LeaseServer()
        self._longest_delay = longest_delay

    def delay(self) -> float:
        """Return how long something is under way: mostly milliseconds."""
        is_slow = self.chance.between(0, 1) < 0.1
        return self.chance.between(0.001, self._longest_delay if is_slow else 0.02)

    def is_lost(self) -> bool:
        """Return whether something gets lost on its way."""
        return self.chance.between(0, 1) < 0.03

    def later(self, callback: Callable[[], object]) -> None:
        """Call back when something has arrived."""
        self.clock.call_later(self.delay(), callback)

    async def play(self) -> None:
        """Advance the time by a minute."""
        replicas = [Replica(self, f"replica-{number}") for number in (1, 2)]
        for replica in replicas:
            for begin, length in self._times():
                self.clock.call_later(begin, lambda one=replica, time=length: one.cut_off(time))
            for begin, length in self._times():
                self.clock.call_later(begin, lambda one=replica, time=length: one.clock.stand_still(time))
        async with (
            background(replicas[0].live(), name="replica-1"),
            background(replicas[1].live(), name="replica-2"),
        ):
            await self.clock.sleep(SECONDS)

    def _times(self) -> Iterator[tuple[float, float]]:
        for _ in range(int(self.chance.between(0, 3))):
            yield self.chance.between(0, SECONDS * 0.7), self.chance.between(0.5, 30.0)


def play(seed: int, *, longest_delay: float = 2.4) -> LeaseServer:
    """Run two replicas for a minute; return what the server has seen."""
    run = Run(seed, longest_delay=longest_delay)
    loop = SimulationLoop(run.clock)
    try:
        loop.run_until_complete(run.play())
    finally:
        loop.close()
    return run.server
