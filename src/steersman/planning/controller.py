"""`PlannedController`: an ordinary controller whose runs are counted, bounded, and known by name."""

from collections.abc import Callable
from datetime import datetime
from typing import TypeVar

from steersman.clock import Clock, Timer
from steersman.controller.controller import Controller
from steersman.controller.declaration import Reconciler
from steersman.controller.keys.key_state import ReconcileRequest
from steersman.controller.options import ControllerOptions
from steersman.controller.reports.causes import Cause
from steersman.history.records import CauseType, ObjectName, Reconcile, Result
from steersman.objects.identity import ObjectKey
from steersman.objects.resource import KubeObject
from steersman.planning.changes import ChangeLog, RunOf, current_run
from steersman.workqueue.queue import WorkQueue

K = TypeVar("K", bound=KubeObject)

#: Runs of one object after which it counts as one that never rests.
MOST_RUNS = 25
#: Results of a run that may be different if something else changes.
_WORTH_ANOTHER_TRY = frozenset({Result.FAILED, Result.RETRY})


class _WithoutTimers(Clock):
    """A clock whose timers never fire."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock

    def now(self) -> datetime:
        """Return the time of the other clock."""
        return self._clock.now()

    def monotonic(self) -> float:
        """Return the seconds of the other clock."""
        return self._clock.monotonic()

    def call_later(self, seconds: float, callback: Callable[[], object]) -> Timer:
        """Return a timer that never fires."""
        del seconds, callback
        return _NEVER


class _Never:
    def cancel(self) -> None:
        """Do nothing."""


_NEVER = _Never()


class PlannedController(Controller[K]):
    """Runs one reconciler for the chosen objects until none of them changes anything any more."""

    def __init__(
        self,
        reconciler: Reconciler[K],
        options: ControllerOptions,
        log: ChangeLog,
        choose: Callable[[ObjectKey], bool],
        *,
        number: int,
    ) -> None:
        super().__init__(reconciler, options)
        self._number = number
        # Only `run_again` starts retries and timers: how many would become due during a plan is a matter of chance.
        self.queue = WorkQueue(clock=_WithoutTimers(options.clock))
        self._log = log
        self._choose = choose
        #: The last run of each object, and how many changes the plan had before it, of this object and in all.
        self.last: dict[ObjectKey, Reconcile] = {}
        self.run_counts_by_key: dict[ObjectKey, int] = {}
        self._changes_before: dict[ObjectKey, tuple[int, int]] = {}
        #: Objects that did not come to rest.
        self.restless: set[ObjectKey] = set()

    @property
    def stored_as(self) -> str:
        """Name under which a server stores objects of the reconciled kind."""
        resource = self.reconciler.resource
        return f"{resource.plural}.{resource.gvk.group}".rstrip(".")

    def run_of(self, key: ObjectKey) -> RunOf:
        """Return the name of an object's runs."""
        return RunOf(self._number, self.reconciler.name, ObjectName(self.reconciler.resource.gvk.kind, *key))

    def last_changed(self, key: ObjectKey) -> str:
        """Return the object that the runs of a key changed last, with the name of its resource; empty for none."""
        place = self._log.latest.get(self.run_of(key))
        return "" if place is None else f"{place.resource} {place.namespace}/{place.name}".replace(" /", " ")

    def ended(self, reconcile: Reconcile) -> None:
        """Record the end of a run."""
        key = reconcile.object.key
        self.last[key] = reconcile
        self.run_counts_by_key[key] = self.run_counts_by_key.get(key, 0) + 1

    async def _process(self, request: ReconcileRequest) -> None:
        key = request.key
        if not self._choose(key):
            return
        if self.run_counts_by_key.get(key, 0) >= MOST_RUNS:
            self.restless.add(key)
            return
        runs, before = self.run_counts_by_key.get(key, 0), self._counts(key)
        token = current_run.set(self.run_of(key))
        try:
            await super()._process(request)
        finally:
            current_run.reset(token)
            # A key may be held back, or be an echo of its own finalizer: only a run counts.
            if self.run_counts_by_key.get(key, 0) > runs:
                self._changes_before[key] = before

    def _counts(self, key: ObjectKey) -> tuple[int, int]:
        return self._log.counts.get(self.run_of(key), 0), self._log.total

    def is_restless(self, key: ObjectKey) -> bool:
        """Return whether an object did not come to rest: it ran too often, or triggers itself again and again."""
        state = self._states.find(key)
        return key in self.restless or (state is not None and state.cool_until is not None)

    def run_again(self) -> bool:
        """Queue the objects whose timers and retries would change something; return whether there are any.

        Nothing waits for a timer. A run that asked for another one later gets it at once if it changed something; one
        that failed gets it if anything changed since it began.
        """
        due = [key for key, reconcile in self.last.items() if self._is_due(key, reconcile)]
        for key in due:
            self.queue.add(key, causes=(Cause(CauseType.TIMER),))
        return bool(due)

    def _is_due(self, key: ObjectKey, reconcile: Reconcile) -> bool:
        if self.is_restless(key):
            return False
        own, all_ = self._counts(key)
        own_before, all_before = self._changes_before.get(key, (0, 0))
        if reconcile.result is Result.CONFLICT:
            return True
        if reconcile.result in _WORTH_ANOTHER_TRY:
            return all_ > all_before
        return reconcile.again_after is not None and own > own_before
