"""Ctrl-C during a simulation: the plan at work ends, and what is known so far is reported.

A ``KeyboardInterrupt`` in the middle of a run would leave coroutines behind, each of which prints a traceback when it
is destroyed. A plan takes milliseconds, so the first signal only asks for the end. The second one interrupts at once:
the plan may be one that never ends.
"""

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType


class Interrupts:
    """Whether the user asked for the end."""

    def __init__(self) -> None:
        self.is_requested = False

    def __repr__(self) -> str:
        return f"<Interrupts{' requested' if self.is_requested else ''}>"

    def request(self, number: int, frame: FrameType | None) -> None:
        """Note the first signal; raise ``KeyboardInterrupt`` at the second."""
        if self.is_requested:
            signal.default_int_handler(number, frame)
        self.is_requested = True

    def raise_if_requested(self) -> None:
        """Raise ``KeyboardInterrupt`` if the user asked for the end."""
        if self.is_requested:
            raise KeyboardInterrupt


@contextmanager
def deferred_interrupts() -> Iterator[Interrupts]:
    """Defer Ctrl-C in the block; in another thread than the main one, and where it is handled otherwise, do nothing."""
    interrupts = Interrupts()
    is_default = signal.getsignal(signal.SIGINT) is signal.default_int_handler
    if threading.current_thread() is not threading.main_thread() or not is_default:
        yield interrupts
        return
    signal.signal(signal.SIGINT, interrupts.request)
    try:
        yield interrupts
    finally:
        signal.signal(signal.SIGINT, signal.default_int_handler)
