"""`BlockingCalls`: finds calls in an operator's functions that block the event loop, as ``steer run`` does.

Blocking is measured in real time even if the test uses a fake clock, because nothing can advance that clock while the
event loop is blocked. Only functions of the operators count; a test may block its own event loop.
"""

import sys
import threading
import warnings
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager
from types import CodeType, FrameType

from steersman.clock import RealClock
from steersman.manager.operator import Operator
from steersman.manager.process.watchdog import log_stall, watch_event_loop


class BlockingCallWarning(RuntimeWarning):
    """A function of an operator blocked the event loop: nothing else could run meanwhile."""


class BlockingCalls:
    """Records which functions of some operators blocked the event loop."""

    def __init__(self, operators: Sequence[Operator]) -> None:
        self._codes = set(_codes_of(operators))
        self._thread = threading.get_ident()
        self.places: list[str] = []

    def __repr__(self) -> str:
        return f"<BlockingCalls {self.places}>"

    def note(self, seconds: float, place: str) -> None:
        """Record a stall; called in the watchdog's thread, while the event loop is still blocked."""
        if any(frame.f_code in self._codes for frame in _frames(self._thread)):
            log_stall(seconds, place)
            self.places.append(place)

    def texts(self, limit: float) -> Iterator[str]:
        """Yield a sentence for each place that blocked the event loop."""
        advice = "await something instead, call it by asyncio.to_thread, or make the reconciler a plain def"
        for place in dict.fromkeys(self.places):
            yield f"the event loop was blocked for more than {limit:g} s in {place}: {advice}"


@asynccontextmanager
async def watching_for_blocking_calls(operators: Sequence[Operator], limit: float) -> AsyncIterator[None]:
    """Warn at the end of the block about functions that blocked the event loop for ``limit`` seconds in it."""
    calls = BlockingCalls(operators)
    try:
        async with watch_event_loop(RealClock(), limit=limit, on_stall=calls.note):
            yield
    except BaseException as error:
        for text in calls.texts(limit):
            error.add_note(text)
        raise
    for text in calls.texts(limit):
        warnings.warn(text, BlockingCallWarning, stacklevel=2)


def _codes_of(operators: Sequence[Operator]) -> Iterator[CodeType]:
    for operator in operators:
        for one in operator.reconcilers:
            for function in (one.function, one.cleanup_function, one.error_function):
                if (code := getattr(function, "__code__", None)) is not None:
                    yield code
        for webhook in operator.webhooks:
            if (code := getattr(webhook.function, "__code__", None)) is not None:
                yield code


def _frames(thread: int) -> Iterator[FrameType]:
    frame = sys._current_frames().get(thread)  # noqa: SLF001 - the documented way to see a thread
    while frame is not None:
        yield frame
        frame = frame.f_back
