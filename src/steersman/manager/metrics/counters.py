"""Plain counters that cost almost nothing; ``metrics`` reads them at a scrape.

A reconcile updates a dozen of them, so that counting must not take a noticeable part of its time.
"""

from bisect import bisect_left
from collections.abc import Sequence

from steersman.history.records import MALFORMED, Reconcile, ReconcileEnd, Result

RECONCILE_SECONDS = (
    *(0.005, 0.01, 0.025, 0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.35, 0.4, 0.45, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0),
    *(1.25, 1.5, 1.75, 2.0, 2.5, 3.0, 3.5, 4.0, 4.5, 5.0, 6.0, 7.0, 8.0, 9.0, 10.0, 15.0, 20.0, 25.0, 30.0),
    *(40.0, 50.0, 60.0),
)
QUEUE_SECONDS = (1e-8, 1e-7, 1e-6, 1e-5, 1e-4, 1e-3, 1e-2, 0.1, 1.0, 10.0, 100.0, 1000.0)
RESULTS = ("success", "error", "requeue", "requeue_after")


class Histogram:
    """Number of observations below each bound, and their sum."""

    __slots__ = ("_bounds", "_counts", "total")

    def __init__(self, bounds: Sequence[float]) -> None:
        self._bounds = tuple(bounds)
        #: One for each bound, and one for values above all bounds.
        self._counts = [0] * (len(self._bounds) + 1)
        self.total = 0.0

    def observe(self, value: float) -> None:
        """Count one observation."""
        self._counts[bisect_left(self._bounds, value)] += 1
        self.total += value

    def buckets(self) -> list[tuple[str, float]]:
        """Return the cumulative number of observations up to each bound, in Prometheus' form."""
        shown: list[tuple[str, float]] = []
        below = 0
        for bound, count in zip((*map(str, self._bounds), "+Inf"), self._counts, strict=True):
            below += count
            shown.append((bound, below))
        return shown


def result_label(run: Reconcile | ReconcileEnd) -> str:
    """Return the ``result`` label of a reconcile in controller-runtime's metrics."""
    match run.result:
        case Result.DONE | Result.PAUSED:
            return "success" if run.again_after is None else "requeue_after"
        case Result.RETRY:
            return "requeue" if run.again_after is None else "requeue_after"
        case Result.WAITING:
            return "requeue_after"
        case _:
            return "error"


class ControllerCounters:
    """Counts the reconciles of one controller by their records."""

    def __init__(self, name: str, workers: int) -> None:
        self.name = name
        self.workers = workers
        self.results = dict.fromkeys(RESULTS, 0)
        self.errors = 0
        self.terminal = 0
        self.panics = 0
        self.timeouts = 0
        self.conflicts = 0
        self.holds = 0
        self.malformed_objects = 0
        self.seconds = Histogram(RECONCILE_SECONDS)
        #: Writes to other systems, by system and result.
        self.external_writes: dict[tuple[str, str], int] = {}

    def add(self, run: Reconcile | ReconcileEnd) -> None:
        """Count a reconcile."""
        if isinstance(run, ReconcileEnd):
            self.seconds.observe(run.seconds)
            self.results[result_label(run)] += 1
            self.holds += run.is_stale
            return
        if run.reason == MALFORMED and run.result is Result.GAVE_UP:
            self.malformed_objects += 1
            return
        self.seconds.observe(run.seconds)
        self.results[result_label(run)] += 1
        self.holds += run.is_stale
        if run.result is not Result.DONE:
            self.errors += run.is_failure
            self.terminal += run.result is Result.GAVE_UP
            self.timeouts += run.is_timeout
            self.panics += run.is_panic
            self.conflicts += run.result is Result.CONFLICT
        for write in run.external_writes:
            labels = (write.system, write.result)
            self.external_writes[labels] = self.external_writes.get(labels, 0) + 1


class QueueCounters:
    """Count the keys of one queue; a ``QueueObserver``."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.adds = 0
        self.retries = 0
        self.waited = Histogram(QUEUE_SECONDS)
        self.worked = Histogram(QUEUE_SECONDS)

    def added(self) -> None:
        """Count a key that was added."""
        self.adds += 1

    def retried(self) -> None:
        """Count a key that was added with back-off."""
        self.retries += 1

    def taken(self, waited: float) -> None:
        """Observe the seconds that a key waited for a worker."""
        self.waited.observe(waited)

    def finished(self, worked: float) -> None:
        """Observe the seconds that a worker spent on a key."""
        self.worked.observe(worked)
