"""Metrics of webhooks, under controller-runtime's names where it has one."""

from collections.abc import Callable, Mapping
from datetime import datetime
from functools import partial
from typing import Final

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram

from steersman.history.records import WebhookCall

#: Seconds: a webhook that takes more than a few hundred milliseconds makes every write slow.
_BUCKETS: Final = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0)


class WebhookMetrics:
    """Counts reviews by their records, in a registry of its own."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        self._requests = Counter(
            "controller_runtime_webhook_requests",
            "Reviews by HTTP status.",
            ["webhook", "code"],
            registry=self.registry,
        )
        self._seconds = Histogram(
            "controller_runtime_webhook_latency_seconds",
            "Seconds that reviews took.",
            ["webhook"],
            registry=self.registry,
            buckets=_BUCKETS,
        )
        self._running = Gauge(
            "controller_runtime_webhook_requests_in_flight", "Reviews under way.", ["webhook"], registry=self.registry
        )

    def show_expiry(self, valid_until: Callable[[], datetime | None]) -> None:
        """Add the metric of when the serving certificate expires."""
        gauge = Gauge(
            "steersman_webhook_certificate_expiry_seconds",
            "When the serving certificate expires, in seconds since 1970; 0 without a certificate.",
            registry=self.registry,
        )
        gauge.set_function(lambda: end.timestamp() if (end := valid_until()) is not None else 0.0)

    def show_active(self, active: Mapping[str, int]) -> None:
        """Show how many reviews are under way, by the path of their webhook; read at each scrape."""
        for path in active:
            self._running.labels(path).set_function(partial(active.__getitem__, path))

    def add(self, call: WebhookCall) -> None:
        """Count a review by its HTTP status and duration."""
        self._requests.labels(call.webhook, str(call.status)).inc()
        self._seconds.labels(call.webhook).observe(call.seconds)
