"""The controller: changes become keys, workers take them one at a time, the author's function is called.

Promises: a key is never worked on twice at the same time; a change that comes during a run leads to another run; no run
begins before every cache it reads is complete, or before the caches have what its last run wrote; no object, failure or
author's bug stops the others.
"""

import logging
from typing import Any, Generic, TypeVar, assert_never

from msgspec import Struct

from steersman.client.client import Client
from steersman.clock import Clock
from steersman.controller.context import Context
from steersman.controller.declaration import Reconciler
from steersman.controller.keys.dynamic_watches import DynamicWatches
from steersman.controller.keys.expectations import Target, Write
from steersman.controller.keys.field_changes import changed_fields
from steersman.controller.keys.key_state import Memories
from steersman.controller.keys.self_triggers import SelfTriggers
from steersman.controller.keys.waits import Waits
from steersman.controller.keys.write_barrier import Holds, Wanted
from steersman.controller.reports.causes import Cause, What, cause_of
from steersman.controller.reports.failures import FailureListener, ReconcileFailure, ignore_failure
from steersman.controller.reports.observer import ControllerObserver, NoObserver
from steersman.controller.reports.outcome import Done, Failed, GaveUp, Outcome, Outdated, RetryLater, Stopped, Waiting
from steersman.controller.run.applied_intents import AppliedIntents
from steersman.controller.run.attempt import Attempt, describe
from steersman.controller.run.environment import Events, Surroundings
from steersman.controller.run.external_writes import CarryOut, ExternalWrites, carry_out_at_once
from steersman.controller.run.malformed import REASON, mark_malformed
from steersman.controller.run.run_record import RunRecord
from steersman.controller.run.unsent_changes import Snapshot, advice, is_looked_at
from steersman.controller.triggers import Trigger
from steersman.controller.workers import Workers
from steersman.errors import DecodeError, SteersmanError, WaitTimeout, text_of
from steersman.informer.changes import Change, Deleted, Updated, record_of
from steersman.informer.index import BY_CONTROLLER, by_controller
from steersman.informer.informer import Informer, Selection
from steersman.informer.informers import Informers
from steersman.informer.record import Record
from steersman.informer.subscription import Subscription
from steersman.objects.codec import decode
from steersman.objects.identity import ObjectKey
from steersman.objects.resource import KubeObject, Unstructured, resource_of
from steersman.protocol.http import WriteFence
from steersman.transport.services import HttpServices
from steersman.workqueue.pending import LOW, NORMAL
from steersman.workqueue.queue import QueueObserver, WorkQueue

K = TypeVar("K", bound=KubeObject)
C = TypeVar("C", bound=KubeObject)

_log = logging.getLogger("steersman.controller")

#: How often a key whose object had changed meanwhile is tried again at once, and after how many seconds each.
CONFLICT_RETRIES, CONFLICT_WAIT = 5, 0.01
#: Seconds until a key looks again at an object that it waits for and that no watch shows.
UNWATCHED_RECHECK = 30.0


_NO_OBSERVER = NoObserver()


class ControllerOptions(Struct, frozen=True, kw_only=True):
    """What a controller is made with."""

    #: Writes under the operator's own field manager.
    client: Client
    informers: Informers
    events: Events
    clock: Clock
    #: What reconcilers call beside the cluster.
    services: HttpServices
    #: Checked right before each write to another system; ``None`` without leader election.
    fence: WriteFence | None = None
    #: Carries out writes to other systems.
    carry_out: CarryOut = carry_out_at_once
    #: The namespaces to look at; none of them means all.
    namespaces: tuple[str, ...] = ()
    observer: ControllerObserver = _NO_OBSERVER
    #: Notified of each exception that an author's function raises unexpectedly.
    on_failure: FailureListener = ignore_failure
    queue_observer: QueueObserver | None = None


class Controller(Generic[K]):
    """Runs one reconciler. ``attach`` it, let the informers run, ``wait_synced``, then ``run``."""

    def __init__(self, reconciler: Reconciler[K], parts: ControllerOptions) -> None:
        self.reconciler = reconciler
        self._parts = parts
        self._clock = parts.clock
        self._observer = parts.observer
        self.queue: WorkQueue[ObjectKey, Cause] = WorkQueue(clock=parts.clock, observer=parts.queue_observer)
        self._informers: dict[type[KubeObject], Informer[Any]] = {}
        self._subscriptions: list[tuple[Trigger, Informer[Any], Subscription]] = []
        self._holds = Holds(parts.clock, reconciler.options.hold, self._put_back)
        self._holds.on_expired = self._on_hold_expired
        self._own = SelfTriggers(reconciler.name, reconciler.resource.gvk.kind, parts.observer)
        #: Objects that are left alone until their uid or generation is another.
        self._given_up: dict[ObjectKey, tuple[str, object]] = {}
        self._conflicts: dict[ObjectKey, int] = {}
        self._runs = 0
        #: Advice about what the author's code does without effect, each once; tests fail on it.
        self.mistakes: list[str] = []
        #: Runs of each key that failed in a row, counting those that asked for a retry.
        self._failing: dict[ObjectKey, int] = {}
        self._followings = DynamicWatches(parts.informers, reconciler.name, parts.namespaces)
        self._waits = Waits(parts.informers, reconciler.name, self._wake_for, reconciler.options.waits_for)
        self._workers = Workers(reconciler.name, reconciler.options.workers, self._work, parts.clock)
        self._surroundings = Surroundings(
            client=parts.client,
            caches=self,
            clock=parts.clock,
            events=parts.events,
            applied=AppliedIntents(),
            services=parts.services,
            external_writes=ExternalWrites(
                parts.clock, parts.fence, parts.carry_out, parts.observer.external_write_ended
            ),
            followings=self._followings,
            memories=Memories(),
            wake=self._wake,
        )

    # Life.

    def attach(self) -> None:
        """Subscribe to every kind that triggers it; informers that run already tell it at once."""
        own = self._parts.informers.get(self.reconciler.kind, self._selection(self.reconciler.kind))
        for trigger in self.reconciler.triggers(own):
            informer = self._parts.informers.get(trigger.kind, self._selection(trigger.kind))
            self._informers.setdefault(trigger.kind, informer)
            resync = self.reconciler.options.resync if trigger.kind is self.reconciler.kind else None
            name = f"{self.reconciler.name}/{informer.resource.plural}"
            subscription = informer.add_handler(_Listener(self, trigger, informer), name=name, resync=resync)
            self._subscriptions.append((trigger, informer, subscription))
        for owned in self.reconciler.options.owns:
            self._informers[owned].ensure_record_index(BY_CONTROLLER, by_controller)

    async def wait_synced(self, *, within: float | None = None) -> None:
        """Wait until every kind that is not optional is complete; the ``WaitTimeout`` says which is not, and why."""
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
            self._holds.close()

    async def drain(self) -> None:
        """Take nothing new, and wait until what is under way is done."""
        self._holds.close()
        self.queue.abandon()
        await self.queue.drain()

    def find(self, kind: type[C]) -> Informer[C] | None:
        """Give the replica of a kind that this controller watches."""
        return self._informers.get(kind)

    def required_informers(self) -> list[Informer[Any]]:
        """Give the replicas without which nothing can be reconciled."""
        return [informer for trigger, informer, _ in self._subscriptions if not trigger.optional]

    @property
    def held_count(self) -> int:
        """How many keys wait for the caches to see what they wrote."""
        return len(self._holds)

    @property
    def is_idle(self) -> bool:
        """Whether nothing is ready, under way, held back or waiting to be delivered."""
        waiting = any(subscription.backlog for _, _, subscription in self._subscriptions)
        followed = self._followings.backlog or self._waits.backlog
        return self.queue.is_idle and not self._holds and not waiting and not followed

    def worker_problem(self) -> str:
        """Return why fewer workers work than there should be; empty if all do."""
        return self._workers.problem()

    def _selection(self, kind: type[KubeObject]) -> Selection:
        namespaced = resource_of(kind).namespaced
        own = kind is self.reconciler.kind
        return Selection(
            namespaces=self._parts.namespaces if namespaced else (),
            label_selector=self.reconciler.options.selector if own else "",
        )

    # From a change to a key.

    def _wake(self, key: ObjectKey) -> None:
        self._wake_for(key, Cause(What.ASKED))

    def _wake_for(self, key: ObjectKey, cause: Cause) -> None:
        self.queue.add(key, priority=NORMAL, causes=(cause,))

    def on_change(self, trigger: Trigger, informer: Informer[Any], change: Change) -> None:
        """Take in one change of a watched kind."""
        record = record_of(change)
        target = Target(informer.resource.gvk, record.key)
        self._holds.observe(target, change, informer)
        if isinstance(change, Deleted):
            self._surroundings.applied.forget(target)
        if self._waits:
            self._waits.observe(target, change)
        try:
            keys = trigger.keys(change)
        except BaseException as error:  # noqa: BLE001 - an author's mapping must not stop the changes that follow
            failure = error
            self._report(target.gvk.kind, record.key, error)
            _log.error(
                "the mapping of a watched kind failed: what the change asks for is not known",
                exc_info=failure,
                extra={"controller": self.reconciler.name, "kind": target.gvk.kind, "key": str(record.key)},
            )
            return
        if keys:
            self._enqueue(keys, target, change)

    def _enqueue(self, keys: list[ObjectKey], target: Target, change: Change) -> None:
        cause = cause_of(target.gvk.kind, change)
        priority = LOW if cause.what in (What.EXISTS, What.RESYNC) else NORMAL
        for key in keys:
            if isinstance(change, Updated) and self._own.hot.is_suspect(key, target):
                self._own.hot.note_fields(key, target, changed_fields(change.old, change.new))
            self.queue.add(key, priority=priority, causes=(cause,))

    # Working.

    async def _work(self) -> None:
        while (taken := await self.queue.get()) is not None:
            try:
                await self._process(taken)
            except BaseException as error:
                if self._workers.is_the_end(error):
                    raise
                await self._workers.recover(error, "a worker failed outside the reconciler; the object is tried again")
                self._retry(taken, None, type(error).__name__)
            finally:
                self.queue.done(taken.key)

    async def _process(self, taken: Wanted) -> None:
        key = taken.key
        if self._holds.hold(taken):
            return
        record = self._informers[self.reconciler.kind].store.get(key)
        if record is None:
            self._forget(key)
        elif not (self._is_left_alone(record) or self._own.is_echo(taken) or self._cools_down(taken)):
            await self._reconcile(taken, record)

    async def _reconcile(self, taken: Wanted, record: Record) -> None:
        try:
            obj = decode(self.reconciler.kind, record.data)
        except DecodeError as error:
            await self._on_malformed(record, error)
            return
        self._runs += 1
        written: list[Target] = []
        run = self._run_record(obj, taken.key, written)
        ctx = self._context(run, taken)
        started = self._clock.monotonic()
        self._observer.began()
        snapshot = Snapshot(obj) if is_looked_at(self._runs) else None
        outcome: Outcome = Stopped()
        try:
            failures = self._failing.get(taken.key, 0)
            attempt = Attempt(
                self.reconciler, run, ctx, self._clock, failures=failures, is_stopping=self._workers.is_stopping
            )
            outcome = await attempt.run()
        finally:
            self._observer.ended(outcome, self._clock.monotonic() - started)
        self._own.ran(taken, written, self._clock.monotonic())
        if snapshot is not None and not run.wrote_itself:
            self._look_for_mistakes(snapshot)
        if isinstance(outcome, Done):
            self._followings.keep(taken.key, run.followed)
        self._settle(taken, outcome, record, ctx)
        if _log.isEnabledFor(logging.DEBUG):
            self._log_run(taken, outcome, ctx, self._clock.monotonic() - started)

    def _look_for_mistakes(self, snapshot: Snapshot) -> None:
        """Say once what the author's code changes in vain."""
        changed = snapshot.changed()
        mistake = advice(self.reconciler.resource.gvk.kind, changed) if changed else ""
        if mistake and mistake not in self.mistakes:
            self.mistakes.append(mistake)
            _log.warning("changes without effect: %s", mistake, extra={"controller": self.reconciler.name})

    @staticmethod
    def _log_run(taken: Wanted, outcome: Outcome, ctx: Context[K], seconds: float) -> None:
        why = [str(cause) for cause in taken.causes]
        fields = {"result": describe(outcome), "seconds": round(seconds, 6), "why": why}
        ctx.log.debug("reconciled", extra={**fields, "more_causes": taken.dropped_causes})

    def _run_record(self, obj: K, key: ObjectKey, written: list[Target]) -> RunRecord[K]:
        def on_write(target: Target, write: Write, informer: Informer[Any], *, changed: bool) -> None:
            if changed:
                written.append(target)
            # A write that changed nothing found a version there that somebody else gave.
            if changed or not write.version:
                self._own.wrote(target, write)
            self._holds.wrote(key, target, write, informer)

        return RunRecord(obj, self._surroundings.caches, on_write)

    def _context(self, run: RunRecord[K], taken: Wanted) -> Context[K]:
        fields = {
            "controller": self.reconciler.name,
            "kind": self.reconciler.resource.gvk.kind,
            "key": str(taken.key),
            "reconcile": self._runs,
        }
        return Context(run, self._surroundings, why=taken.causes, fields=fields)

    def _settle(self, taken: Wanted, outcome: Outcome, record: Record, ctx: Context[K]) -> None:
        """Decide when the key runs again."""
        key = taken.key
        self._count(key, outcome)
        match outcome:
            case Done(again_after):
                self._on_done(key, again_after)
            case RetryLater(reason, after):
                self._retry(taken, after, reason)
                ctx.log.info("reconcile asks for another try", extra={"reason": reason, "after": after})
            case Outdated(error):
                self._on_conflict(taken, str(error), ctx)
            case GaveUp(reason, message):
                self.queue.forget(key)
                self._given_up[key] = _state_of(record)
                ctx.log.warning(
                    "reconcile gave up until the object changes", extra={"reason": reason, "error": message}
                )
            case Waiting():
                self._on_waiting(key, outcome, ctx)
            case Failed(error):
                self._on_failure(taken, error, ctx)
            case Stopped():
                pass
            case _:
                assert_never(outcome)

    def _count(self, key: ObjectKey, outcome: Outcome) -> None:
        """Count failures in a row, and forget what the last failure left behind."""
        if isinstance(outcome, Outdated):
            return
        self._conflicts.pop(key, None)
        if isinstance(outcome, (Failed, RetryLater)):
            self._failing[key] = self._failing.get(key, 0) + 1
            return
        self._failing.pop(key, None)
        if not isinstance(outcome, Waiting):
            self._waits.forget(key)

    def _on_done(self, key: ObjectKey, again_after: float | None) -> None:
        self.queue.forget(key)
        if again_after is not None:
            self.queue.add_after(key, again_after, causes=(Cause(What.TIMER),))

    def _on_waiting(self, key: ObjectKey, outcome: Waiting, ctx: Context[K]) -> None:
        self.queue.forget(key)
        cache = self._informers.get(outcome.kind)
        shows = cache is not None and not cache.is_partial and cache.covers_namespace(outcome.key.namespace)
        watched = self._waits.wait(key, outcome.kind, outcome.key, cache.store if cache is not None and shows else None)
        recheck = outcome.recheck if watched else min(outcome.recheck, UNWATCHED_RECHECK)
        self.queue.add_after(key, recheck, causes=(Cause(What.TIMER),))
        fields = {"reason": outcome.reason, "error": outcome.message, "watched": watched, "recheck": recheck}
        ctx.log.info("reconcile waits for another object", extra=fields)

    def _on_failure(self, taken: Wanted, error: BaseException, ctx: Context[K]) -> None:
        self._report(self.reconciler.resource.gvk.kind, taken.key, error)
        seconds = self._retry(taken, None, type(error).__name__)
        why = [str(cause) for cause in taken.causes]
        # What servers and networks do needs no traceback; what the author's code does has one.
        trace = None if isinstance(error, SteersmanError) else error
        text = f"{type(error).__name__}: {text_of(error)}"
        ctx.log.error("reconcile failed", exc_info=trace, extra={"error": text, "retry_in": seconds, "why": why})

    def _report(self, kind: str, key: ObjectKey, error: BaseException) -> None:
        self._parts.on_failure(ReconcileFailure(self.reconciler.name, kind, key, error))

    def _retry(self, taken: Wanted, after: float | None, detail: str) -> float:
        causes = (Cause(What.RETRY, detail=detail),)
        if after is None:
            return self.queue.add_rate_limited(taken.key, priority=taken.priority, causes=causes)
        self.queue.forget(taken.key)
        self.queue.add_after(taken.key, after, priority=taken.priority, causes=causes)
        return after

    def _on_conflict(self, taken: Wanted, message: str, ctx: Context[K]) -> None:
        tries = self._conflicts.get(taken.key, 0) + 1
        self._conflicts[taken.key] = tries
        if tries <= CONFLICT_RETRIES:
            self.queue.add_after(
                taken.key,
                CONFLICT_WAIT * tries,
                priority=taken.priority,
                causes=(Cause(What.RETRY, detail="Conflict"),),
            )
            return
        self._failing[taken.key] = self._failing.get(taken.key, 0) + 1
        seconds = self._retry(taken, None, "Conflict")
        ctx.log.warning("reconcile keeps conflicting", extra={"error": message, "retry_in": seconds})

    # Keys that wait, or are left alone.

    def _put_back(self, taken: Wanted) -> None:
        self.queue.add(taken.key, priority=taken.priority, causes=taken.causes)

    def _on_hold_expired(self, key: ObjectKey, missing: list[Target]) -> None:
        self._observer.hold_expired()
        _log.warning(
            "the cache has not seen what was written; going on without",
            extra={"controller": self.reconciler.name, "key": str(key), "missing": [str(target) for target in missing]},
        )

    def _cools_down(self, taken: Wanted) -> bool:
        """Put off a key that triggers itself; return whether that was necessary."""
        seconds = self._own.seconds_to_wait(taken, self._clock.monotonic())
        if not seconds:
            return False
        self.queue.add_after(taken.key, seconds, priority=taken.priority, causes=taken.causes)
        return True

    def _is_left_alone(self, record: Record) -> bool:
        state = self._given_up.get(record.key)
        if state is None:
            return False
        if state == _state_of(record) and not record.is_deleting:
            return True
        del self._given_up[record.key]
        return False

    def _forget(self, key: ObjectKey) -> None:
        """Remember nothing of an object that is gone."""
        self.queue.forget(key)
        self._holds.forget(key)
        self._own.forget(key)
        self._given_up.pop(key, None)
        self._conflicts.pop(key, None)
        self._failing.pop(key, None)
        self._waits.forget(key)
        self._followings.keep(key, set())
        self._surroundings.memories.forget(key)

    async def _on_malformed(self, record: Record, error: DecodeError) -> None:
        self._observer.malformed()
        self._given_up[record.key] = _state_of(record)
        kind = self.reconciler.resource.gvk.kind
        extra = {"controller": self.reconciler.name, "kind": kind, "key": str(record.key), "error": str(error)}
        _log.warning("left alone an object that does not decode", extra=extra)
        parts = self._parts
        parts.events.record(decode(Unstructured, record.data), "Warning", REASON, str(error))
        failure = await mark_malformed(parts.client, self.reconciler.resource, record.data, str(error), parts.clock)
        if failure is not None:
            _log.warning("cannot set the condition of a malformed object", extra={**extra, "error": str(failure)})

    def __repr__(self) -> str:
        return f"<Controller {self.reconciler.name} {self.queue!r} held={len(self._holds)}>"


class _Listener(Struct, frozen=True):
    """One trigger's ear at one informer."""

    controller: Controller[Any]
    trigger: Trigger
    informer: Informer[Any]

    def __call__(self, change: Change) -> None:
        self.controller.on_change(self.trigger, self.informer, change)


def _state_of(record: Record) -> tuple[str, object]:
    """Give what must differ for an object to be another one than it was; kinds that do not count count by version."""
    return (record.uid, record.generation or record.resource_version)
