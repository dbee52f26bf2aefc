"""`Attempt`: one run for one object: finalizer, the author's function, status, and the outcome.

Order of a reconcile: add the finalizer (if there is a cleanup), call the author, report in conditions and events, write
the status once. Order of a cleanup: confirm on the server that it is due, call the author, remove the finalizer. The
author's function runs at most once in an attempt, never at the same time as another run for the same object, and never
before the object has the finalizer that its cleanup needs.

Every exception becomes an outcome; only the end of the operator is raised. The author's code runs in the worker's own
task, because a task for each run would cost more than it protects. So the task may come back cancelled, or be cancelled
later by something that the code left behind. Only the controller knows whether it is stopping; any other cancellation
comes from the author's code, fails the run that it hits, and is undone (``take_back_cancellation``).
"""

import asyncio
import inspect
from collections.abc import Callable
from functools import cache
from typing import Any, Generic, TypeVar

from steersman.clock import Clock
from steersman.concurrency import take_back_cancellation
from steersman.controller.context import Context
from steersman.controller.declaration import Reconciler
from steersman.controller.recording.failure_text import failure_text
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
    outcome_of,
)
from steersman.controller.run.finalizers import add_finalizer, is_cleanup_due, remove_finalizer
from steersman.controller.run.kstatus import KstatusConditions
from steersman.controller.run.pause import CONDITION, PAUSED, REASON, Pause, pause_of
from steersman.controller.run.run_record import RunRecord
from steersman.controller.run.status_draft import (
    CLEANUP_FAILED,
    READY,
    RECONCILE_FAILED,
    RETRYING,
    StatusDraft,
    waiting_message,
)
from steersman.errors import AlreadyOwned, SteersmanError, text_of
from steersman.objects.resource import KubeObject, Status

K = TypeVar("K", bound=KubeObject)

#: Failures in a row after which they are reported by a condition and an event.
FAILURES_REPORTED = 3
#: The same for ``Retry``, which the author raises on purpose.
RETRIES_REPORTED = 10

#: Cached: it is called for every run.
_is_coroutine_function = cache(inspect.iscoroutinefunction)


async def call(
    function: Callable[..., Any], *arguments: Any, clock: Clock, within: float | None, is_stopping: Callable[[], bool]
) -> None:
    """Call an author's function: an async one here, a plain one in a thread; raise ``TimeoutError`` if it is too slow.

    A thread cannot be stopped. After the time limit, or a cancellation that is not the end of the operator, it is still
    waited for, because its object must not be worked on twice.
    """
    if _is_coroutine_function(function):
        if within is None:
            await function(*arguments)
            return
        async with clock.timeout(within):
            await function(*arguments)
        return
    started = clock.monotonic()
    answer = await _in_thread(function, arguments, is_stopping)
    if inspect.isawaitable(answer):
        async with clock.timeout(within):
            await answer
    elif within is not None and clock.monotonic() - started > within:
        raise TimeoutError(f"took {clock.monotonic() - started:.1f} s, the limit is {within:g} s")


async def _in_thread(function: Callable[..., Any], arguments: tuple[Any, ...], is_stopping: Callable[[], bool]) -> Any:
    """Call a plain function in a thread and wait for its end."""

    def run() -> tuple[Any, BaseException | None]:
        # A future cannot hold every exception: StopIteration would never be raised.
        try:
            return function(*arguments), None
        except BaseException as error:  # noqa: BLE001 - raised again by the waiting task
            failure = error
            return None, failure

    work = asyncio.get_running_loop().create_task(asyncio.to_thread(run), name="reconcile/thread")
    stray: asyncio.CancelledError | None = None
    while not work.done():
        try:
            await asyncio.wait({work})
        except asyncio.CancelledError as cancelled:
            if is_stopping():
                work.cancel()
                raise
            stray = cancelled
    answer, error = work.result()
    if error is not None:
        raise error
    if stray is not None:
        raise stray
    return answer


class Attempt(Generic[K]):
    """One reconcile or cleanup; ``failures`` is the number of failed runs in a row before it."""

    def __init__(
        self,
        reconciler: Reconciler[K],
        record: RunRecord[K],
        ctx: Context[K],
        clock: Clock,
        *,
        failures: int = 0,
        is_stopping: Callable[[], bool] = lambda: False,
    ) -> None:
        self._reconciler = reconciler
        self._obj = record.obj
        self._record = record
        self._ctx = ctx
        self._clock = clock
        self._failures = failures
        self._is_stopping = is_stopping
        self._task: asyncio.Task[Any] | None = None

    async def run(self) -> Outcome:
        """Reconcile or clean up, and return the outcome; raise only at the end of the operator."""
        self._task = _current_task()
        try:
            if self._obj.is_deleting and not self._reconciler.options.while_deleting:
                return await self._clean_up()
            return await self._reconcile()
        except BaseException as error:
            # Nothing that an author's code does may end the worker.
            if self._is_the_end(error):
                raise
            outcome = await self._outcome_of(error)
            if isinstance(outcome, (Failed, Outdated)):
                # A write of the framework failed, such as that of the finalizer: that of the status would likely, too.
                reason = CLEANUP_FAILED if self._obj.is_deleting else RECONCILE_FAILED
                message = failure_text(outcome.error, self._record.mask)
                self._report_failure(reason, message, after=FAILURES_REPORTED, has_status=False)
            return outcome

    def _is_the_end(self, error: BaseException) -> bool:
        """Return whether an exception ends this worker: the operator stops, or the coroutine is being closed."""
        if isinstance(error, GeneratorExit):
            return _current_task() is not self._task
        return isinstance(error, asyncio.CancelledError) and self._is_stopping()

    async def _outcome_of(self, error: BaseException) -> Outcome:
        await take_back_cancellation(unless=self._is_stopping)
        return outcome_of(error, self._reconciler.resource, self._obj.key)

    async def _reconcile(self) -> Outcome:
        annotations = self._obj.metadata.annotations
        pause = pause_of(annotations, self._clock.now()) if PAUSED in annotations else None
        if pause is not None:
            return await self._stay_paused(pause)
        if self._reconciler.cleanup_function is not None:
            await self._ensure_finalizer()
        draft = StatusDraft(self._obj)
        draft.end_pause()
        outcome = await self._call(self._reconciler.function)
        if isinstance(outcome, Stopped):
            return outcome
        self._report(outcome, failed=RECONCILE_FAILED)
        if not isinstance(outcome, (Failed, Outdated)):
            draft.retire_failure(succeeded=isinstance(outcome, Done))
            draft.observe_generation()
        if self._reconciler.options.kstatus:
            self._settle_kstatus(outcome)
        await self._write_status(draft, outcome)
        return Done(self._record.again_after) if isinstance(outcome, Done) else outcome

    def _settle_kstatus(self, outcome: Outcome) -> None:
        own = getattr(self._obj, "status", None)
        if isinstance(own, Status):
            asked = outcome.reason if isinstance(outcome, RetryLater) else ""
            conditions = KstatusConditions(
                own, now=self._clock.now().replace(microsecond=0), generation=self._obj.generation
            )
            message = self._record.mask(asked)
            conditions.settle(outcome, set_ready=self._record.set_ready, message=message)

    async def _stay_paused(self, pause: Pause) -> Outcome:
        """Show the pause in the status; the author's function is not called."""
        draft = StatusDraft(self._obj)
        own = getattr(self._obj, "status", None)
        now = self._clock.now()
        if isinstance(own, Status):
            moment, generation = now.replace(microsecond=0), self._obj.generation
            own.set_condition(CONDITION, True, REASON, pause.message, now=moment, generation=generation)  # noqa: FBT003 - reads as the condition it is
        outcome = Paused(pause.message, None if pause.until is None else (pause.until - now).total_seconds())
        await self._write_status(draft, outcome)
        return outcome

    async def _clean_up(self) -> Outcome:
        cleanup, finalizer = self._reconciler.cleanup_function, self._reconciler.finalizer
        if cleanup is None or finalizer not in self._obj.metadata.finalizers:
            return Done()
        if not await is_cleanup_due(self._ctx.client, self._obj, finalizer):
            return Done()  # the cache is behind: its next event triggers another run
        draft = StatusDraft(self._obj)
        outcome = await self._call(cleanup)
        if isinstance(outcome, Stopped):
            return outcome
        if not isinstance(outcome, Done) or self._record.again_after is not None:
            self._report(outcome, failed=CLEANUP_FAILED)
            if isinstance(outcome, Done):
                draft.retire_failure(succeeded=True)
            await self._write_status(draft, outcome)
            # requeue_after: the cleanup has started something that is not finished yet, so the finalizer stays.
            return Done(self._record.again_after) if isinstance(outcome, Done) else outcome
        left = await self._record.trace.request(remove_finalizer(self._ctx.client, self._obj, finalizer))
        if left is not None and left.metadata.finalizers:
            self._record.wrote_own(left)
        else:
            # The server answers the removal of the last finalizer with the version that the object had before.
            self._record.ended()
        return Done()

    async def _call(self, function: Callable[..., Any]) -> Outcome:
        """Call the author's function; an exception becomes an outcome after ``on_error`` was called with it."""
        try:
            await self._call_author(function, self._obj, self._ctx)
        except BaseException as error:
            if self._is_the_end(error):
                raise
            return await self._after_error(error)
        return Done()

    async def _after_error(self, error: BaseException) -> Outcome:
        outcome = await self._outcome_of(error)
        handler = self._reconciler.error_function
        if handler is None or isinstance(outcome, Stopped):
            return outcome
        try:
            await self._call_author(handler, self._obj, self._ctx, error)
        except BaseException as instead:
            if self._is_the_end(instead):
                raise
            # An exception of on_error replaces the failure.
            return await self._outcome_of(instead)
        return outcome

    async def _call_author(self, function: Callable[..., Any], *arguments: Any) -> None:
        limit = self._reconciler.options.timeout
        await call(function, *arguments, clock=self._clock, within=limit, is_stopping=self._is_stopping)
        if self._is_stopping():
            # The author's code has suppressed the cancellation.
            raise asyncio.CancelledError
        await take_back_cancellation(unless=self._is_stopping)

    async def _ensure_finalizer(self) -> None:
        if self._reconciler.finalizer in self._obj.metadata.finalizers:
            return
        adding = add_finalizer(self._ctx.client, self._obj, self._reconciler.finalizer)
        updated = await self._record.trace.request(adding)
        self._record.wrote_own(updated)
        self._obj.metadata.finalizers = updated.metadata.finalizers
        self._obj.metadata.resource_version = updated.metadata.resource_version

    async def _write_status(self, draft: StatusDraft, outcome: Outcome) -> None:
        sent = self._clock.monotonic()
        try:
            written = await draft.write(self._ctx.client)
        except SteersmanError as error:
            if not isinstance(outcome, (Failed, Outdated)):
                raise
            # The run has failed already, probably for the same reason; that failure is the one to report.
            self._ctx.log.warning("cannot write the status of a failed run", extra={"error": text_of(error)})
            return
        if written is not None:
            self._record.trace.answered(sent)
            self._record.wrote_status(written, *draft.states)

    # Reporting in conditions and events.

    def _report(self, outcome: Outcome, *, failed: str) -> None:
        """Report in the object's conditions and events why it is not ready."""
        match outcome:
            case GaveUp(reason, message):
                message = self._record.mask(message)
                self._set_not_ready(reason, message)
                self._ctx.event(reason, message, kind="Warning")
            case Waiting(reason, message, kind, key):
                message = self._record.mask(message)
                if reason != AlreadyOwned.REASON:
                    message = waiting_message(message, f"{kind.__name__} {key}")
                # A message of the author's own about a child that is not ready yet is the better one.
                is_told = outcome.is_quiet and self._record.set_not_ready
                if not is_told and self._set_not_ready(reason, message) and not outcome.is_quiet:
                    self._ctx.event(reason, message, kind="Warning")
            case Failed(error) | Outdated(error):
                self._report_failure(failed, failure_text(error, self._record.mask), after=FAILURES_REPORTED)
            case RetryLater(message):
                if not self._record.set_ready:
                    message = self._record.mask(message)
                    self._report_failure(RETRYING, message, after=RETRIES_REPORTED)
            case _:
                pass

    def _set_not_ready(self, reason: str, message: str) -> bool:
        """Set Ready=False if the status has conditions; return whether that changed it, true without conditions."""
        own = getattr(self._obj, "status", None)
        if not isinstance(own, Status):
            return True
        now = self._clock.now().replace(microsecond=0)
        return own.set_condition(READY, False, reason, message, now=now, generation=self._obj.generation)  # noqa: FBT003 - reads as the condition it is

    def _report_failure(self, reason: str, message: str, *, after: int, has_status: bool = True) -> None:
        """Report a failure that has happened ``after`` times in a row, so that it does not seem to pass.

        Without a status that is written afterwards there is only the event.
        """
        if self._failures + 1 < after or not self._reconciler.options.report_failures:
            return
        if has_status and not self._record.set_not_ready:
            self._set_not_ready(reason, message)
        self._ctx.event(reason, message, kind="Warning")


def _current_task() -> asyncio.Task[Any] | None:
    """Return the task that runs this code; ``None`` for a coroutine that is closed from outside any task."""
    try:
        return asyncio.current_task()
    except RuntimeError:
        return None
