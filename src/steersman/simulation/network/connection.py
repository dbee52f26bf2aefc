"""`Connection`: stands between one instance of an operator and the API server, records, and strikes as planned.

What the operator sends is counted; when the planned step comes, the fault happens instead. After a crash nothing passes
any more, in either direction, and nothing is answered: as when the process is gone at that moment.
"""

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Never, TypeVar
from urllib.parse import parse_qsl, urlencode

from steersman.apiserver.server import ApiServer
from steersman.clock import Clock, Timer
from steersman.protocol.confidential import is_confidential
from steersman.protocol.http import SAFE_METHODS, App, Exchange, Request, Response, Stream
from steersman.randomness import Randomness
from steersman.simulation.event_loop import InstanceClock, SimulatedClock
from steersman.simulation.faults.plans import Fault, Plan, View
from steersman.simulation.faults.recording import EventStep, Moment, ReadStep, Recording, WriteStep
from steersman.simulation.network.exchanges import Collected, Frame, InterceptedExchange, failure
from steersman.simulation.network.watch import SimulatedWatch

T = TypeVar("T")

#: The label that a competing client writes; it is not compared. An annotation would change a Deployment's generation.
TOUCHED = "simulation.steersman.dev/touched"
_INJECTED = "injected by the simulation"
#: Resources whose requests are not steps: events are best effort, leases are the business of elections.
_NOT_STEPS = frozenset({"events", "leases"})
_SLOW = 20.0
_STALL = 60.0
_CUT_OFF = 60.0
_HOUR = timedelta(hours=1)
_MOST_TURNS = 4

#: Requests that are refused without being carried out.
_REFUSALS: dict[str, Callable[[], Response]] = {
    "conflict": lambda: failure(409, "Conflict", _INJECTED),
    "too-many-requests": lambda: failure(429, "TooManyRequests", _INJECTED, retry_after=1),
    "forbidden": lambda: failure(403, "Forbidden", _INJECTED),
    "unauthorized": lambda: failure(401, "Unauthorized", _INJECTED),
    "internal-error": lambda: failure(500, "InternalError", _INJECTED),
    "unavailable": lambda: failure(503, "ServiceUnavailable", _INJECTED),
    "read-throttled": lambda: failure(429, "TooManyRequests", _INJECTED, retry_after=1),
    "read-error": lambda: failure(500, "InternalError", _INJECTED),
    "read-unauthorized": lambda: failure(401, "Unauthorized", _INJECTED),
}


@dataclass(slots=True)
class Network:
    """What the connections of all instances of one run share."""

    server: ApiServer
    clock: Clock
    plan: Plan
    recording: Recording = field(default_factory=Recording)
    #: Faults that struck, in order.
    struck: list[Fault] = field(default_factory=list)
    #: Writes by a replica that does not hold the lease.
    deposed_writes: list[str] = field(default_factory=list)
    #: The number of writes at which a run is taken to write without end, and is cut off.
    most_writes: int = 5_000
    #: Whether there are objects of users; how to recreate all of them, now or soon.
    has_objects: Callable[[], bool] = lambda: False
    recreate: Callable[[], Awaitable[None]] | None = None
    recreate_soon: Callable[[], None] = lambda: None
    chance: Randomness = field(init=False)

    def __post_init__(self) -> None:
        self.chance = Randomness(self.plan.seed)
        # An order of arrival holds from the beginning.
        self.struck += [fault for fault in self.plan.faults if fault.place == "seed"]

    def trace(self, text: str) -> None:
        """Record a line with its time."""
        self.recording.trace.append(f"{self.clock.monotonic():.3f} {text}")

    def moment(self) -> Moment:
        """Return the time and the version of the server."""
        return self.clock.monotonic(), self.server.objects.version

    def is_step(self, path: str) -> bool:
        """Return whether requests to a path are steps at which faults strike."""
        return _NOT_STEPS.isdisjoint(path.split("/")[-2:])

    def fault_at(self, step: WriteStep | ReadStep | EventStep) -> Fault | None:
        """Return the fault of the plan that strikes at a step that was just recorded."""
        return self.plan.at(step.place, step.number)

    def stall(self, seconds: float) -> None:
        """Advance the time while the process stands still; only virtual time can."""
        if isinstance(self.clock, SimulatedClock):
            self.clock.stall(seconds)

    def strikes(self, fault: Fault) -> None:
        """Record that a fault strikes now."""
        self.struck.append(fault)
        self.trace(f"fault {fault}")


class Connection:
    """The connection of one instance; an `App`."""

    def __init__(self, network: Network, instance: int, clock: InstanceClock, holder: Callable[[], str]) -> None:
        self._network = network
        self._instance = instance
        self._clock = clock
        #: Returns the holder of the lease if this instance may not write; empty if it may.
        self._holder = holder
        self._ended = asyncio.Event()
        self._cut_off_until = -1.0
        #: Whether nothing passes any more.
        self.is_cut = False
        #: Whether the instance is to stop as on SIGTERM.
        self.is_stopping = False
        #: The old state that this instance reads of one collection.
        self.view: View | None = None
        self.watches: list[SimulatedWatch] = []

    def __repr__(self) -> str:
        return f"<Connection of instance {self._instance}{' cut' if self.is_cut else ''}>"

    @property
    def instance(self) -> int:
        """The number of the instance, counted from 1."""
        return self._instance

    # The end of an instance.

    def crash(self) -> None:
        """End the instance now: nothing passes from here on."""
        self.is_cut = True
        self._ended.set()

    def stop(self) -> None:
        """Ask the instance to stop."""
        self.is_stopping = True
        self._ended.set()

    async def wait_ended(self) -> None:
        """Wait until the instance crashes or is asked to stop."""
        await self._ended.wait()

    def recreate_soon(self) -> None:
        """Recreate the objects of users soon."""
        self._network.recreate_soon()

    def later(self, seconds: float, callback: Callable[[], object]) -> Timer:
        """Call back after virtual seconds, whether the instance lives or not."""
        return self._network.clock.call_later(seconds, callback)

    # Requests.

    def around(self, app: App) -> App:
        """Stand before another app too, such as a service that the operator calls: its writes count as well."""
        return _Branch(self, app)

    def handle(self, request: Request, exchange: Exchange) -> Awaitable[None] | None:
        """Pass a request on to the API server."""
        return self.pass_on(self._network.server, request, exchange)

    def pass_on(self, app: App, request: Request, exchange: Exchange) -> Awaitable[None] | None:
        """Record a request, and pass it on unless a fault strikes."""
        if self.is_cut:
            return None
        if self._network.clock.monotonic() < self._cut_off_until:
            exchange.reset()
            return None
        if self._network.plan.seed:
            return self._pass_late(app, request, exchange)
        return self._pass(app, request, exchange)

    async def _pass_late(self, app: App, request: Request, exchange: Exchange) -> None:
        loop = asyncio.get_running_loop()
        for _ in range(int(self._network.chance.between(0, _MOST_TURNS))):
            turned = loop.create_future()
            loop.call_soon(turned.set_result, None)
            await turned
        if not self.is_cut and (work := self._pass(app, request, exchange)) is not None:
            await work

    def _pass(self, app: App, request: Request, exchange: Exchange) -> Awaitable[None] | None:
        path, _, query = request.target.partition("?")
        if request.method in SAFE_METHODS and "watch=" in query:
            return self._watch(app, request, exchange)
        if not self._network.is_step(path):
            return app.handle(request, exchange)
        self._trace(f"{request.method} {request.target}")
        traced = InterceptedExchange(exchange, lambda response: self._respond(exchange, response))
        is_external = app is not self._network.server
        if request.method in SAFE_METHODS:
            fault = self._note_read(path, is_external=is_external)
        else:
            fault = self._note_write(request, path, is_external=is_external)
        if self.is_cut:
            return None
        if fault is not None:
            return self._strike(fault, app, request, traced)
        return app.handle(self._as_viewed(request, path), traced)

    def _respond(self, exchange: Exchange, response: Response) -> None:
        self._trace(f"answered {response.status}")
        self._network.recording.crash_moments.add(self._network.moment())
        if not self.is_cut:
            exchange.respond(response)

    def _trace(self, text: str) -> None:
        self._network.trace(f"{self._instance} {text}")

    def _note_read(self, path: str, *, is_external: bool) -> Fault | None:
        recording = self._network.recording
        step = ReadStep(len(recording.reads) + 1, self._instance, path, is_external)
        recording.reads.append(step)
        return self._network.fault_at(step)

    def _note_write(self, request: Request, path: str, *, is_external: bool) -> Fault | None:
        recording = self._network.recording
        number = len(recording.writes) + 1
        body = b"" if is_confidential(request.target) else request.body
        now, has_objects = self._network.clock.monotonic(), self._network.has_objects()
        recording.crash_moments.add(self._network.moment())
        step = WriteStep(number, self._instance, request.method, path, now, body, has_objects, is_external)
        recording.writes.append(step)
        if holder := self._holder():
            self._network.deposed_writes.append(f"write {number}, {step}, although {holder} holds the lease")
        if number == self._network.most_writes:
            self.crash()
        return self._network.fault_at(step)

    async def carry_out(self, write: str, work: Callable[[], Awaitable[T]]) -> T:
        """Carry out a write to another system; crashes strike it as any other."""
        if self.is_cut:
            return await _silence()
        fault = self._note_write(Request("CALL", write), write, is_external=True)
        kind = fault.kind if fault is not None else ""
        if fault is not None and kind in {"crash-before", "crash-after"}:
            self._network.strikes(fault)
            if kind == "crash-after":
                await work()
            self.crash()
            return await _silence()
        result = await work()
        self._network.recording.crash_moments.add(self._network.moment())
        return await self._heard(result)

    async def _heard(self, result: T) -> T:
        """Return a result, unless the process that waits for it is gone by now."""
        return await _silence() if self.is_cut else result

    # Watches and old states.

    def _watch(self, app: App, request: Request, exchange: Exchange) -> Awaitable[None] | None:
        path, _, query = request.target.partition("?")
        options = dict(parse_qsl(query))
        is_initial = options.get("sendInitialEvents") == "true"
        is_lagging = self.view is not None and self.view.collection == path
        if is_lagging and is_initial:
            # As a server without WatchList: the operator lists instead, and the list can be an old one.
            exchange.respond(failure(422, "Invalid", "sendInitialEvents is forbidden without the WatchList feature"))
            return None
        self._trace(f"watch {request.target}")
        self._network.recording.watched.setdefault(path, "")

        def control(stream: Stream) -> SimulatedWatch:
            watch = SimulatedWatch(stream, self, path, is_initial=is_initial)
            if is_lagging:
                watch.lag()
            self.watches.append(watch)
            watch.on_close(lambda: self.watches.remove(watch))
            return watch

        return app.handle(request, InterceptedExchange(exchange, wrap=control))

    def note_event(self, collection: str, frame: Frame) -> Fault | None:
        """Record an event that arrives; return the fault that strikes at it."""
        recording = self._network.recording
        number = len(recording.events) + 1
        has_objects = self._network.has_objects()
        recording.crash_moments.add(self._network.moment())
        step = EventStep(number, self._instance, collection, frame.type, frame.path, frame.version, has_objects)
        recording.events.append(step)
        self._trace(f"event {step} {frame.version}")
        fault = self._network.fault_at(step)
        if fault is not None:
            self._network.strikes(fault)
        return fault

    def _as_viewed(self, request: Request, path: str) -> Request:
        """Return a list request as a replica that lags behind understands it."""
        if self.view is None or self.view.collection != path or request.method != "GET":
            return request
        options = dict(parse_qsl(request.target.partition("?")[2]))
        options |= {"resourceVersion": self.view.version, "resourceVersionMatch": "Exact"}
        return Request(request.method, f"{path}?{urlencode(options)}", request.headers, request.body)

    def catch_up(self) -> None:
        """Read the present state again: the replica that lagged behind has caught up."""
        self.view = None
        for watch in list(self.watches):
            watch.catch_up()

    def release(self) -> None:
        """Deliver events that were delayed until the operator is idle."""
        for watch in list(self.watches):
            watch.release()

    def heal(self) -> None:
        """End every fault that still lasts."""
        self.catch_up()
        for watch in list(self.watches):
            watch.heal()

    # Faults at requests.

    def _strike(
        self, fault: Fault, app: App, request: Request, exchange: InterceptedExchange
    ) -> Awaitable[None] | None:
        self._network.strikes(fault)
        refusal = _REFUSALS.get(fault.kind)
        if refusal is not None:
            exchange.respond(refusal())
            return None
        if fault.kind in _LOSSES:
            _LOSSES[fault.kind](self, exchange)
            return None
        if fault.kind in _RESPONSES:
            respond = _RESPONSES[fault.kind]
            return app.handle(
                request, InterceptedExchange(exchange, lambda response: respond(self, exchange, response))
            )
        if fault.kind == "recreated":
            return self._after_recreation(app, request, exchange)
        _BEFORE[fault.kind](self, request)
        return app.handle(request, exchange)

    async def _after_recreation(self, app: App, request: Request, exchange: InterceptedExchange) -> None:
        if self._network.recreate is not None:
            await self._network.recreate()
        if not self.is_cut and (work := app.handle(request, exchange)) is not None:
            await work

    def _touch(self, request: Request) -> None:
        path = request.target.partition("?")[0].removesuffix("/status")
        headers = {"content-type": "application/merge-patch+json"}
        body = f'{{"metadata":{{"labels":{{"{TOUCHED}":"{len(self._network.struck)}"}}}}}}'.encode()
        self._network.server.handle(Request("PATCH", path, headers, body), Collected())

    def _skew(self, by: timedelta) -> None:
        self._clock.skew += by

    def _stall(self) -> None:
        self._network.stall(_STALL)

    def _cut_off(self) -> None:
        self._cut_off_until = self._network.clock.monotonic() + _CUT_OFF
        for watch in list(self.watches):
            watch.abort()

    def _respond_late(self, exchange: InterceptedExchange, response: Response) -> None:
        def respond() -> None:
            with suppress(RuntimeError):  # the caller has given up meanwhile
                exchange.respond(response)

        self.later(_SLOW, respond)

    def _lose_all(self, exchange: InterceptedExchange) -> None:
        self._cut_off()
        exchange.reset()


@dataclass(frozen=True, slots=True)
class _Branch:
    """One more app behind a connection."""

    connection: Connection
    app: App

    def handle(self, request: Request, exchange: Exchange) -> Awaitable[None] | None:
        """Pass on what the connection lets pass."""
        return self.connection.pass_on(self.app, request, exchange)


#: The request is not carried out, and not answered.
_LOSSES: dict[str, Callable[[Connection, InterceptedExchange], None]] = {
    "crash-before": lambda connection, _: connection.crash(),
    "request-lost": lambda _, exchange: exchange.reset(),
    "read-lost": lambda _, exchange: exchange.reset(),
    "no-response": lambda *_: None,
    "read-silent": lambda *_: None,
    "leader-cut-off": Connection._lose_all,  # noqa: SLF001 - its own table
}
#: The request is carried out; these handle its response.
_RESPONSES: dict[str, Callable[[Connection, InterceptedExchange, Response], None]] = {
    "crash-after": lambda connection, *_: connection.crash(),
    "leader-crash": lambda connection, *_: connection.crash(),
    "response-lost": lambda _, exchange, __: exchange.reset(),
    "gateway-timeout": lambda _, exchange, __: exchange.respond(failure(504, "Timeout", _INJECTED)),
    "slow-response": Connection._respond_late,  # noqa: SLF001 - its own table
}
#: What happens right before the request is carried out.
_BEFORE: dict[str, Callable[[Connection, Request], None]] = {
    "competing-write": Connection._touch,  # noqa: SLF001 - its own table
    "clock-ahead": lambda connection, _: connection._skew(_HOUR),  # noqa: SLF001 - its own table
    "clock-behind": lambda connection, _: connection._skew(-_HOUR),  # noqa: SLF001 - its own table
    "stall": lambda connection, _: connection._stall(),  # noqa: SLF001 - its own table
    "shutdown": lambda connection, _: connection.stop(),
}


async def _silence() -> Never:
    """Wait until cancelled: the process that waits for this is gone."""
    await asyncio.get_running_loop().create_future()
    raise AssertionError("nothing resolves it")
