"""One try at one object: finalizer, the author's function, status, and what came of it. Nothing escapes from here.

The author's function runs at most once in a try, never at the same time as another try for the same object, and never
before the object carries the finalizer that its cleanup needs.
"""

import asyncio
import inspect
from collections.abc import Awaitable, Callable
from functools import cache
from typing import Any, Generic, TypeVar

from steersman.clock import Clock
from steersman.controller.context import Context
from steersman.controller.declaration import Reconciler
from steersman.controller.finalizers import add_finalizer, is_cleanup_due, remove_finalizer
from steersman.controller.outcome import Done, Failed, GaveUp, Outcome, RetryLater, outcome_of
from steersman.controller.status_draft import READY, StatusDraft
from steersman.objects.resource import KubeObject, Status

K = TypeVar("K", bound=KubeObject)


#: Asked for every run; the answer never changes.
_is_coroutine_function = cache(inspect.iscoroutinefunction)


async def call(function: Callable[..., Any], *arguments: Any, clock: Clock, within: float | None) -> None:
    """Call an author's function: a coroutine here, a plain function in a thread; ``TimeoutError`` if it takes too long.

    A thread cannot be ended: after the time limit it is still waited for, as its object must not be worked on twice.
    """
    if _is_coroutine_function(function):
        if within is None:
            await function(*arguments)
            return
        async with clock.timeout(within):
            await function(*arguments)
        return
    started = clock.monotonic()
    answer = await asyncio.to_thread(function, *arguments)
    if inspect.isawaitable(answer):
        async with clock.timeout(within):
            await answer
    elif within is not None and clock.monotonic() - started > within:
        raise TimeoutError(f"took {clock.monotonic() - started:.1f} s, may take {within:g} s")


class Attempt(Generic[K]):
    """Carries out one reconcile or cleanup."""

    def __init__(self, reconciler: Reconciler[K], obj: K, ctx: Context[K], clock: Clock) -> None:
        self._reconciler = reconciler
        self._obj = obj
        self._ctx = ctx
        self._clock = clock

    async def run(self) -> Outcome:
        """Do what the object needs now; every failure becomes an outcome."""
        try:
            if self._obj.is_deleting and not self._reconciler.options.while_deleting:
                return await self._guarded(self._clean_up)
            return await self._guarded(self._reconcile)
        except asyncio.CancelledError as error:
            task = asyncio.current_task()
            if task is not None and task.cancelling():
                raise
            return self._outcome_of(error)

    async def _guarded(self, work: Callable[[], Awaitable[Outcome]]) -> Outcome:
        try:
            return await work()
        except (Exception, SystemExit) as error:  # noqa: BLE001 - nothing an author raises may end the worker
            return self._outcome_of(error)

    def _outcome_of(self, error: BaseException) -> Outcome:
        return outcome_of(error, self._reconciler.resource, self._obj.key)

    async def _reconcile(self) -> Outcome:
        if self._reconciler.cleanup_function is not None:
            await self._ensure_finalizer()
        draft = StatusDraft(self._obj)
        outcome = await self._call(self._reconciler.function)
        if isinstance(outcome, Failed):
            # What an unexpected failure left half done is not written.
            return outcome
        if isinstance(outcome, GaveUp):
            self._note_giving_up(outcome)
        else:
            draft.retire_failure()
        draft.observe_generation()
        await self._write_status(draft)
        return Done(self._ctx.again_after) if isinstance(outcome, Done) else outcome

    async def _clean_up(self) -> Outcome:
        cleanup, finalizer = self._reconciler.cleanup_function, self._reconciler.finalizer
        if cleanup is None or finalizer not in self._obj.metadata.finalizers:
            return Done()
        if not await is_cleanup_due(self._ctx.client, self._obj, finalizer):
            return Done()  # the cache is behind; its next event tells what there is now
        draft = StatusDraft(self._obj)
        outcome = await self._call(cleanup)
        if not isinstance(outcome, Done) or self._ctx.again_after is not None:
            if isinstance(outcome, GaveUp):
                self._note_giving_up(outcome)
            if not isinstance(outcome, Failed):
                await self._write_status(draft)
            # Asked to come back: the cleanup has begun something that is not over yet, so the finalizer stays.
            return Done(self._ctx.again_after) if isinstance(outcome, Done) else outcome
        left = await remove_finalizer(self._ctx.client, self._obj, finalizer)
        if left is not None and left.metadata.finalizers:
            self._ctx.note_write(left)
        else:
            # The server answers the end of an object with the version that it had before.
            self._ctx.note_end()
        return Done()

    async def _call(self, function: Callable[..., Any]) -> Outcome:
        """Call the author; what was raised becomes an outcome after ``on_error`` has seen it."""
        limit = self._reconciler.options.timeout
        try:
            await call(function, self._obj, self._ctx, clock=self._clock, within=limit)
        except (Exception, SystemExit) as error:  # noqa: BLE001 - an outcome, see above
            return await self._after_error(error)
        return Done()

    async def _after_error(self, error: BaseException) -> Outcome:
        told = self._reconciler.error_function
        if told is None:
            return self._outcome_of(error)
        try:
            limit = self._reconciler.options.timeout
            await call(told, self._obj, self._ctx, error, clock=self._clock, within=limit)
        except (Exception, SystemExit) as instead:  # noqa: BLE001 - what on_error raises takes the failure's place
            return self._outcome_of(instead)
        return self._outcome_of(error)

    async def _ensure_finalizer(self) -> None:
        if self._reconciler.finalizer in self._obj.metadata.finalizers:
            return
        updated = await add_finalizer(self._ctx.client, self._obj, self._reconciler.finalizer)
        self._ctx.note_write(updated)
        self._obj.metadata.finalizers = updated.metadata.finalizers
        self._obj.metadata.resource_version = updated.metadata.resource_version

    async def _write_status(self, draft: StatusDraft) -> None:
        written = await draft.write(self._ctx.client)
        if written is not None:
            self._ctx.note_status(written)

    def _note_giving_up(self, outcome: GaveUp) -> None:
        if isinstance(getattr(self._obj, "status", None), Status):
            self._ctx.condition(READY, status=False, reason=outcome.reason, message=outcome.message)
        self._ctx.event(outcome.reason, outcome.message, kind="Warning")


def describe(outcome: Outcome) -> str:
    """Name an outcome as controller-runtime's metrics do."""
    match outcome:
        case Done(again_after=None):
            return "success"
        case Done() | RetryLater(after=float()):
            return "requeue_after"
        case RetryLater():
            return "requeue"
        case _:
            return "error"
