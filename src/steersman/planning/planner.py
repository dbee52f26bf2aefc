"""`make_plan`: runs operators against a shadow of a cluster until they rest, and returns what they changed.

Order: definitions, caches, controllers, rest. The definitions of the operators' kinds are planned first, because the
operators' objects are judged by them. Leader election, webhooks, servers and background functions are not started.

Rest: no key is queued, running or held, no request is under way, the caches have everything that was written, and no
timer or retry would change anything (`PlannedController.run_again`). A key that keeps changing something is cut off
after `MOST_RUNS` runs and reported.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Iterable, Sequence
from contextlib import AsyncExitStack
from typing import Any, Final
from urllib.parse import quote

from msgspec import Struct
from msgspec.structs import replace

from steersman.client.client import Client
from steersman.client.interfaces import Ref
from steersman.clock import Clock
from steersman.concurrency import background
from steersman.controller.declaration import Reconciler
from steersman.controller.options import ControllerOptions, EventKind
from steersman.controller.recording.secret_learning import SecretLearningTransport
from steersman.controller.run.pause import PAUSED, pause_of
from steersman.errors import ConfigError, Forbidden, NotFound, SteersmanError, WaitTimeout
from steersman.history.history import History, HistoryLimits
from steersman.history.records import Result
from steersman.history.redaction import SecretMemory
from steersman.informer.informer import Informer
from steersman.informer.informers import Informers
from steersman.informer.list_watch_driver import ApiConnection
from steersman.json_types import JsonObject
from steersman.manager.definitions import definitions_of
from steersman.manager.install import apply_definition
from steersman.manager.operator import Operator
from steersman.objects.codec import decode_json, encode_json
from steersman.objects.identity import ObjectKey
from steersman.objects.resource import KubeObject, Unstructured
from steersman.planning.assembly import Assembly, counted
from steersman.planning.changes import Place, RunOf
from steersman.planning.controller import PlannedController
from steersman.planning.plan import Change, NoOpWrites, Plan, PlannedObject, SkippedCall
from steersman.planning.proposal import write_proposal
from steersman.planning.read_only import ReadOnlyTransport
from steersman.planning.redaction import Redaction
from steersman.planning.services import PlannedServices, RecordedCall
from steersman.planning.shadow import DEFINITION_RESOURCE, Shadow
from steersman.planning.side_effects import no_own_clients, side_effects
from steersman.planning.transport import PlanningTransport
from steersman.planning.writes import PlannedWrites
from steersman.protocol.http import Request
from steersman.randomness import Randomness
from steersman.transport.base import Transport
from steersman.transport.services import HttpServices

_log = logging.getLogger("steersman.planning")

#: Looks in a row without a change that count as rest, and seconds between looks.
_REST_LOOKS, _REST_PAUSE = 3, 0.005
#: Steps of the event loop between two looks: the way from a write to the queue is shorter.
_STEPS = 20
#: Looks without progress after which a run counts as stuck, if the clock is stopped.
_STUCK_LOOKS = 2000
#: The field manager of proposed changes.
_PROPOSER: Final = "steer-plan"
_NOT_FOUND: Final = 404
#: Number of objects that a note names.
_NAMED: Final = 3
_JSON: Final = {"accept": "application/json"}
_ONLY_LISTENERS = HistoryLimits(per_object=1, records=1)

#: Called with the number of objects planned so far, and of those known.
Progress = Callable[[int, int], None]


class PlanOptions(Struct, frozen=True, kw_only=True):
    """What is planned, and how."""

    #: The namespaces to plan; empty for all.
    namespaces: tuple[str, ...] = ()
    #: Objects to plan: kind and name; empty for all.
    objects: tuple[tuple[str, str], ...] = ()
    #: Plan only objects with these labels.
    selector: str = ""
    #: Plan at most this many objects of each reconciler; 0 for all.
    limit: int = 0
    #: Judge writes by the rules of the embedded server alone: the live cluster is only read.
    offline: bool = False
    #: Plan the definitions of the operators' kinds, too, and judge objects by them.
    definitions: bool = True
    #: Objects that a person proposes to apply: the plan is what operators do then. An object with a resource version
    #: replaces the existing one.
    proposed: tuple[JsonObject, ...] = ()
    #: Namespace of proposed objects that name none.
    proposed_namespace: str = "default"
    #: Plan paused objects as if they were resumed.
    resume: bool = False
    #: Seconds that caches get to sync.
    sync_timeout: float = 120.0
    #: Note servers that the operator connects to by itself, and programs that it starts; not under uvloop.
    notes_side_effects: bool = False
    #: Seconds that one run may take: one that waits for what never happens in a plan must end.
    run_timeout: float = 60.0
    #: Makes the hashes of Secrets comparable between two plans; random if empty.
    hash_key: bytes = b""

    def __repr__(self) -> str:
        shown = (name for name in self.__struct_fields__ if name != "hash_key")
        return f"PlanOptions({', '.join(f'{name}={getattr(self, name)!r}' for name in shown)})"


class _NoEvents:
    """Drops events: the runs that record them are in the plan."""

    def record(self, obj: KubeObject | Unstructured, type_: EventKind, reason: str, note: str) -> None:
        """Drop an event."""


async def make_plan(  # noqa: PLR0913 - the collaborators of a plan, by name
    operators: Sequence[Operator],
    transport: Transport,
    options: PlanOptions | None = None,
    *,
    clock: Clock,
    services: HttpServices | None = None,
    pause: Callable[[], Awaitable[None]] | None = None,
    on_progress: Progress = lambda *_: None,
    redaction: Redaction | None = None,
) -> Plan:
    """Return what operators would do to the cluster behind a transport, without doing it.

    ``pause`` lets other tasks run while a fake clock stands still; by default a few milliseconds pass. ``redaction``
    learns the Secrets of the plan, so that the caller can mask what the operator logs. Raises ``ConfigError`` for an
    operator that declares that it cannot be planned, and the server's error if a kind cannot be read.
    """
    for operator in operators:
        if operator.not_planned:
            raise ConfigError(f"operator {operator.name!r} cannot be planned: {operator.not_planned}")
    planner = _Planner(
        operators,
        transport,
        options or PlanOptions(),
        clock=clock,
        services=services,
        pause=pause,
        on_progress=on_progress,
        redaction=redaction or Redaction(SecretMemory(), (options or PlanOptions()).hash_key),
    )
    return await planner.run()


class _Planner:
    """One plan."""

    def __init__(  # noqa: PLR0913 - see make_plan
        self,
        operators: Sequence[Operator],
        transport: Transport,
        options: PlanOptions,
        *,
        clock: Clock,
        services: HttpServices | None,
        pause: Callable[[], Awaitable[None]] | None,
        on_progress: Progress,
        redaction: Redaction,
    ) -> None:
        self._operators = tuple(operators)
        self._options = options
        self._clock = clock
        self._closed_services = HttpServices(clock) if services is None else None
        doubles = {url: one for operator in operators for url, one in operator.planned_services.items()}
        self._services = PlannedServices(services or self._closed_services or HttpServices(clock), clock, doubles)
        self._live = ReadOnlyTransport(transport)
        self._redaction = redaction
        #: What runs know, as in the real operator: a run masks in what it writes only Secrets that it has read.
        self._secrets = SecretMemory()
        self._definitions = definitions_of(_custom_kinds(operators))
        self._shadow = Shadow(self._live, clock=clock, definitions=[one.content for one in self._definitions])
        self._shadow.on_object = self._redaction.learn
        self._writes = PlannedWrites(None if options.offline else self._live, self._shadow)
        self._transport = PlanningTransport(self._live, self._shadow, self._writes)
        self._connection = ApiConnection(self._transport, clock, Randomness())
        self._controllers: list[PlannedController[Any]] = []
        self._notes: dict[str, None] = {}
        #: What the operators did by themselves.
        self._side_effects: dict[str, None] = {}
        self._left_out: set[tuple[int, ObjectKey]] = set()
        self._pause = pause if pause is not None else lambda: clock.sleep(_REST_PAUSE)
        #: Whether the clock is stopped, so that no timeout ends a run that waits for it.
        self._stands_still = pause is not None
        self._on_progress = on_progress

    async def run(self) -> Plan:
        """Plan the definitions, run the controllers to rest, and return the difference."""
        started = self._clock.monotonic()
        async with AsyncExitStack() as stack:
            if self._closed_services is not None:
                stack.push_async_callback(self._closed_services.close)
            stack.push_async_callback(self._services.close)
            stack.push_async_callback(self._transport.close)
            if self._options.definitions:
                await self._plan_definitions()
            await self._propose()
            await self._check_namespaces()
            informers = Informers(self._connection)
            self._controllers = [
                self._controller(number, operator, reconciler, informers)
                for number, (operator, reconciler) in enumerate(self._declared())
            ]
            self._note_what_is_left_out()
            await stack.enter_async_context(background(informers.run(), name="informers"))
            await self._sync()
            names = [operator.name for operator, _ in self._declared()]
            stack.enter_context(no_own_clients(names.__getitem__, self._notes.setdefault))
            if self._options.notes_side_effects:
                self._side_effects = stack.enter_context(side_effects())
            await stack.enter_async_context(background(self._run_controllers(), name="controllers"))
            await self._rest()
            self._check_names()
            self._note_consequences()
        for what in self._side_effects:
            self._notes[f"the operator {what} by itself: what this writes is not in the plan"] = None
        return self._plan(self._clock.monotonic() - started)

    async def _plan_definitions(self) -> None:
        """Plan the definitions as the operator would install them, by the embedded server's rules."""
        offline = PlannedWrites(None, self._shadow)
        transport = PlanningTransport(self._live, self._shadow, offline)
        for definition in definitions_of(kind for operator in self._operators for kind in operator.kinds):
            client = Client(transport, field_manager=self._operators[0].name, clock=self._clock)
            try:
                applied = await apply_definition(client, definition, is_converted=False)
            except Forbidden as error:
                self._notes[f"{definition.name} is not compared with that of the cluster: {error}"] = None
                continue
            before = self._shadow.log.before.get(Place(DEFINITION_RESOURCE, "", applied.name), b"")
            if before is None or (before and decode_json(before)["spec"] != applied.content["spec"]):
                self._writes.local_resources.add(applied.name)

    async def _propose(self) -> None:
        """Make the proposed changes in the shadow, judged as any other write, before an operator sees anything."""
        known = set(self._shadow.log.before)
        namespace = self._options.proposed_namespace
        client = Client(self._transport, namespace=namespace, field_manager=_PROPOSER, clock=self._clock)
        for document in self._options.proposed:
            await write_proposal(client, Unstructured(decode_json(encode_json(document))))
        if self._options.resume:
            for kind in dict.fromkeys(reconciler.kind for _, reconciler in self._declared()):
                await _resume(client, kind, self._options.namespaces, self._clock)
        log = self._shadow.log
        records = {place: self._shadow.record(place) for place in log.before if place not in known}
        log.take_as_given({place: None if one is None else one.raw for place, one in records.items()})

    def _declared(self) -> list[tuple[Operator, Reconciler[Any]]]:
        return [(operator, reconciler) for operator in self._operators for reconciler in operator.reconcilers]

    def _controller(
        self, number: int, operator: Operator, reconciler: Reconciler[Any], informers: Informers
    ) -> PlannedController[Any]:
        history = History(_ONLY_LISTENERS)
        transport = SecretLearningTransport(self._transport, self._secrets)
        client = Client(transport, field_manager=operator.name, clock=self._clock)
        options = ControllerOptions(
            client=client,
            informers=informers,
            events=_NoEvents(),
            clock=self._clock,
            services=self._services,
            carry_out=self._services.carry_out,
            namespaces=self._options.namespaces,
            history=history,
            secrets=self._secrets,
        )
        controller = PlannedController(
            _limited(reconciler, self._options),
            options,
            self._shadow.log,
            self._chooser(number, reconciler),
            number=number,
        )
        history.listen(controller.ended)
        controller.attach()
        return controller

    def _chooser(self, number: int, reconciler: Reconciler[Any]) -> Callable[[ObjectKey], bool]:
        """Return the function that decides which objects of a reconciler are planned."""
        named = self._options.objects
        names = {name for kind, name in named if kind.lower() in _names_of(reconciler)}
        limit = self._options.limit
        chosen: set[ObjectKey] = set()

        def choose(key: ObjectKey) -> bool:
            if named and key.name not in names:
                return False
            if limit and key not in chosen and len(chosen) >= limit:
                self._left_out.add((number, key))
                return False
            chosen.add(key)
            return True

        return choose

    async def _check_namespaces(self) -> None:
        """Raise ``ConfigError`` for a namespace that neither exists nor is proposed.

        One that may not be read is taken to exist.
        """
        for name in self._options.namespaces:
            answer = await self._transport.request(Request("GET", f"/api/v1/namespaces/{quote(name, safe='')}", _JSON))
            if answer.status == _NOT_FOUND:
                raise ConfigError(f"namespace {name!r} does not exist")

    def _check_names(self) -> None:
        """Raise ``ConfigError`` for an object that was named, but not found."""
        for kind, name in self._options.objects:
            found = [one for one in self._controllers if kind.lower() in _names_of(one.reconciler)]
            if not found:
                known = ", ".join(one.reconciler.resource.gvk.kind for one in self._controllers)
                raise ConfigError(f"{kind}/{name}: the operator does not reconcile {kind!r}, only {known}")
            keys = [*(key for one in found for key in one.last), *(key for _, key in self._left_out)]
            if not any(key.name == name for key in keys):
                raise ConfigError(f"{kind}/{name}: there is no such object{self._selection() or ' in any namespace'}")
        if not any(controller.last for controller in self._controllers) and not self._options.objects:
            kinds = dict.fromkeys(one.reconciler.resource.gvk.kind for one in self._controllers)
            self._notes[f"there is nothing to plan: no {' or '.join(kinds)}{self._selection()}"] = None

    def _selection(self) -> str:
        """Return the labels and namespaces that are planned, as the end of a sentence."""
        labels = f" with labels {self._options.selector}" if self._options.selector else ""
        return labels + (f" in namespace {' or '.join(self._options.namespaces)}" if self._options.namespaces else "")

    def _note_consequences(self) -> None:
        """Note changes of objects that are reconciled, too, but were not chosen: what follows from them is unknown."""
        options = self._options
        if not (options.objects or options.selector or options.limit or options.namespaces):
            return
        changed = [place for place in self._shadow.log.before if self._shadow.record(place) is not None]
        unplanned = {
            f"{controller.reconciler.resource.gvk.kind} {place.namespace}/{place.name}".replace(" /", " ")
            for controller in self._controllers
            for place in changed
            if place.resource == controller.stored_as and ObjectKey(place.namespace, place.name) not in controller.last
        }
        if unplanned:
            names = sorted(unplanned)
            more = f" and {len(names) - _NAMED} more" if len(names) > _NAMED else ""
            self._notes[
                "not planned, because only some objects were chosen: what the operator does in answer to the changes "
                f"of {', '.join(names[:_NAMED])}{more}"
            ] = None

    def _note_what_is_left_out(self) -> None:
        for operator in self._operators:
            for function in operator.background_functions:
                name = getattr(function, "__qualname__", repr(function))
                self._notes[f"not run: background function {name} of operator {operator.name}"] = None

    # Waiting.

    async def _sync(self) -> None:
        """Wait until the caches are complete; raise what the server says if one cannot be read."""
        deadline, looks = self._clock.monotonic() + self._options.sync_timeout, 0
        informers = [one for controller in self._controllers for one in controller.required_informers()]
        while late := [one for one in informers if not one.is_synced]:
            for informer in late:
                _raise_refusal(informer)
            looks += 1
            if self._clock.monotonic() > deadline or (self._stands_still and looks > _STUCK_LOOKS):
                reasons = "; ".join(f"{one.resource.gvk}: {one.freshness().reason}" for one in late)
                raise WaitTimeout(f"caches did not sync in {self._options.sync_timeout:g} s: {reasons}")
            await self._pause()
        for controller in self._controllers:
            await controller.wait_synced(within=self._options.sync_timeout)

    async def _run_controllers(self) -> None:
        async with asyncio.TaskGroup() as tasks:
            for controller in self._controllers:
                tasks.create_task(controller.run(), name=f"controller/{controller.reconciler.name}")

    async def _rest(self) -> None:
        """Wait until nothing would change any more."""
        quiet = same = 0
        progress = (-1, -1)
        while True:
            await self._pause()
            await _steps()
            self._on_progress(sum(len(one.last) for one in self._controllers), self._known())
            now = self._progress()
            same = same + 1 if now == progress else 0
            quiet = quiet + 1 if same and self._is_idle() else 0
            progress = now
            self._check_stuck(same)
            if quiet >= _REST_LOOKS:
                due = [controller.run_again() for controller in self._controllers]
                if not any(due):
                    return
                quiet = 0

    def _progress(self) -> tuple[int, int]:
        """Return numbers that change with every write and every run."""
        return self._shadow.server.objects.version, sum(one.run_counts[0] for one in self._controllers)

    def _check_stuck(self, looks: int) -> None:
        """Raise ``WaitTimeout`` if the clock stands still and a run waits for it."""
        if looks < _STUCK_LOOKS or not self._stands_still or self._is_idle():
            return
        running = [f"{one.reconciler.name}: {one.queue!r}" for one in self._controllers if not one.queue.is_idle]
        raise WaitTimeout(f"a run waits for time to pass, and none does in a plan: {'; '.join(running)}")

    def _is_idle(self) -> bool:
        busy = self._live.pending or self._shadow.server.hub.has_news
        return not busy and all(controller.is_idle for controller in self._controllers)

    def _known(self) -> int:
        found = (controller.find(controller.reconciler.kind) for controller in self._controllers)
        return sum(len(informer.store) for informer in found if informer is not None)

    # The result.

    def _plan(self, seconds: float) -> Plan:
        redaction = self._redaction
        assembly = Assembly(self._shadow, redaction)
        changes, no_ops = assembly.changes_by_run(), assembly.no_ops_by_run()
        calls: dict[RunOf | None, list[RecordedCall]] = {}
        for call in self._services.calls:
            calls.setdefault(call.run, []).append(call)
        objects = [
            _planned(controller, key, changes.get(run, ()), counted(calls.get(run, ()), redaction), no_ops.get(run, ()))
            for controller in self._controllers
            for key in controller.last
            for run in [controller.run_of(key)]
        ]
        for reason in self._shadow.log.judged_locally.values():
            if reason.startswith("webhook "):
                self._notes[f"some writes were judged by the embedded API server: {reason}"] = None
        return Plan(
            operators=tuple(operator.name for operator in self._operators),
            objects=tuple(
                replace(one, message=redaction.masked(one.message))
                for one in sorted(objects, key=lambda one: (one.object.kind, one.object))
            ),
            changes=tuple(changes.pop(None, ())),
            proposed=assembly.proposed(),
            calls=counted(self._services.calls, redaction),
            notes=tuple(map(redaction.masked, self._notes)),
            has_side_effects=bool(self._side_effects),
            left_out=len(self._left_out),
            seconds=seconds,
        )


def _planned(
    controller: PlannedController[Any],
    key: ObjectKey,
    changes: Iterable[Change],
    calls: tuple[SkippedCall, ...],
    no_ops: Iterable[NoOpWrites],
) -> PlannedObject:
    run = controller.run_of(key)
    last = controller.last.get(key)
    return PlannedObject(
        controller=run.controller,
        object=run.object,
        changes=tuple(changes),
        calls=calls,
        no_ops=tuple(no_ops),
        result=Result.DONE if last is None else last.result,
        message=_reason(controller, key),
        waits_for=None if last is None else last.next.waits_for,
        runs=controller.run_counts_by_key.get(key, 0),
        is_at_rest=not controller.is_restless(key),
    )


def _reason(controller: PlannedController[Any], key: ObjectKey) -> str:
    """Return why the plan of an object is incomplete, or why its last run did not succeed."""
    reconcile = controller.last.get(key)
    if controller.is_restless(key):
        return f"does not come to rest: still changes {controller.last_changed(key) or 'something'}"
    if reconcile is None:
        return ""
    if reconcile.message == TimeoutError.__name__:
        return f"TimeoutError: the reconcile takes more than {controller.reconciler.options.timeout:g} s"
    if reconcile.reason and reconcile.message and not reconcile.message.startswith(reconcile.reason):
        return f"{reconcile.reason}: {reconcile.message}"
    return reconcile.message or reconcile.reason


def _custom_kinds(operators: Iterable[Operator]) -> list[type[KubeObject]]:
    """Return every kind that operators reconcile, own or watch."""
    found: dict[type[KubeObject], None] = {}
    for operator in operators:
        found |= dict.fromkeys(operator.kinds)
        for reconciler in operator.reconcilers:
            found |= dict.fromkeys(reconciler.options.owns)
    return list(found)


def _names_of(reconciler: Reconciler[Any]) -> frozenset[str]:
    """Return the names of a reconciled kind, as people write them for kubectl."""
    resource = reconciler.resource
    names = (resource.gvk.kind.lower(), resource.plural, resource.singular, *resource.short_names)
    return frozenset({*names, f"{resource.plural}.{resource.gvk.group}"})


async def _resume(client: Client, kind: type[KubeObject], namespaces: tuple[str, ...], clock: Clock) -> None:
    """Remove the pauses of a kind's objects."""
    for namespace in namespaces or ("",):
        async for obj in client.list_metadata(kind, namespace=namespace):
            if pause_of(obj.metadata.annotations, clock.now()) is not None:
                target = Ref(kind, obj.name, obj.namespace or None)
                await client.patch(target, {"metadata": {"annotations": {PAUSED: None}}})


async def _steps() -> None:
    """Run some steps of the event loop, without time passing."""
    loop = asyncio.get_running_loop()
    for _ in range(_STEPS):
        turned = loop.create_future()
        loop.call_soon(turned.set_result, None)
        await turned


def _limited(reconciler: Reconciler[Any], options: PlanOptions) -> Reconciler[Any]:
    """Return a reconciler that is limited to the chosen labels, and whose runs end in time."""
    both = ",".join(one for one in (reconciler.options.selector, options.selector) if one)
    timeout = min(reconciler.options.timeout or options.run_timeout, options.run_timeout)
    limited: Reconciler[Any] = Reconciler(
        reconciler.name,
        reconciler.kind,
        reconciler.function,
        finalizer=reconciler.finalizer,
        options=replace(reconciler.options, selector=both, timeout=timeout),
    )
    limited.cleanup_function, limited.error_function = reconciler.cleanup_function, reconciler.error_function
    return limited


def _raise_refusal(informer: Informer[Any]) -> None:
    """Raise the server's error if waiting longer does not help."""
    error: SteersmanError | None = informer.freshness().error
    if isinstance(error, (Forbidden, NotFound)):
        raise error
