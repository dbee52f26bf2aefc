"""How many runs there were lately: counts of ten seconds each, for the last ten minutes."""

from collections import deque
from datetime import datetime
from threading import Lock
from typing import Final

from msgspec import Struct

#: Seconds that one count covers, and the number of counts that are kept.
SLICE: Final = 10
SLICES: Final = 60


class ActivitySlice(Struct, frozen=True):
    """The runs that ended within one slice of time."""

    #: Seconds since the epoch, a multiple of `SLICE`.
    start: int
    runs: int
    failures: int


class Activity:
    """Counts runs as they are added. Thread-safe, because a history is."""

    def __init__(self) -> None:
        self._lock = Lock()
        #: Invariant: ascending by start, at most `SLICES` of them.
        self._slices: deque[ActivitySlice] = deque(maxlen=SLICES)

    def add(self, at: float, *, failed: bool) -> None:
        """Count a run by when it ended; one that ended before the newest slice is counted in that slice."""
        start = _slice_of(at)
        with self._lock:
            newest = self._slices[-1] if self._slices else None
            if newest is None or newest.start < start:
                self._slices.append(ActivitySlice(start, 1, failed))
            else:
                self._slices[-1] = ActivitySlice(newest.start, newest.runs + 1, newest.failures + failed)

    def until(self, now: datetime) -> list[ActivitySlice]:
        """Return every slice of the last ten minutes, empty ones included, oldest first."""
        with self._lock:
            known = {one.start: one for one in self._slices}
        last = _slice_of(now.timestamp())
        starts = range(last - (SLICES - 1) * SLICE, last + SLICE, SLICE)
        return [known.get(start) or ActivitySlice(start, 0, 0) for start in starts]


def _slice_of(timestamp: float) -> int:
    return int(timestamp // SLICE) * SLICE
