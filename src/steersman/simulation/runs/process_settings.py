"""What a simulation needs of the process that it runs in: no other event loop, few logs, few garbage collections."""

import asyncio
import gc
from collections.abc import Iterator
from contextlib import contextmanager

from steersman.errors import ConfigError

#: New objects after which garbage is collected: that many are a few runs.
_OBJECTS_PER_COLLECTION = 100_000


def reject_running_loop() -> None:
    """Raise ``ConfigError`` inside of another event loop."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return
    raise ConfigError("simulate runs its own event loop: call it from a plain `def` test, not from an `async def` one")


@contextmanager
def rare_garbage_collection() -> Iterator[None]:
    """Leave everything that exists now out of garbage collections, and collect rarely.

    A run creates more objects than an operator ever does in that time, and few of them are parts of cycles. With the
    usual settings a sixth of the time goes into looking at modules and classes again and again.
    """
    before = gc.get_threshold()
    gc.freeze()
    gc.set_threshold(_OBJECTS_PER_COLLECTION, *before[1:])
    try:
        yield
    finally:
        gc.set_threshold(*before)
        gc.unfreeze()
