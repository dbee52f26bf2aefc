"""The numbers of webhooks, under controller-runtime's names where it has one."""

from collections.abc import Callable
from datetime import datetime
from typing import Final

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram

#: Seconds: a verdict that takes more than a few hundred milliseconds makes every write feel slow.
_BUCKETS: Final = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0)


class WebhookMetrics:
    """Counts reviews, in a registry of its own."""

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

    def tell_expiry(self, valid_until: Callable[[], datetime | None]) -> None:
        """Show when the certificate that is presented ends, if there is one."""
        gauge = Gauge(
            "steersman_webhook_certificate_expiry_seconds",
            "When the certificate that is presented ends, in seconds since 1970; 0 where there is none.",
            registry=self.registry,
        )
        gauge.set_function(lambda: end.timestamp() if (end := valid_until()) is not None else 0.0)

    def begun(self, path: str) -> None:
        """Count a review that was begun."""
        self._running.labels(path).inc()

    def ended(self, path: str, code: int, seconds: float) -> None:
        """Count a review that was answered."""
        self._running.labels(path).dec()
        self._requests.labels(path, str(code)).inc()
        self._seconds.labels(path).observe(seconds)
