"""`Controller`: changes become keys, workers take them one at a time and call the author's function.

The way of a change::

    informer ──▶ on_change ──▶ trigger: predicate, mapping ──▶ queue ──▶ worker: _process ──▶ _reconcile ──▶ _settle
                    │                                            ▲            │                                 │
                    └── write barrier: releases held keys ───────┘            ├─ held until its writes are seen │
                                                                              ├─ forgotten: object deleted      │
                                 retry, timer, wait ◀─────────────────────────┴─ left alone, echo, cools down   │
                                      ▲                                                                         │
                                      └─────────────────────────────────────────────────────────────────────────┘

Promises: a key is never worked on twice at the same time; a change that arrives during a run leads to another run; no
run begins before every cache that it reads is complete, or before the caches show what its last run wrote; no object,
failure or bug of the author stops the work on other objects.
"""

import logging
from collections.abc import Callable
from datetime import datetime
from functools import partial
from typing import Any, Generic, TypeVar, assert_never

from msgspec import Struct
from msgspec.structs import replace

from steersman.controller.caches import KindCaches
from steersman.controller.context import Context
from steersman.controller.declaration import Reconciler
from steersman.controller.keys.dynamic_watches import DynamicWatches
from steersman.controller.keys.key_state import KeyState, KeyStates, ReconcileRequest, revision_of
from steersman.controller.keys.ranks import Ranks
from steersman.controller.keys.self_triggers import SelfTriggers
from steersman.controller.keys.waits import Waits
from steersman.controller.keys.write_barrier import WriteBarrier
from steersman.controller.options import ControllerOptions
from steersman.controller.owned import Owned
from steersman.controller.recording.run_log import log_run
from steersman.controller.recording.run_notes import RunNotes, noted
from steersman.controller.recording.run_trace import RunTrace, named
from steersman.controller.references import missing_referents
from steersman.controller.reports.causes import Cause, Part, SpecChange, cause_of
from steersman.controller.reports.failures import ReconcileFailure
from steersman.controller.reports.outcome import (
    Done,
    Failed,
    GaveUp,
    Outcome,
    Outdated,
    Paused,
    RetryLater,
    Stopped,
    Waiting,
)
from steersman.controller.reports.writes import Target, Write
from steersman.controller.run.applied_intents import AppliedIntents
from steersman.controller.run.attempt import Attempt
from steersman.controller.run.contents import Contents
from steersman.controller.run.environment import ReconcileEnvironment
from steersman.controller.run.external_writes import ExternalWrites
from steersman.controller.run.malformed import REASON, mark_malformed
from steersman.controller.run.reconcile_record import RunEnd, RunRecorder, RunTiming, malformed_record
from steersman.controller.run.run_record import RunRecord
from steersman.controller.run.unsent_changes import Snapshot, advice, is_checked
from steersman.controller.run.waiting_state import waiting_state
from steersman.controller.scope import Scope
from steersman.controller.sharded import sharded
from steersman.controller.triggers import Trigger
from steersman.controller.workers import Workers
from steersman.errors import DecodeError, SteersmanError, WaitTimeout, text_of
from steersman.history import records as history
from steersman.history.records import CauseType, Result
from steersman.informer.changes import Added, Change, Deleted, Updated, record_of
from steersman.informer.index import BY_CONTROLLER, by_controller
from steersman.informer.informer import Informer
from steersman.informer.record import Record
from steersman.informer.store import Store
from steersman.informer.subscription import Subscription
from steersman.objects.codec import decode
from steersman.objects.identity import ObjectKey
from steersman.objects.resource import KubeObject, Unstructured, resource_of
from steersman.workqueue.pending import LOW, NORMAL
from steersman.workqueue.queue import WorkQueue

K = TypeVar("K", bound=KubeObject)
C = TypeVar("C", bound=KubeObject)

_log = logging.getLogger("steersman.controller")

#: Retries of a key whose object changed during its run, and the seconds before the first of them.
CONFLICT_RETRIES, CONFLICT_WAIT = 5, 0.01
#: Seconds until a key that waits for an object without a watch is reconciled again.
UNWATCHED_RECHECK = 30.0


class Controller(Generic[K]):
    """Runs one reconciler. Call ``attach``, run the informers, then ``wait_synced``, then ``run``.

    Create all controllers that share informers before the first is attached: they share more caches then.
    """

    def __init__(self, reconciler: Reconciler[K], options: ControllerOptions) -> None:
        self.reconciler = reconciler
        self._options = options
        self._recorder = RunRecorder(options)
        self._clock = options.clock
        self.queue: WorkQueue[ObjectKey, Cause] = WorkQueue(clock=options.clock, observer=options.queue_observer)
        #: The reconciled objects.
        self._own = self._cache(reconciler.kind, reconciler.scope)
        self._open_whole_caches()
        self._caches = KindCaches(reconciler.name, reconciler.kind)
        self._ranks = Ranks(self._own, reconciler.options.priority, self._on_priority_failed)
        self._subscriptions: list[tuple[Trigger, Informer[Any], Subscription]] = []
        self._states = KeyStates()
        self._barrier = WriteBarrier(
            options.clock,
            reconciler.options.hold,
            release=self._put_back,
            on_late=self._doubt_watches,
            on_expired=self._on_hold_expired,
        )
        self._self_triggers = SelfTriggers(reconciler.name, reconciler.resource.gvk)
        self._waits = Waits(options.informers, reconciler.name, self._wake_for, reconciler.options.waits_for)
        self._watches = DynamicWatches(options.informers, reconciler.name, options.namespaces)
        self._applied = AppliedIntents()
        self._contents = Contents()
        self._runs = self._failed_runs = 0
        #: Advice about changes of the author's code that have no effect, each once; tests fail on it.
        self.mistakes: list[str] = []
        self._workers = Workers(reconciler.name, reconciler.options.workers, self._work, options.clock)
        self._environment = ReconcileEnvironment(
            options=options,
            caches=self._caches,
            owned_labels={owned.kind: owned.labels for owned in reconciler.options.owned if owned.labels},
            applied=self._applied,
            contents=self._contents,
            external_writes=ExternalWrites(options.clock, options.fence, options.carry_out),
            watches=self._watches,
            states=self._states,
            wake=self._wake,
        )
        #: Which objects are worked on here; ``None`` if all are.
        self.shards = sharded(self._environment, self._own.store, reconciler.name)

    # Life cycle.

    def attach(self) -> None:
        """Subscribe to every kind that triggers the reconciler; an informer that runs delivers its objects at once."""
        reconciler, own = self.reconciler, self._own
        for trigger in reconciler.triggers(own, self._on_mapping_failed):
            informer = self._cache(trigger.kind, trigger.scope)
            is_owned = isinstance(trigger.scope, Owned)
            self._caches.add(trigger.kind, informer, owned=is_owned)
            if is_owned:
                informer.ensure_record_index(BY_CONTROLLER, by_controller)
            resync = reconciler.options.resync if trigger.scope is reconciler.scope else None
            name = f"{reconciler.name}/{informer.resource.plural}"
            subscription = informer.add_handler(_ChangeListener(self, trigger, informer), name=name, resync=resync)
            self._subscriptions.append((trigger, informer, subscription))

    def _open_whole_caches(self) -> None:
        """Open the caches of whole owned objects: watches of metadata, of this and of other controllers, share them."""
        options = self.reconciler.options
        scopes = [
            *((owned.kind, owned) for owned in options.owned),
            *((watch.kind, watch) for watch in options.watches),
        ]
        for kind, scope in scopes:
            if not scope.is_metadata_only(resource_of(kind)):
                self._cache(kind, scope)

    def _cache(self, kind: type[C], scope: Scope) -> Informer[C]:
        return self._options.informers.get(kind, scope.selection(resource_of(kind), self._options.namespaces))

    async def wait_synced(self, *, within: float | None = None) -> None:
        """Wait until every cache that is not optional is complete; ``WaitTimeout`` names the others, with reasons."""
        try:
            async with self._clock.timeout(within):
                for trigger, _, subscription in self._subscriptions:
                    if not trigger.optional:
                        await subscription.wait_synced()
        except TimeoutError:
            late = [
                informer for trigger, informer, sub in self._subscriptions if not (sub.is_synced or trigger.optional)
            ]
            reasons = "; ".join(f"{informer.resource.gvk}: {informer.freshness().reason}" for informer in late)
            raise WaitTimeout(f"{self.reconciler.name}: caches did not sync in {within} s: {reasons}") from None

    async def run(self) -> None:
        """Work until the queue is shut down or this is cancelled."""
        try:
            await self._workers.run()
        finally:
            self._barrier.close()

    async def drain(self) -> None:
        """Take no more keys, and wait until the current runs have ended."""
        self._barrier.close()
        self.queue.abandon()
        await self.queue.drain()

    def adopt(self, record: Record) -> None:
        """Request the first run of an object whose shard has come here."""
        self._enqueue([record.key], Target(self.reconciler.resource.gvk, record.key), Added(record, is_initial=True))

    def release(self, is_leaving: Callable[[Record], bool]) -> None:
        """Forget the keys of objects whose shard has left; none of their runs may be under way."""
        for record in map(self._own.store.get, self._states.known()):
            if record is not None and is_leaving(record):
                self._forget(record.key)

    def find(self, kind: type[C]) -> Informer[C] | None:
        """Return the cache of a kind that this controller watches."""
        return self._caches.find(kind)

    def required_informers(self) -> list[Informer[Any]]:
        """Return the caches without which nothing can be reconciled."""
        return [informer for trigger, informer, _ in self._subscriptions if not trigger.optional]

    @property
    def held_count(self) -> int:
        """Number of keys that wait for the caches to show their writes."""
        return len(self._barrier)

    @property
    def is_idle(self) -> bool:
        """Whether no key is ready, running or held, and no change waits to be delivered."""
        undelivered = any(subscription.backlog for _, _, subscription in self._subscriptions)
        followed = self._watches.backlog or self._waits.backlog
        return self.queue.is_idle and not self._barrier and not undelivered and not followed

    def worker_problem(self) -> str:
        """Return why fewer workers run than declared; empty if all do."""
        return self._workers.problem()

    # Looking at it.

    @property
    def run_counts(self) -> tuple[int, int]:
        """Number of runs since the controller was created, and of those that failed."""
        return self._runs, self._failed_runs

    @property
    def hot_count(self) -> int:
        """Number of keys that trigger themselves."""
        return self._self_triggers.loop_count

    def failures_of(self, key: ObjectKey) -> int:
        """Return how many runs of a key failed in a row."""
        state = self._states.find(key)
        return 0 if state is None else state.failures

    def waiting_state(self, record: Record, until: datetime | None) -> history.KeyState:
        """Return why a key that is neither ready nor running does not run, or that it has nothing to do."""
        return waiting_state(self._states.find(record.key), record, until, self._clock.monotonic())

    def missing_referents(self, record: Record) -> list[history.ObjectName]:
        """Return the objects that a reconciled one names by a `Reference`, and that the complete caches do not have."""
        return [
            named(informer.resource.gvk, key)
            for trigger, informer, subscription in self._subscriptions
            if subscription.is_synced
            for key in missing_referents(trigger, informer, record)
        ]

    # From a change to a key.

    def reconcile_now(self, key: ObjectKey) -> bool:
        """Request a run of an object, even if its last run gave up; return whether the cache has it."""
        if self._own.store.get(key) is None or (self.shards is not None and self.shards.is_foreign(key)):
            return False
        state = self._states.of(key)
        state.given_up = state.cool_until = None
        self._wake(key)
        return True

    def _wake(self, key: ObjectKey) -> None:
        self._wake_for(key, Cause(CauseType.REQUESTED))

    def _wake_for(self, key: ObjectKey, cause: Cause) -> None:
        self.queue.add(key, priority=self._ranks.priority(key, NORMAL), causes=(cause,))

    def on_change(self, trigger: Trigger, informer: Informer[Any], change: Change) -> None:
        """Handle one change of a watched kind: release held keys, wake waiting ones, and queue the triggered ones."""
        record = record_of(change)
        target = Target(informer.resource.gvk, record.key)
        if self._barrier.unseen and informer is self._caches.find(trigger.kind):
            self._barrier.observe(target, change, informer.store)
        if isinstance(change, Deleted):
            self._applied.forget(target)
            self._contents.forget(target)
        if self._waits:
            self._waits.observe(target, change)
        if self.shards is not None and self.shards.is_for_others(target, record, is_own=trigger.is_own):
            return
        try:
            keys = trigger.keys(change)
        except BaseException as error:  # noqa: BLE001 - an author's mapping must not stop the changes that follow
            failure = error
            self._on_mapping_failed(target.gvk.kind, record.key, failure)
            return
        if not keys and self._is_about_pause(target, change):
            keys = [record.key]
        if keys:
            self._enqueue(keys, target, change)

    def _on_mapping_failed(self, kind: str, key: ObjectKey, error: BaseException) -> None:
        self._report(kind, key, error)
        extra = {"controller": self.reconciler.name, "kind": kind, "key": str(key)}
        _log.error(
            "the mapping of a watched kind failed: the keys to reconcile are unknown", exc_info=error, extra=extra
        )

    def _on_priority_failed(self, key: ObjectKey, error: BaseException) -> None:
        self._report(self.reconciler.resource.gvk.kind, key, error)
        extra = {"controller": self.reconciler.name, "key": str(key)}
        _log.error("the priority of an object is unknown: it gets 0", exc_info=error, extra=extra)

    def _is_about_pause(self, target: Target, change: Change) -> bool:
        """Return whether an update may end the pause of an object, whatever the author's predicate says about it."""
        if not isinstance(change, Updated) or target.gvk != self.reconciler.resource.gvk:
            return False
        state = self._states.find(target.key)
        is_paused = state is not None and bool(state.paused)
        return is_paused and change.old.annotations_digest != change.new.annotations_digest

    def _enqueue(self, keys: list[ObjectKey], target: Target, change: Change) -> None:
        cause = cause_of(target.gvk, change)
        if isinstance(change, Updated) and Part.SPEC in cause.parts and target.gvk == self.reconciler.resource.gvk:
            cause = replace(cause, change=SpecChange(change.old, change.new))
        priority = LOW if cause.type in (CauseType.EXISTS, CauseType.RESYNC) else NORMAL
        for key in keys if self.shards is None else self.shards.mine(keys):
            if isinstance(change, Updated):
                self._self_triggers.note_change(self._states.find(key), target, change.old, change.new)
            self.queue.add(key, priority=self._ranks.priority(key, priority), causes=(cause,))

    # Working.

    async def _work(self) -> None:
        while (request := await self.queue.get()) is not None:
            try:
                await self._process(request)
            except BaseException as error:
                if self._workers.is_the_end(error):
                    raise
                await self._workers.recover(error, "a worker failed outside the reconciler; the object is retried")
                self._retry(request, None, type(error).__name__)
            finally:
                self.queue.done(request.key)

    async def _process(self, request: ReconcileRequest) -> None:
        key = request.key
        state = self._states.of(key)
        if self._barrier.hold(state, request):
            return
        record = self._own.store.get(key)
        if record is None or (self.shards is not None and not self.shards.keys.begin(record.uid)):
            self._forget(key)
            return
        try:
            if not (
                self._is_left_alone(state, record)
                or self._self_triggers.is_echo(request)
                or self._cools_down(state, request)
            ):
                await self._reconcile(state, request, record)
        finally:
            if self.shards is not None:
                self.shards.keys.end(record.uid)

    async def run_once(self, key: ObjectKey, causes: tuple[Cause, ...], *, failures: int = 0) -> bool:
        """Reconcile an object of the cache now, in this task and whatever the queue says; return whether it is there.

        For replays: no worker may run. ``failures`` is how many runs before it failed in a row.
        """
        record = self._own.store.get(key)
        if record is None:
            return False
        state = self._states.of(key)
        state.failures = failures
        await self._reconcile(state, ReconcileRequest(key, NORMAL, causes, 0), record)
        return True

    async def _reconcile(self, state: KeyState, request: ReconcileRequest, record: Record) -> None:
        try:
            obj = decode(self.reconciler.kind, record.data)
        except DecodeError as error:
            await self._on_malformed(state, record, error)
            return
        self._runs += 1
        state.runs += 1
        notes = None if self._options.recordings is None else RunNotes()
        trace = RunTrace.begin(self._clock)
        run = RunRecord(obj, self._caches, partial(self._on_write, state), self._options.secrets, trace, notes=notes)
        ctx = self._context(run, request, state.runs)
        ended = RunEnd(
            self.reconciler.name,
            state,
            request,
            run,
            state.failures,
            state.is_stale,
            self._recorder.span(obj, trace.started),
        )
        state.is_stale = False
        snapshot = Snapshot(obj) if is_checked(self._runs) else None
        attempt = Attempt(
            self.reconciler, run, ctx, self._clock, failures=state.failures, is_stopping=self._workers.is_stopping
        )
        try:
            outcome = await (attempt.run() if notes is None else noted(attempt.run(), notes))
        except BaseException:
            self._recorder.record(
                ended, Stopped(), RunTiming(trace.started, trace.began, self._clock.monotonic() - trace.began)
            )
            raise
        now = self._clock.monotonic()
        if isinstance(outcome, RetryLater):
            # The reason is a cause of the next run, which may not have read the Secrets that it quotes.
            outcome = RetryLater(run.mask(outcome.reason), outcome.after)
        self._self_triggers.ran(state, request, run.changed, now)
        if snapshot is not None and not run.wrote_itself:
            self._look_for_mistakes(snapshot)
        if isinstance(outcome, Done):
            self._watches.keep(state, run.followed)
        self._settle(state, request, outcome, record, ctx)
        key = state.key
        seconds = now - trace.began
        timing = RunTiming(trace.started, trace.began, seconds, self.queue.waited(key), self.queue.due_at(key))
        recorded = self._recorder.record(ended, outcome, timing)
        if recorded is not None and (recorded.result is not Result.DONE or _log.isEnabledFor(logging.DEBUG)):
            log_run(ctx.log, recorded)

    def _look_for_mistakes(self, snapshot: Snapshot) -> None:
        """Log once which changes of the author's code have no effect."""
        changed = snapshot.changed()
        mistake = advice(self.reconciler.resource.gvk.kind, changed) if changed else ""
        if mistake and mistake not in self.mistakes:
            self.mistakes.append(mistake)
            _log.warning("changes without effect: %s", mistake, extra={"controller": self.reconciler.name})

    def _on_write(self, state: KeyState, target: Target, write: Write, store: Store, *, changed: bool) -> None:
        # A write that changed nothing returns a version that another writer created: it is not our own.
        if changed or not write.version:
            self._self_triggers.wrote(target, write)
        if self.shards is not None:
            self.shards.keys.wrote(str(target.gvk), write.version)
        self._barrier.wrote(state, target, write, store)

    def _context(self, run: RunRecord[K], request: ReconcileRequest, number: int) -> Context[K]:
        fields = {
            "controller": self.reconciler.name,
            "kind": self.reconciler.resource.gvk.kind,
            "key": str(request.key),
            "reconcile": number,
        }
        if cluster := self._environment.options.cluster:
            fields["cluster"] = cluster
        return Context(run, self._environment_of(run.obj.uid), why=request.causes, fields=fields)

    def _environment_of(self, uid: str) -> ReconcileEnvironment:
        return self._environment if self.shards is None else self.shards.environment(uid)

    # After a run.

    def _settle(
        self, state: KeyState, request: ReconcileRequest, outcome: Outcome, record: Record, ctx: Context[K]
    ) -> None:
        """Decide when the key runs again."""
        self._count(state, outcome)
        self._failed_runs += isinstance(outcome, (Failed, GaveUp))
        match outcome:
            case Done(again_after):
                self._on_done(state.key, again_after)
            case RetryLater(reason, after):
                self._retry(request, after, reason)
            case Outdated(error):
                self._on_conflict(state, request, str(error), ctx)
            case GaveUp():
                self.queue.forget(state.key)
                state.given_up = revision_of(record)
            case Waiting() | Paused():
                self._on_waiting(state, outcome)
            case Failed(error):
                self._on_failure(request, error, ctx)
            case Stopped():
                pass
            case _:
                assert_never(outcome)

    def _count(self, state: KeyState, outcome: Outcome) -> None:
        """Count failures in a row, and end the wait of a key that does not wait any more."""
        if isinstance(outcome, Outdated):
            return
        state.conflicts = 0
        if state.recheck_due is not None:
            # This run has looked already. A timer that is left would start a superfluous one, and be shown as the next.
            self.queue.cancel(state.key, state.recheck_due)
            state.recheck_due = None
        state.paused = outcome.message if isinstance(outcome, Paused) else ""
        if isinstance(outcome, (Failed, RetryLater)):
            state.failures += 1
            return
        state.failures = 0
        if not isinstance(outcome, Waiting):
            self._waits.forget(state)

    def _on_done(self, key: ObjectKey, again_after: float | None) -> None:
        self.queue.forget(key)
        if again_after is not None:
            priority = self._ranks.priority(key, NORMAL)
            self.queue.add_after(key, again_after, priority=priority, causes=(Cause(CauseType.TIMER),))

    def _on_waiting(self, state: KeyState, outcome: Waiting | Paused) -> None:
        self.queue.forget(state.key)
        if isinstance(outcome, Paused):
            if outcome.again_after is not None:
                self._recheck(state, outcome.again_after)
            return
        cache = self._caches.complete(outcome.kind, outcome.key.namespace)
        store = cache.store if cache is not None else None
        watched = self._waits.wait(state, outcome.kind, outcome.key, store, outcome.seen)
        self._recheck(state, outcome.recheck if watched else min(outcome.recheck, UNWATCHED_RECHECK))

    def _recheck(self, state: KeyState, seconds: float) -> None:
        """Run a key again after some time, unless another run makes that superfluous."""
        priority, causes = self._ranks.priority(state.key, NORMAL), (Cause(CauseType.TIMER),)
        state.recheck_due = self.queue.add_recheck(state.key, seconds, priority=priority, causes=causes)

    def _on_failure(self, request: ReconcileRequest, error: BaseException, ctx: Context[K]) -> None:
        self._report(self.reconciler.resource.gvk.kind, request.key, error)
        seconds = self._retry(request, None, type(error).__name__)
        why = [str(cause) for cause in request.causes]
        # Errors of servers and networks need no traceback; those of the author's code do.
        trace = None if isinstance(error, SteersmanError) else error
        text = f"{type(error).__name__}: {text_of(error)}"
        ctx.log.error("reconcile failed", exc_info=trace, extra={"error": text, "retry_in": seconds, "why": why})

    def _report(self, kind: str, key: ObjectKey, error: BaseException) -> None:
        self._options.on_failure(ReconcileFailure(self.reconciler.name, kind, key, error))

    def _retry(self, request: ReconcileRequest, after: float | None, reason: str) -> float:
        causes = (Cause(CauseType.RETRY, reason=reason),)
        if after is None:
            return self.queue.add_rate_limited(request.key, priority=request.priority, causes=causes)
        self.queue.forget(request.key)
        self.queue.add_after(request.key, after, priority=request.priority, causes=causes)
        return after

    def _on_conflict(self, state: KeyState, request: ReconcileRequest, message: str, ctx: Context[K]) -> None:
        state.conflicts += 1
        if state.conflicts <= CONFLICT_RETRIES:
            self.queue.add_after(
                state.key,
                CONFLICT_WAIT * state.conflicts,
                priority=request.priority,
                causes=(Cause(CauseType.RETRY, reason="Conflict"),),
            )
            return
        state.failures += 1
        seconds = self._retry(request, None, "Conflict")
        ctx.log.warning("reconcile keeps conflicting", extra={"error": message, "retry_in": seconds})

    # Keys that wait, or are left alone.

    def _put_back(self, request: ReconcileRequest) -> None:
        self.queue.add(request.key, priority=request.priority, causes=request.causes)

    def _doubt_watches(self, missing: list[Target]) -> None:
        for target in missing:
            for _, informer, _ in self._subscriptions:
                if informer.resource.gvk == target.gvk:
                    informer.doubt_watch(target.key.namespace)

    def _on_hold_expired(self, key: ObjectKey, missing: list[Target]) -> None:
        self._states.of(key).is_stale = True
        _log.warning(
            "the cache does not show what was written; reconciling without it",
            extra={"controller": self.reconciler.name, "key": str(key), "missing": [str(target) for target in missing]},
        )

    def _cools_down(self, state: KeyState, request: ReconcileRequest) -> bool:
        """Delay a key that triggers itself; return whether that was necessary."""
        if state.cool_until is None:
            return False
        seconds = self._self_triggers.seconds_to_wait(state, request, self._clock.monotonic())
        if not seconds:
            return False
        self.queue.add_after(state.key, seconds, priority=request.priority, causes=request.causes)
        return True

    @staticmethod
    def _is_left_alone(state: KeyState, record: Record) -> bool:
        if state.given_up is None:
            return False
        if state.given_up == revision_of(record) and not record.is_deleting:
            return True
        state.given_up = None
        return False

    def _forget(self, key: ObjectKey) -> None:
        """Drop everything that is remembered about the key of a deleted object."""
        self.queue.forget(key)
        state = self._states.drop(key)
        if state is not None:
            self._barrier.forget(state)
            self._self_triggers.forget(state)
            self._waits.forget(state)
            self._watches.forget(state)

    async def _on_malformed(self, state: KeyState, record: Record, error: DecodeError) -> None:
        state.given_up = revision_of(record)
        gvk = self.reconciler.resource.gvk
        extra = {"controller": self.reconciler.name, "kind": gvk.kind, "key": str(record.key), "error": str(error)}
        state.runs += 1
        name, at = named(gvk, record.key), self._clock.now()
        self._options.history.add(
            malformed_record(self.reconciler.name, name, record, str(error), number=state.runs, at=at)
        )
        _log.warning("an object does not decode and is not reconciled until it changes", extra=extra)
        options = self._environment_of(record.uid).options
        options.events.record(decode(Unstructured, record.data), "Warning", REASON, str(error))
        failure = await mark_malformed(
            options.client.status, self.reconciler.resource, record.data, str(error), options.clock
        )
        if failure is not None:
            _log.warning("cannot set the condition of a malformed object", extra={**extra, "error": str(failure)})

    def __repr__(self) -> str:
        return f"<Controller {self.reconciler.name} {self.queue!r} held={len(self._barrier)}>"


class _ChangeListener(Struct, frozen=True):
    """The handler of one trigger at one informer."""

    controller: Controller[Any]
    trigger: Trigger
    informer: Informer[Any]

    def __call__(self, change: Change) -> None:
        self.controller.on_change(self.trigger, self.informer, change)
