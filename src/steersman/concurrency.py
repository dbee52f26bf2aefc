"""Lifetimes of tasks: start something and wait until it is ready; clean up within a limit.

Every task has a parent and cancellation is the only stop signal. These are the few shapes that ``TaskGroup`` lacks.
"""

import asyncio
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager
from typing import Any, TypeVar

from steersman.clock import Clock

T = TypeVar("T")


@asynccontextmanager
async def background(work: Coroutine[Any, Any, None], *, name: str) -> AsyncIterator[asyncio.Task[None]]:
    """Run ``work`` beside the block: its failure ends the block, the end of the block cancels it and waits for it.

    A failure is raised as it is, not wrapped in a group: there is only this one task.
    """
    try:
        async with asyncio.TaskGroup() as tasks:
            task = tasks.create_task(work, name=name)
            try:
                yield task
            finally:
                task.cancel()
    except BaseExceptionGroup as group:
        raise group.exceptions[0] from None


async def wait_ready(ready: Coroutine[Any, Any, object], work: asyncio.Task[None]) -> None:
    """Wait until ``ready`` returns; if ``work`` ends first, raise its failure instead of waiting forever."""
    async with asyncio.TaskGroup() as tasks:
        waiting = tasks.create_task(ready, name=f"{work.get_name()}/ready")
        await asyncio.wait({waiting, work}, return_when=asyncio.FIRST_COMPLETED)
        if not waiting.done():
            waiting.cancel()
    if waiting.cancelled():
        work.result()
        raise RuntimeError(f"{work.get_name()} ended before it was ready")


async def cleanup(work: Coroutine[Any, Any, object], *, clock: Clock, within: float) -> bool:
    """Finish cleaning up even while being cancelled, but within ``within`` seconds; return whether it finished.

    A cancellation that arrives meanwhile is delivered afterwards.
    """
    task = asyncio.get_running_loop().create_task(work, name="cleanup")
    timer = clock.call_later(within, task.cancel)
    try:
        await _wait_to_the_end(task)
    finally:
        timer.cancel()
    if task.cancelled():
        return False
    task.result()
    return True


async def unbroken(work: Coroutine[Any, Any, T]) -> T:
    """Finish the work even if the caller is cancelled, then re-raise the cancellation.

    For calls of libraries that lose a cancellation, or their connection with it. They must end soon by themselves.
    """
    task = asyncio.get_running_loop().create_task(work, name="unbroken")
    await _wait_to_the_end(task)
    return task.result()


async def _wait_to_the_end(task: asyncio.Task[Any]) -> None:
    cancelled: asyncio.CancelledError | None = None
    while not task.done():
        try:
            await asyncio.wait({task})
        except asyncio.CancelledError as stop:
            cancelled = stop
    if cancelled is not None:
        if not task.cancelled():
            task.exception()  # mark it as retrieved: the cancellation takes precedence
        raise cancelled


async def take_back_cancellation(*, unless: Callable[[], bool]) -> None:
    """Clear a cancellation of the current task, unless it was requested for another reason.

    A cancellation that was requested and has not arrived yet arrives here, and is swallowed.
    """
    task = asyncio.current_task()
    if task is None or not task.cancelling():
        return
    if unless():
        raise asyncio.CancelledError
    while task.cancelling():
        task.uncancel()
    loop = asyncio.get_running_loop()
    turn = loop.create_future()
    loop.call_soon(lambda: None if turn.done() else turn.set_result(None))
    try:
        await turn
    except asyncio.CancelledError:
        if unless():
            raise
        while task.cancelling():
            task.uncancel()


async def slow_start(times: int, work: Callable[[], Coroutine[Any, Any, object]]) -> None:
    """Run something many times: first once, then twice at once, then four times, and so on.

    So work that always fails is tried once instead of a hundred times. A failure ends it after all runs of its batch
    have finished; the first failure is raised.
    """
    failures: list[Exception] = []

    async def attempt() -> None:
        try:
            await work()
        except Exception as error:  # noqa: BLE001 - raised below, when the others have ended
            failures.append(error)

    batch = 1
    while times > 0 and not failures:
        async with asyncio.TaskGroup() as tasks:
            for _ in range(min(batch, times)):
                tasks.create_task(attempt(), name="slow-start")
        times -= batch
        batch *= 2
    if failures:
        raise failures[0]
