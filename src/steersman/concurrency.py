"""Lifetimes of tasks: start something and wait until it is ready; clean up within a limit.

Every task has a parent and cancellation is the only stop signal. These are the few shapes that ``TaskGroup`` lacks.
"""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine
from typing import Any

from steersman.clock import Clock


@contextlib.asynccontextmanager
async def background(work: Coroutine[Any, Any, None], *, name: str) -> AsyncIterator[asyncio.Task[None]]:
    """Run ``work`` beside the block: its failure ends the block, the block's end cancels it and waits for it."""
    async with asyncio.TaskGroup() as tasks:
        task = tasks.create_task(work, name=name)
        try:
            yield task
        finally:
            task.cancel()


async def wait_ready(ready: Callable[[], Awaitable[object]], work: "asyncio.Task[None]") -> None:
    """Wait until ``ready()`` returns; if ``work`` ends first, raise its failure instead of waiting for ever."""

    async def watch() -> None:
        await ready()

    async with asyncio.TaskGroup() as tasks:
        waiting = tasks.create_task(watch(), name="wait-ready")
        await asyncio.wait({waiting, work}, return_when=asyncio.FIRST_COMPLETED)
        if not waiting.done():
            waiting.cancel()
    if waiting.cancelled() and work.done() and not work.cancelled() and (failure := work.exception()) is not None:
        raise failure


async def cleanup(work: Awaitable[object], *, clock: Clock, within: float) -> bool:
    """Finish cleaning up even while being cancelled, but never longer than ``within`` seconds.

    Answers whether the work finished. A cancellation that arrives meanwhile is delivered afterwards.
    """
    task = asyncio.ensure_future(work)  # noqa: TID251 - this is the one parent that outlives its own cancellation
    cancelled: asyncio.CancelledError | None = None
    expired = asyncio.Event()
    timer = clock.call_later(within, lambda: (expired.set(), task.cancel())[0])
    try:
        while not task.done():
            try:
                await asyncio.wait({task})
            except asyncio.CancelledError as stop:
                cancelled = stop
    finally:
        timer.cancel()
    if cancelled is not None:
        raise cancelled
    if task.cancelled():
        return False
    task.result()
    return not expired.is_set()
