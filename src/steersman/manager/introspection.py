"""`LiveIntrospection`: a running operator as ``steer why`` and the web view see it.

It only reads: stores, queues and states, as they are at the moment of the question. Views in other threads may see two
of them a moment apart; each by itself is consistent.
"""

from collections.abc import Callable, Iterable
from datetime import datetime, timedelta
from typing import Any

from msgspec import Struct, field
from msgspec.structs import replace

from steersman.clock import Clock
from steersman.controller.controller import Controller
from steersman.errors import DecodeError
from steersman.history.history import History
from steersman.history.recordings import Recording, Recordings
from steersman.history.records import (
    ConditionRecord,
    KeyPhase,
    KeyState,
    ObjectName,
    ObjectView,
    ReplicaRecord,
    WebhookCall,
)
from steersman.history.state import (
    CacheState,
    ControllerState,
    LeadershipState,
    ObjectSummary,
    Overview,
    TreeNode,
    WebhookState,
)
from steersman.informer.informer import Informer
from steersman.informer.record import Record
from steersman.objects.codec import decode_as
from steersman.objects.identity import GroupVersionKind
from steersman.version import __version__
from steersman.workqueue.pending import Place

#: Levels of owners and children that a tree shows.
_DEPTH = 4
#: The lowest HTTP status of a review without an answer.
_FAILED = 400


class _Condition(Struct):
    type: str = ""
    status: str = ""
    reason: str | None = None
    message: str | None = None


class _Status(Struct, rename="camel"):
    conditions: list[_Condition] | None = field(default_factory=list)
    observed_generation: int | None = None
    phase: str | None = None


class _Shown(Struct):
    """The part of an object that views show."""

    status: _Status | None = None


class OperatorFacts(Struct, frozen=True):
    """What does not change while a manager runs."""

    operators: tuple[str, ...]
    cluster: str
    namespaces: tuple[str, ...]
    started: datetime
    recordings: Recordings | None = None


class LiveIntrospection:
    """The controllers and caches of one manager; they may be added after this was created."""

    def __init__(
        self,
        facts: OperatorFacts,
        history: History,
        clock: Clock,
        *,
        controllers: Callable[[], Iterable[Controller[Any]]],
        informers: Callable[[], Iterable[Informer[Any]]],
        leadership: Callable[[], LeadershipState | None],
    ) -> None:
        self.history = history
        self._facts = facts
        self._clock = clock
        self._controllers = controllers
        self._informers = informers
        self._leadership = leadership

    def overview(self) -> Overview:
        """Return the state of the whole."""
        return Overview(
            operators=self._facts.operators,
            version=__version__,
            cluster=self._facts.cluster,
            namespaces=self._facts.namespaces,
            started=self._facts.started,
            now=self._clock.now(),
            leadership=self._leadership_state(),
            controllers=tuple(map(self._controller_state, self._controllers())),
            caches=tuple(map(_cache_state, self._informers())),
            webhooks=_webhook_states(self.history.calls()),
            remembered=len(self.history),
            remembered_bytes=self.history.bytes,
        )

    def _leadership_state(self) -> LeadershipState | None:
        state, changes = self._leadership(), self.history.leadership()
        if state is None or not changes or changes[-1].is_leader is not state.is_leader:
            return state
        return replace(state, since=changes[-1].at, reason=changes[-1].reason)

    def summaries(self) -> list[ObjectSummary]:
        """Return every reconciled object."""
        return [
            self._summary(controller, record)
            for controller in self._controllers()
            for record in _records(controller.find(controller.reconciler.kind))
        ]

    def view(self, name: ObjectName) -> ObjectView:
        """Return all that is known of one object; one that is not there has ``exists`` false."""
        return self._with_events(self._view(name))

    def _with_events(self, view: ObjectView) -> ObjectView:
        """Return a view with the reviews of the object, and with changes of leadership around them and its runs."""
        reviews = tuple(call for call in self.history.calls() if call.object == view.object)
        times = [*(one.started for one in reviews[:1]), *(one.started for one in view.reconciles[:1])]
        changes = self.history.leadership() if times else []
        before = sum(change.at <= min(times) for change in changes)
        return replace(view, reviews=reviews, leadership=tuple(changes[max(before - 1, 0) :]))

    def _view(self, name: ObjectName) -> ObjectView:
        absent = self._absent(name)
        for controller in self._controllers():
            gvk = controller.reconciler.resource.gvk
            if not _is_called(name, gvk):
                continue
            full = name._replace(group=gvk.group)
            reconciles = tuple(self.history.of(full))
            cache = controller.find(controller.reconciler.kind)
            record = cache.store.get(name.key) if cache is not None else None
            if record is None:
                if reconciles or not absent.object.group:
                    absent = self._absent(full)
                continue
            shown = _shown(record)
            return ObjectView(
                object=full,
                is_deleting=record.is_deleting,
                generation=record.generation,
                observed_generation=shown.observed_generation,
                conditions=_conditions(shown),
                state=replace(self._key_state(controller, record), missing=tuple(controller.missing_referents(record))),
                reconciles=reconciles,
                cluster=self._facts.cluster,
                replica=self._replica(controller, record),
            )
        return absent

    def _absent(self, name: ObjectName) -> ObjectView:
        state, reconciles = self._leadership(), tuple(self.history.of(name))
        replica = None if state is None else ReplicaRecord(lease=state.lease, identity=state.identity)
        return ObjectView(
            object=name, exists=False, reconciles=reconciles, cluster=self._facts.cluster, replica=replica
        )

    def _replica(self, controller: Controller[Any], record: Record) -> ReplicaRecord | None:
        """Return which replica this is, and whether it reconciles an object; ``None`` without an election."""
        state = self._leadership()
        if state is None:
            return None
        found = ReplicaRecord(lease=state.lease, identity=state.identity, is_working=state.is_leader)
        if controller.shards is None:
            return found
        shard = controller.shards.keys.shard(record.uid)
        is_working = state.is_leader and controller.shards.keys.is_mine(record)
        return replace(found, is_working=is_working, shard=shard, shards=state.shard_count)

    def recordings(self, name: ObjectName) -> list[Recording] | None:
        """Return what the newest reconciles of an object read and sent; ``None`` if that is not recorded."""
        kept = self._facts.recordings
        return None if kept is None else kept.of(self.view(name).object)

    def tree(self, name: ObjectName) -> TreeNode | None:
        """Return an object and what it owns, as far as the caches show it; ``None`` if it is not there."""
        for informer in self._informers():
            gvk = informer.resource.gvk
            if _is_called(name, gvk) and (record := informer.store.get(name.key)) is not None:
                return self._node(gvk, record, _DEPTH)
        return None

    def _node(self, gvk: GroupVersionKind, record: Record, depth: int) -> TreeNode:
        shown = _shown(record)
        ready = next((one for one in _conditions(shown) if one.type in ("Ready", "Available")), None)
        return TreeNode(
            object=ObjectName(gvk.kind, *record.key, gvk.group),
            ready=ready.status if ready is not None else "",
            detail=(ready.message if ready is not None else "") or shown.phase or "",
            children=tuple(self._children(record, depth - 1)) if depth else (),
        )

    def _children(self, owner: Record, depth: int) -> Iterable[TreeNode]:
        seen: set[str] = set()
        for informer in self._informers():
            for record in informer.store.records():
                if record.uid not in seen and any(one.uid == owner.uid for one in record.owners):
                    seen.add(record.uid)
                    yield self._node(informer.resource.gvk, record, depth)

    def _controller_state(self, controller: Controller[Any]) -> ControllerState:
        gvk, resource = controller.reconciler.resource.gvk, controller.reconciler.resource
        keys: dict[KeyPhase, int] = {}
        failing = 0
        for record in _records(controller.find(controller.reconciler.kind)):
            phase = self._key_state(controller, record).phase
            keys[phase] = keys.get(phase, 0) + 1
            failing += controller.failures_of(record.key) > 0
        runs, failures = controller.run_counts
        return ControllerState(
            name=controller.reconciler.name,
            kind=gvk.kind,
            api_version=gvk.api_version,
            plural=resource.plural,
            workers=controller.reconciler.options.workers,
            keys={phase: count for phase, count in keys.items() if phase is not KeyPhase.IDLE},
            failing=failing,
            runs=runs,
            failures=failures,
        )

    def _summary(self, controller: Controller[Any], record: Record) -> ObjectSummary:
        gvk = controller.reconciler.resource.gvk
        name = ObjectName(gvk.kind, *record.key, gvk.group)
        shown, state, last = _shown(record), self._key_state(controller, record), self.history.last(name)
        summary = ObjectSummary(
            object=name,
            ready=next((one for one in _conditions(shown) if one.type == "Ready"), None),
            is_deleting=record.is_deleting,
            phase=state.phase,
            until=state.until,
            failures=controller.failures_of(record.key),
            is_foreign=(replica := self._replica(controller, record)) is not None and not replica.is_working,
        )
        if last is None:
            return summary
        return replace(summary, last=last.started, result=last.result, message=last.message)

    def _key_state(self, controller: Controller[Any], record: Record) -> KeyState:
        place, due = controller.queue.place_of(record.key), controller.queue.due_at(record.key)
        until = None if due is None else self._moment(due)
        match place:
            case Place.RUNNING:
                return KeyState(KeyPhase.RUNNING)
            case Place.READY:
                return KeyState(KeyPhase.QUEUED)
            case _:
                return controller.waiting_state(record, until)

    def _moment(self, monotonic: float) -> datetime | None:
        try:
            return self._clock.now() + timedelta(seconds=max(monotonic - self._clock.monotonic(), 0.0))
        except OverflowError:  # further away than the calendar
            return None


def _is_called(name: ObjectName, gvk: GroupVersionKind) -> bool:
    """Return whether a name is of that kind; without a group it is of any."""
    return name.kind == gvk.kind and name.group in ("", gvk.group)


def _records(informer: Informer[Any] | None) -> list[Record]:
    return [] if informer is None else informer.store.records()


def _shown(record: Record) -> _Status:
    try:
        return decode_as(_Shown, record.data).status or _Status()
    except DecodeError:
        return _Status()


def _conditions(status: _Status) -> tuple[ConditionRecord, ...]:
    return tuple(
        ConditionRecord(one.type, one.status, one.reason or "", one.message or "") for one in status.conditions or ()
    )


def _webhook_states(calls: list[WebhookCall]) -> tuple[WebhookState, ...]:
    found: dict[str, list[WebhookCall]] = {}
    for call in calls:
        found.setdefault(call.webhook, []).append(call)
    return tuple(
        WebhookState(
            webhook=webhook,
            reviews=len(reviews),
            denied=sum(one.is_allowed is False for one in reviews),
            failed=sum(one.status >= _FAILED for one in reviews),
            slowest=max(one.seconds for one in reviews),
            last=max(one.started for one in reviews),
        )
        for webhook, reviews in sorted(found.items())
    )


def _cache_state(informer: Informer[Any]) -> CacheState:
    gvk, freshness, selection = informer.resource.gvk, informer.freshness(), informer.selection
    return CacheState(
        kind=gvk.kind,
        api_version=gvk.api_version,
        namespaces=selection.namespaces,
        selector=selection.text,
        is_metadata_only=selection.metadata_only,
        objects=len(informer),
        bytes=informer.store.bytes,
        age=freshness.age,
        is_synced=freshness.is_synced,
        reason=freshness.reason,
    )
