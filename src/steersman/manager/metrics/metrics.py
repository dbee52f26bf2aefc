"""The metrics of a manager, under controller-runtime's names where it has one, so that its dashboards work.

Our own begin with ``steersman_``. Everything is read at the scrape; ``counters`` counts in between.
"""

from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Any, Final

from prometheus_client import CollectorRegistry, Counter, Gauge, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily
from prometheus_client.metrics_core import Metric
from prometheus_client.registry import Collector

from steersman.history.records import Reconcile, ReconcileEnd
from steersman.manager.metrics.counters import ControllerCounters, Histogram, QueueCounters

if TYPE_CHECKING:
    from steersman.controller.controller import Controller
    from steersman.informer.informer import Informer


class Metrics:
    """All metrics of one manager, in a registry of its own."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        self._others: list[CollectorRegistry] = []
        #: The author's own metrics, which all managers of a process share.
        self._authors: list[CollectorRegistry] = []
        self._scrape = _Scrape()
        self.registry.register(self._scrape)
        self.leader = Gauge(
            "leader_election_master_status", "Whether this process leads.", ["name"], registry=self.registry
        )
        self.stalls = Counter(
            "steersman_event_loop_stalls", "Times that the event loop was blocked.", registry=self.registry
        )

    def include(self, registry: CollectorRegistry) -> None:
        """Serve the metrics of another registry, too."""
        self._others.append(registry)

    def include_shared(self, registry: CollectorRegistry) -> None:
        """Serve the metrics of a registry that other managers of the process serve, too."""
        self._authors.append(registry)

    def controller(self, name: str, workers: int) -> None:
        """Count the reconciles of one controller from now on."""
        self._scrape.controller_counters[name] = ControllerCounters(name, workers)

    def count(self, run: Reconcile | ReconcileEnd) -> None:
        """Count one reconcile."""
        counters = self._scrape.controller_counters.get(run.controller)
        if counters is not None:
            counters.add(run)

    def queue(self, name: str) -> QueueCounters:
        """Return the counters of one queue."""
        counters = QueueCounters(name)
        self._scrape.queue_counters.append(counters)
        return counters

    def observe(self, controllers: Iterable["Controller[Any]"], informers: Iterable["Informer[Any]"]) -> None:
        """Serve the state of controllers and informers as it is at the scrape."""
        self._scrape.controllers = list(controllers)
        self._scrape.informers = informers

    def count_request(self, method: str, code: str) -> None:
        """Count one request to the API server."""
        requests = self._scrape.requests
        requests[method, code] = requests.get((method, code), 0) + 1

    def text(self) -> bytes:
        """Return all metrics in Prometheus' text format."""
        return self.own_text() + b"".join(map(generate_latest, self._authors))

    def own_text(self) -> bytes:
        """Return the metrics of this manager alone."""
        return b"".join(map(generate_latest, [self.registry, *self._others]))


#: Counters of a controller: name, help text, and how it is read.
_COUNTERS: Final[tuple[tuple[str, str, Callable[[ControllerCounters], int]], ...]] = (
    ("controller_runtime_reconcile_errors", "Reconciles that failed.", lambda one: one.errors),
    ("controller_runtime_terminal_reconcile_errors", "Reconciles that gave up.", lambda one: one.terminal),
    ("controller_runtime_reconcile_panics", "Reconciles that ended in SystemExit.", lambda one: one.panics),
    ("controller_runtime_reconcile_timeouts", "Reconciles that took too long.", lambda one: one.timeouts),
    ("steersman_reconcile_conflicts", "Reconciles of outdated objects.", lambda one: one.conflicts),
    ("steersman_hold_timeouts", "Keys let go before the cache had their writes.", lambda one: one.holds),
    ("steersman_malformed_objects", "Objects that did not decode.", lambda one: one.malformed_objects),
)
_GAUGES: Final[tuple[tuple[str, str, Callable[[ControllerCounters], int]], ...]] = (
    ("controller_runtime_max_concurrent_reconciles", "Workers there are.", lambda one: one.workers),
)
_QUEUE_LABELS: Final = ["name", "controller"]


class _Scrape(Collector):
    """Collect everything at the scrape."""

    def __init__(self) -> None:
        self.controller_counters: dict[str, ControllerCounters] = {}
        self.queue_counters: list[QueueCounters] = []
        self.controllers: list[Controller[Any]] = []
        self.informers: Iterable[Informer[Any]] = ()
        self.requests: dict[tuple[str, str], int] = {}

    def collect(self) -> Iterator[Metric]:
        """Yield all metrics."""
        yield from self._reconciles()
        yield from self._external_writes()
        yield from self._queue_counts()
        yield from self._queue_states()
        yield from self._informers()
        requests = CounterMetricFamily(
            "rest_client_requests", "Requests to the API server.", labels=["code", "method", "host"]
        )
        for (method, code), count in self.requests.items():
            requests.add_metric([code, method, "apiserver"], count)
        yield requests

    def _reconciles(self) -> Iterator[Metric]:
        total = CounterMetricFamily(
            "controller_runtime_reconcile", "Reconciles by result.", labels=["controller", "result"]
        )
        seconds = HistogramMetricFamily(
            "controller_runtime_reconcile_time_seconds", "Seconds that reconciles took.", labels=["controller"]
        )
        for one in self.controller_counters.values():
            for result, count in one.results.items():
                total.add_metric([one.name, result], count)
            _add(seconds, [one.name], one.seconds)
        yield from (total, seconds)
        for name, text, read in _COUNTERS:
            counter = CounterMetricFamily(name, text, labels=["controller"])
            for one in self.controller_counters.values():
                counter.add_metric([one.name], read(one))
            yield counter
        for name, text, read in _GAUGES:
            gauge = GaugeMetricFamily(name, text, labels=["controller"])
            for one in self.controller_counters.values():
                gauge.add_metric([one.name], read(one))
            yield gauge

    def _external_writes(self) -> Iterator[Metric]:
        writes = CounterMetricFamily(
            "steersman_external_writes", "Writes to other systems.", labels=["controller", "system", "result"]
        )
        for one in self.controller_counters.values():
            for (system, result), count in one.external_writes.items():
                writes.add_metric([one.name, system, result], count)
        yield writes

    def _queue_counts(self) -> Iterator[Metric]:
        adds = CounterMetricFamily("workqueue_adds", "Keys asked for.", labels=_QUEUE_LABELS)
        retries = CounterMetricFamily("workqueue_retries", "Keys added with back-off.", labels=_QUEUE_LABELS)
        waited = HistogramMetricFamily(
            "workqueue_queue_duration_seconds", "Seconds that keys waited for a worker.", labels=_QUEUE_LABELS
        )
        worked = HistogramMetricFamily(
            "workqueue_work_duration_seconds", "Seconds that keys were worked on.", labels=_QUEUE_LABELS
        )
        for one in self.queue_counters:
            labels = [one.name, one.name]
            adds.add_metric(labels, one.adds)
            retries.add_metric(labels, one.retries)
            _add(waited, labels, one.waited)
            _add(worked, labels, one.worked)
        yield from (adds, retries, waited, worked)

    def _queue_states(self) -> Iterator[Metric]:
        depth = GaugeMetricFamily("workqueue_depth", "Keys that are ready.", labels=[*_QUEUE_LABELS, "priority"])
        unfinished = GaugeMetricFamily(
            "workqueue_unfinished_work_seconds", "Seconds of work under way.", labels=_QUEUE_LABELS
        )
        longest = GaugeMetricFamily(
            "workqueue_longest_running_processor_seconds",
            "Seconds of the longest work under way.",
            labels=_QUEUE_LABELS,
        )
        label = ["controller"]
        active = GaugeMetricFamily("controller_runtime_active_workers", "Workers at work.", labels=label)
        hot = GaugeMetricFamily("steersman_hot_loops", "Keys that trigger themselves.", labels=label)
        held = GaugeMetricFamily("steersman_held_keys", "Keys that wait for the cache.", labels=label)
        shards = GaugeMetricFamily("steersman_shards", "Shards that are worked on.", labels=label)
        for controller in self.controllers:
            name = controller.reconciler.name
            if controller.shards is not None:
                shards.add_metric([name], len(controller.shards.keys.active))
            statistics = controller.queue.statistics()
            for priority, count in (statistics.ready or {0: 0}).items():
                depth.add_metric([name, name, str(priority)], count)
            unfinished.add_metric([name, name], statistics.unfinished_seconds)
            longest.add_metric([name, name], statistics.longest_seconds)
            active.add_metric([name], statistics.running)
            hot.add_metric([name], controller.hot_count)
            held.add_metric([name], controller.held_count)
        yield from (depth, unfinished, longest, active, hot, held, *((shards,) if shards.samples else ()))

    def _informers(self) -> Iterator[Metric]:
        """Yield the state of the caches, those of one resource together: their number and selectors may change."""
        label = ["resource"]
        objects = GaugeMetricFamily("steersman_informer_objects", "Cached objects.", labels=label)
        size = GaugeMetricFamily("steersman_informer_bytes", "Bytes of cached objects.", labels=label)
        synced = GaugeMetricFamily("steersman_informer_synced", "Whether the caches are complete.", labels=label)
        age = GaugeMetricFamily(
            "steersman_informer_age_seconds", "Seconds since the server was last heard of.", labels=label
        )
        together: dict[str, list[Informer[Any]]] = {}
        for informer in self.informers:
            together.setdefault(str(informer.resource.gvr), []).append(informer)
        for resource, informers in together.items():
            states = [informer.freshness() for informer in informers]
            objects.add_metric([resource], sum(map(len, informers)))
            size.add_metric([resource], sum(informer.store.bytes for informer in informers))
            synced.add_metric([resource], float(all(state.is_synced for state in states)))
            if ages := [state.age for state in states if state.age is not None]:
                age.add_metric([resource], max(ages))
        yield from (objects, size, synced, age)


def _add(family: HistogramMetricFamily, labels: list[str], distribution: Histogram) -> None:
    family.add_metric(labels, distribution.buckets(), distribution.total)
