"""What a simulation needs of the process that it runs in: no other event loop, few logs, few garbage collections."""

import asyncio
import gc
from collections.abc import Iterator
from contextlib import contextmanager

from steersman.errors import ConfigError

#: New objects after which garbage is collected: that many are ten runs, which still fit into the processor's cache.
_OBJECTS_PER_COLLECTION = 10_000

#: Python 3.12 itself freezes a few hundred objects when it starts.
_FROZEN_BY_PYTHON = 1000


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

    If the process has frozen objects already, only those stay out: ``gc.unfreeze`` would return them, too.

    A run creates more objects than an operator ever does in that time, and few of them are parts of cycles. With the
    usual settings a sixth of the time goes into looking at modules and classes again and again.
    """
    before = gc.get_threshold()
    is_ours = gc.get_freeze_count() < _FROZEN_BY_PYTHON
    if is_ours:
        gc.freeze()
    gc.set_threshold(_OBJECTS_PER_COLLECTION, *before[1:])
    try:
        yield
    finally:
        gc.set_threshold(*before)
        if is_ours:
            gc.unfreeze()
