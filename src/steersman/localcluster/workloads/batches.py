"""Making many things without flooding a server that refuses them: one, then two, then four at a time."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any


async def slow_start(count: int, make: Callable[[int], Awaitable[Any]]) -> BaseException | None:
    """Run ``make`` for 0 to ``count`` in growing batches; after a batch with a failure stop and return it."""
    done, size = 0, 1
    while done < count:
        batch = range(done, min(done + size, count))
        failures: list[BaseException] = []
        async with asyncio.TaskGroup() as tasks:
            for number in batch:
                tasks.create_task(_caught(make(number), failures), name=f"batch/{number}")
        if failures:
            return failures[0]
        done, size = batch.stop, size * 2
    return None


async def _caught(work: Awaitable[Any], failures: list[BaseException]) -> None:
    try:
        await work
    except Exception as error:  # noqa: BLE001 - returned to the caller
        failures.append(error)
