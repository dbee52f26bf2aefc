"""The numbers of a manager, under controller-runtime's names where it has one, so that its dashboards work.

Our own begin with ``steersman_``. Every manager has a registry of its own.
"""

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest
from prometheus_client.core import GaugeMetricFamily
from prometheus_client.registry import Collector

from steersman.controller.attempt import describe
from steersman.controller.outcome import Failed, GaveUp, Outcome, Outdated

if TYPE_CHECKING:
    from steersman.controller.controller import Controller
    from steersman.informer.informer import Informer

_RECONCILE_SECONDS = (
    *(0.005, 0.01, 0.025, 0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.35, 0.4, 0.45, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0),
    *(1.25, 1.5, 1.75, 2.0, 2.5, 3.0, 3.5, 4.0, 4.5, 5, 6, 7, 8, 9, 10, 15, 20, 25, 30, 40, 50, 60),
)
_QUEUE_SECONDS = (1e-8, 1e-7, 1e-6, 1e-5, 1e-4, 1e-3, 1e-2, 0.1, 1.0, 10.0, 100.0, 1000.0)
_RESULTS = ("success", "error", "requeue", "requeue_after")


class Metrics:
    """All families of one manager."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        self._controllers = ControllerFamilies(self.registry)
        self._queues = QueueFamilies(self.registry)
        self._sources = _Sources()
        self.registry.register(self._sources)
        self.leader = Gauge(
            "leader_election_master_status", "Whether this process leads.", ["name"], registry=self.registry
        )
        self._request_counters: dict[tuple[str, str], Counter] = {}
        self._requests = Counter(
            "rest_client_requests",
            "Requests to the API server, by status code, method and host.",
            ["code", "method", "host"],
            registry=self.registry,
        )
        self.stalls = Counter(
            "steersman_event_loop_stalls", "Times that the event loop was blocked.", registry=self.registry
        )

    def controller(self, name: str, workers: int) -> "ControllerNumbers":
        """Give what counts the reconciles of one controller."""
        return ControllerNumbers(self._controllers, name, workers)

    def queue(self, name: str) -> "QueueNumbers":
        """Give what counts the keys of one queue."""
        return QueueNumbers(self._queues, name)

    def observe(self, controllers: Iterable["Controller[Any]"], informers: Iterable["Informer[Any]"]) -> None:
        """Show the state of these, as it is when somebody asks."""
        self._sources.controllers = list(controllers)
        self._sources.informers = informers

    def count_request(self, method: str, code: str) -> None:
        """Count one request to the API server."""
        counter = self._request_counters.get((method, code))
        if counter is None:
            counter = self._request_counters[method, code] = self._requests.labels(code, method, "apiserver")
        counter.inc()

    def text(self) -> bytes:
        """Write everything in Prometheus' text format."""
        return generate_latest(self.registry)


class ControllerFamilies:
    """What is counted of reconciles."""

    def __init__(self, registry: CollectorRegistry) -> None:
        label = ["controller"]
        self.total = Counter(
            "controller_runtime_reconcile", "Reconciles by result.", [*label, "result"], registry=registry
        )
        self.errors = Counter("controller_runtime_reconcile_errors", "Failed reconciles.", label, registry=registry)
        self.terminal = Counter(
            "controller_runtime_terminal_reconcile_errors", "Reconciles that gave up.", label, registry=registry
        )
        self.panics = Counter(
            "controller_runtime_reconcile_panics", "Reconciles that ended in SystemExit.", label, registry=registry
        )
        self.timeouts = Counter(
            "controller_runtime_reconcile_timeouts", "Reconciles that took too long.", label, registry=registry
        )
        self.seconds = Histogram(
            "controller_runtime_reconcile_time_seconds",
            "Seconds that reconciles took.",
            label,
            buckets=_RECONCILE_SECONDS,
            registry=registry,
        )
        self.most = Gauge(
            "controller_runtime_max_concurrent_reconciles", "Workers there are.", label, registry=registry
        )
        self.active = Gauge("controller_runtime_active_workers", "Workers at work.", label, registry=registry)
        self.conflicts = Counter(
            "steersman_reconcile_conflicts", "Reconciles of outdated objects.", label, registry=registry
        )
        self.holds = Counter(
            "steersman_hold_timeouts", "Keys let go before the cache had their writes.", label, registry=registry
        )
        self.malformed = Counter("steersman_malformed_objects", "Undecodable objects.", label, registry=registry)
        self.hot = Gauge("steersman_hot_loops", "Keys that trigger themselves.", label, registry=registry)


class ControllerNumbers:
    """Counts the reconciles of one controller; a ``ControllerObserver``."""

    def __init__(self, families: ControllerFamilies, name: str, workers: int) -> None:
        self._total = {result: families.total.labels(name, result) for result in _RESULTS}
        self._errors = families.errors.labels(name)
        self._terminal = families.terminal.labels(name)
        self._panics = families.panics.labels(name)
        self._timeouts = families.timeouts.labels(name)
        self._seconds = families.seconds.labels(name)
        self._active = families.active.labels(name)
        self._conflicts = families.conflicts.labels(name)
        self._holds = families.holds.labels(name)
        self._malformed = families.malformed.labels(name)
        self._hot = families.hot.labels(name)
        families.most.labels(name).set(workers)

    def began(self) -> None:
        """Count a worker as busy."""
        self._active.inc()

    def ended(self, outcome: Outcome, seconds: float) -> None:
        """Count a reconcile by how it ended."""
        self._active.dec()
        self._seconds.observe(seconds)
        self._total[describe(outcome)].inc()
        match outcome:
            case Failed(error):
                self._errors.inc()
                if outcome.is_timeout:
                    self._timeouts.inc()
                if isinstance(error, SystemExit):
                    self._panics.inc()
            case GaveUp():
                self._errors.inc()
                self._terminal.inc()
            case Outdated():
                self._conflicts.inc()
            case _:
                pass

    def hold_expired(self) -> None:
        """Count a key that was let go in vain."""
        self._holds.inc()

    def malformed(self) -> None:
        """Count an object that did not decode."""
        self._malformed.inc()

    def hot_loops(self, count: int) -> None:
        """Show how many keys trigger themselves."""
        self._hot.set(count)


class QueueFamilies:
    """What is counted of queues."""

    def __init__(self, registry: CollectorRegistry) -> None:
        label = ["name", "controller"]
        self.adds = Counter("workqueue_adds", "Keys asked for.", label, registry=registry)
        self.retries = Counter("workqueue_retries", "Keys added with back-off.", label, registry=registry)
        self.waited = Histogram(
            "workqueue_queue_duration_seconds",
            "Seconds that keys waited for a worker.",
            label,
            buckets=_QUEUE_SECONDS,
            registry=registry,
        )
        self.worked = Histogram(
            "workqueue_work_duration_seconds",
            "Seconds that keys were worked on.",
            label,
            buckets=_QUEUE_SECONDS,
            registry=registry,
        )


class QueueNumbers:
    """Counts the keys of one queue; a ``QueueObserver``."""

    def __init__(self, families: QueueFamilies, name: str) -> None:
        self.added = families.adds.labels(name, name).inc
        self.retried = families.retries.labels(name, name).inc
        self.taken = families.waited.labels(name, name).observe
        self.finished = families.worked.labels(name, name).observe


class _Sources(Collector):
    """Reads queues and informers at the moment of the scrape."""

    def __init__(self) -> None:
        self.controllers: list[Controller[Any]] = []
        self.informers: Iterable[Informer[Any]] = ()

    def collect(self) -> Iterator[GaugeMetricFamily]:
        """Give the state of every queue and informer."""
        yield from self._queues()
        yield from self._informers()

    def _queues(self) -> Iterator[GaugeMetricFamily]:
        label = ["name", "controller"]
        depth = GaugeMetricFamily("workqueue_depth", "Keys that are ready.", labels=[*label, "priority"])
        unfinished = GaugeMetricFamily("workqueue_unfinished_work_seconds", "Seconds of work under way.", labels=label)
        longest = GaugeMetricFamily(
            "workqueue_longest_running_processor_seconds", "Seconds of the longest work under way.", labels=label
        )
        held = GaugeMetricFamily("steersman_held_keys", "Keys that wait for the cache.", labels=["controller"])
        for controller in self.controllers:
            name = controller.reconciler.name
            statistics = controller.queue.statistics()
            for priority, count in (statistics.ready or {0: 0}).items():
                depth.add_metric([name, name, str(priority)], count)
            unfinished.add_metric([name, name], statistics.unfinished_seconds)
            longest.add_metric([name, name], statistics.longest_seconds)
            held.add_metric([name], controller.held_count)
        yield from (depth, unfinished, longest, held)

    def _informers(self) -> Iterator[GaugeMetricFamily]:
        label = ["resource"]
        objects = GaugeMetricFamily("steersman_informer_objects", "Cached objects.", labels=label)
        synced = GaugeMetricFamily("steersman_informer_synced", "Whether the cache is complete.", labels=label)
        age = GaugeMetricFamily(
            "steersman_informer_age_seconds", "Seconds since the server was last heard of.", labels=label
        )
        for informer in self.informers:
            resource = str(informer.resource.gvr)
            freshness = informer.freshness()
            objects.add_metric([resource], len(informer))
            synced.add_metric([resource], float(freshness.is_synced))
            if freshness.age is not None:
                age.add_metric([resource], freshness.age)
        yield from (objects, synced, age)
