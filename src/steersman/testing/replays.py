"""`replay_reconcile`: run a recorded reconcile again on what it read, and compare what it sends with what it sent.

The objects that the reconcile read are put into an embedded API server as they were, without admission and without the
controllers of a cluster: nothing but the reconciler may change them. The clock stands still at the start of the
recorded run. A request that was rejected then is rejected now, with the same response: the reason may be a state that
the reconcile has not read. Other systems are not called.

What a replay cannot know: replies of other systems, random values, and values that depend on the contents of Secrets,
which are placeholders here. They are reported as differences.
"""

from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping
from contextlib import AsyncExitStack
from datetime import datetime, timedelta
from typing import Any, Final, TypeVar

import msgspec
from msgspec import Struct

from steersman.apiserver.server import ApiServer
from steersman.client.client import Client
from steersman.concurrency import background
from steersman.controller.controller import Controller
from steersman.controller.declaration import Reconciler
from steersman.controller.options import ControllerOptions, EventKind
from steersman.controller.recording.run_notes import RecordingTransport, current_notes
from steersman.controller.reports.causes import Cause
from steersman.controller.run.external_writes import CarryOut
from steersman.errors import ConfigError, ConnectionLost
from steersman.history.differences import field_changes
from steersman.history.history import History
from steersman.history.recordings import RecordedWrite, Recording, Recordings, load_recordings
from steersman.history.records import FieldChange, Result
from steersman.informer.informers import Informers
from steersman.informer.list_watch_driver import ApiConnection
from steersman.json_types import JsonObject
from steersman.manager.definitions import operator_definitions
from steersman.manager.install import install_definitions
from steersman.manager.operator import Operator
from steersman.objects.resource import KubeObject, Unstructured
from steersman.objects.times import parse_time
from steersman.protocol.http import SAFE_METHODS, App, Request, Response
from steersman.randomness import Randomness
from steersman.testing.fake_clock import FakeClock
from steersman.transport.base import DEFAULT_TIMEOUT, Transport
from steersman.transport.endpoint import Endpoint
from steersman.transport.in_memory import InMemoryTransport
from steersman.transport.services import HttpServices
from steersman.transport.wrapper import TransportWrapper

T = TypeVar("T")

#: Seconds around a run within which a time in a request counts as the time of the run.
_ABOUT_NOW: Final = timedelta(seconds=5)
_NOW: Final = "<time of the run>"
_FAILED: Final = 400
#: Fields of metadata that depend on the server, or are preconditions.
_SERVER_FIELDS: Final = ("resourceVersion", "uid", "managedFields")


class Replay(Struct, frozen=True):
    """A recorded reconcile and the same run on this code."""

    recorded: Recording
    replayed: Recording

    @property
    def differences(self) -> tuple[str, ...]:
        """What differs, one line each; empty if the run sent the same and ended the same."""
        return tuple(_differences(self.recorded, self.replayed))


async def replay_reconcile(
    operator: Operator,
    recording: Recording | str | bytes,
    *,
    services: Mapping[str, App] | None = None,
    carry_out: CarryOut | None = None,
) -> Replay:
    """Run a recorded reconcile with an operator, and return both runs.

    ``recording`` may be the text of an export with one reconcile. Raises ``ConfigError`` if the operator has no
    reconciler for the object, or if the recording is not complete.

    Without ``services``, apps by URL, a call of ``ctx.http`` fails; without ``carry_out`` so does a
    ``ctx.external_write``.
    """
    if not isinstance(recording, Recording):
        found = load_recordings(recording, source="the recording")
        if len(found) != 1:
            raise ConfigError(f"a recording of one reconcile is needed, not of {len(found)}")
        recording = found[0]
    reconciler = _reconciler_of(operator, recording)
    clock = FakeClock(recording.started)
    server = ApiServer(clock=clock, randomness=Randomness(0))
    async with AsyncExitStack() as stack:
        transport = InMemoryTransport(server, clock=clock)
        stack.push_async_callback(transport.close)
        await _prepare(server, Client(transport, clock=clock), operator, recording)
        doubles = _Doubles(clock)
        stack.push_async_callback(doubles.close)
        for url, app in (services or {}).items():
            doubles.serve(url, app)
        informers = Informers(ApiConnection(transport, clock, Randomness(0)))
        recordings = Recordings()
        client = Client(
            RecordingTransport(_RejectingTransport(transport, recording.writes)),
            field_manager=operator.name,
            clock=clock,
            randomness=Randomness(0),
        )
        options = ControllerOptions(
            client=client,
            informers=informers,
            events=_NoEvents(),
            clock=clock,
            services=doubles,
            carry_out=carry_out or _refuse_external_write,
            history=History(),
            recordings=recordings,
            target=recording.operator,
        )
        controller = Controller(reconciler, options)
        controller.attach()
        await stack.enter_async_context(background(informers.run(), name="informers"))
        await _driven(clock, controller.wait_synced())
        causes = tuple(Cause(cause.type) for cause in recording.causes)
        ran = await _driven(
            clock, controller.run_once(recording.object.key, causes, failures=recording.failures_before)
        )
        if not ran:
            raise ConfigError(f"the recording of {recording.title} does not contain the object itself")
        replayed = recordings.of(recording.object)
        if not replayed:
            last = options.history.last(recording.object)
            reason = "the run was not recorded" if last is None else f"the object does not decode: {last.message}"
            raise ConfigError(f"{recording.object}: {reason}")
        return Replay(recording, replayed[-1])


# The surroundings of a replayed run.


def _reconciler_of(operator: Operator, recording: Recording) -> Reconciler[Any]:
    name = recording.object
    fitting = [one for one in operator.reconcilers if one.resource.gvk.kind == name.kind]
    fitting = [one for one in fitting if name.group in ("", one.resource.gvk.group)]
    if not fitting:
        raise ConfigError(f"the operator {operator.name!r} has no reconciler for {name.kind}")
    return next((one for one in fitting if one.name == recording.controller), fitting[0])


async def _prepare(server: ApiServer, client: Client, operator: Operator, recording: Recording) -> None:
    """Install the operator's definitions, and put every recorded object into the server as it was."""
    clock = server.clock
    assert isinstance(clock, FakeClock)  # noqa: S101 - that of the replay
    await _driven(clock, install_definitions(client, operator_definitions([operator])))
    namespaces = {str(one["metadata"].get("namespace") or "") for one in recording.reads} | {recording.object.namespace}
    for name in sorted(namespaces - {""}):
        _put(
            server, {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}, "status": {"phase": "Active"}}
        )
    for document in recording.reads:
        _put(server, document)


def _put(server: ApiServer, document: JsonObject) -> None:
    group, _, version = str(document["apiVersion"]).rpartition("/")
    served = server.catalog.find_kind(group, version, str(document["kind"]))
    if served is None:
        raise ConfigError(f"the operator does not serve {document['kind']} of {document['apiVersion']}")
    server.objects.put(served, msgspec.json.decode(msgspec.json.encode(document)))


async def _driven(clock: FakeClock, work: Awaitable[T]) -> T:
    """Wait for something that may need time to pass, and let it pass."""
    result: list[T] = []

    async def run() -> None:
        result.append(await work)

    async with background(run(), name="replay") as task:
        while not task.done():
            await clock.settle()
            if not task.done():
                await clock.advance(clock.next_timer() or 0.0)
        await task
    return result[0]


class _NoEvents:
    """Records no events: what a run reports is in its recording."""

    def record(self, obj: KubeObject | Unstructured, type_: EventKind, reason: str, note: str) -> None:
        """Do nothing."""


async def _refuse_external_write(write: str, work: Callable[[], Awaitable[T]]) -> T:
    del work
    raise ConfigError(f"{write} is not carried out in a replay: pass carry_out=")


class _Doubles(HttpServices):
    """Services that apps replace; other services are not called."""

    def _connect(self, endpoint: Endpoint) -> Transport:
        if endpoint not in self._apps:
            raise ConfigError(f"{endpoint} is not called in a replay: pass an app that stands for it as services=")
        return super()._connect(endpoint)


def _with_name(request: Request, name: str) -> Request:
    """Return a request that creates an object under the name that the server gave it in the recorded run."""
    body = msgspec.json.decode(request.body)
    body["metadata"]["name"] = name
    return msgspec.structs.replace(request, body=msgspec.json.encode(body))


class _RejectingTransport(TransportWrapper):
    """Rejects the requests that were rejected in the recorded run, with the same response.

    Objects whose names the server makes get the names that they had in the recorded run.
    """

    def __init__(self, inner: Transport, recorded: Iterable[RecordedWrite]) -> None:
        super().__init__(inner)
        self._recorded = list(recorded)

    async def request(self, request: Request, *, timeout: float | None = DEFAULT_TIMEOUT) -> Response:  # noqa: ASYNC109 - the signature of Transport
        """Send a request, or answer it as it was answered before."""
        if request.method not in SAFE_METHODS and current_notes.get() is not None:
            before = self._take(request)
            if before is not None and before.code == 0:
                raise ConnectionLost("the connection was lost in the recorded run")
            if before is not None and before.code >= _FAILED:
                return Response(
                    before.code, [("content-type", "application/json")], msgspec.json.encode(before.error or {})
                )
            if before is not None and before.generated_name:
                request = _with_name(request, before.generated_name)
        return await self._inner.request(request, timeout=timeout)

    def _take(self, request: Request) -> RecordedWrite | None:
        path = request.target.partition("?")[0]
        found = next((one for one in self._recorded if one.path == path and _METHODS[one.verb] == request.method), None)
        if found is not None:
            self._recorded.remove(found)
        return found


_METHODS: Final = {"create": "POST", "apply": "PATCH", "patch": "PATCH", "update": "PUT", "delete": "DELETE"}


# Comparing.


def _differences(recorded: Recording, replayed: Recording) -> Iterator[str]:
    if _ending(recorded) != _ending(replayed):
        yield f"ended: {_ending(recorded)} → {_ending(replayed)}"
    before, after = _by_target(recorded), _by_target(replayed)
    for target in [*before, *(one for one in after if one not in before)]:
        yield from _compare(target, before.get(target, []), after.get(target, []))
    events = [[f"{one.type} {one.reason}: {one.message}" for one in run.events] for run in (recorded, replayed)]
    yield from (f"event not recorded any more: {one}" for one in events[0] if one not in events[1])
    yield from (f"event: {one}" for one in events[1] if one not in events[0])


def _ending(recording: Recording) -> str:
    if recording.result is Result.DONE:
        return "done"
    return f"{recording.result}{f' ({recording.message})' if recording.message else ''}"


def _by_target(recording: Recording) -> dict[str, list[Any]]:
    """Return the bodies of the requests that had an effect or were rejected, by what they are about."""
    found: dict[str, list[Any]] = {}
    for write in recording.writes:
        if write.has_effect:
            body = _comparable(write.body, recording)
            found.setdefault(f"{write.verb} {_shown(write.path)}", []).append(body)
    return found


def _compare(target: str, before: list[Any], after: list[Any]) -> Iterator[str]:
    for number in range(max(len(before), len(after))):
        if number >= len(after):
            yield f"not sent any more: {target}"
        elif number >= len(before):
            yield f"sent in addition: {target}"
        else:
            yield from (f"{target}: {_change(one)}" for one in _fields(before[number], after[number]))


def _fields(before: Any, after: Any) -> tuple[FieldChange, ...]:
    if before == after:
        return ()
    changes, _ = field_changes({"body": before}, {"body": after})
    return changes


def _change(change: FieldChange) -> str:
    return (
        f"{change.path.removeprefix('body').removeprefix('.')} {change.before or 'absent'} → {change.after or 'absent'}"
    )


def _shown(path: str) -> str:
    """Return a path as people read it: ``configmaps default/a``."""
    parts = path.strip("/").split("/")
    rest = parts[2:] if parts[:1] == ["api"] else parts[3:]
    if rest[:1] == ["namespaces"] and len(rest) > 2:  # noqa: PLR2004 - a name, and what is in it
        return f"{rest[2]} {'/'.join([rest[1], *rest[3:]])}"
    return f"{rest[0]} {'/'.join(rest[1:])}".strip() if rest else path


def _comparable(value: Any, recording: Recording) -> Any:
    """Return a body without what depends on the server and on the moment of the run."""
    if isinstance(value, dict):
        kept = {name: _comparable(one, recording) for name, one in value.items()}
        if isinstance(kept.get("metadata"), dict):
            metadata = {name: one for name, one in kept.pop("metadata").items() if name not in _SERVER_FIELDS}
            kept |= {"metadata": metadata} if metadata else {}
        kept.pop("preconditions", None)
        return kept
    if isinstance(value, list):
        return [_comparable(one, recording) for one in value]
    if isinstance(value, str) and _is_about(value, recording):
        return _NOW
    return value


def _is_about(text: str, recording: Recording) -> bool:
    try:
        moment = parse_time(text)
    except ValueError:
        return False
    end: datetime = recording.started + timedelta(seconds=recording.seconds)
    return recording.started - _ABOUT_NOW <= moment <= end + _ABOUT_NOW
