"""Sets up tracing by the variables that OpenTelemetry defines; does nothing, and imports nothing, without them."""

import logging
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from importlib.util import find_spec
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from steersman.manager.tracing.tracing import Tracing

_log = logging.getLogger("steersman.manager")

#: Each of them asks for spans. Headers, timeouts, sampling and the name of the service have variables of their own.
_ENDPOINTS = ("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "OTEL_EXPORTER_OTLP_ENDPOINT")
_DISABLED = "OTEL_SDK_DISABLED"
_MODULES = ("opentelemetry.sdk", "opentelemetry.exporter.otlp.proto.http")


@contextmanager
def tracing_from(
    environment: Mapping[str, str], service: str, *, is_installed: Callable[[], bool] | None = None
) -> Iterator["Tracing | None"]:
    """Yield what makes spans and sends them over OTLP/HTTP; ``None`` if the environment does not ask for that.

    At the end of the block the spans that are left are sent.
    """
    named = next((name for name in _ENDPOINTS if environment.get(name)), "")
    if not named or environment.get(_DISABLED, "").lower() == "true":
        yield None
        return
    if not (is_installed or _is_installed)():
        _log.warning(
            "no spans are sent, because OpenTelemetry is not installed: pip install 'steersman[otel]'",
            extra={"variable": named},
        )
        yield None
        return
    # Imported here: most operators have no spans.
    from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter  # noqa: PLC0415 - see above
    from opentelemetry.sdk.resources import SERVICE_NAME, Resource  # noqa: PLC0415 - see above
    from opentelemetry.sdk.trace import TracerProvider  # noqa: PLC0415 - see above
    from opentelemetry.sdk.trace.export import BatchSpanProcessor  # noqa: PLC0415 - see above

    from steersman.manager.tracing.tracing import Tracing  # noqa: PLC0415 - see above

    resource = Resource.create(None if environment.get("OTEL_SERVICE_NAME") else {SERVICE_NAME: service})
    provider = TracerProvider(resource=resource)
    provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter()))
    try:
        yield Tracing(provider)
    finally:
        provider.shutdown()


def _is_installed() -> bool:
    try:
        return all(find_spec(module) is not None for module in _MODULES)
    except ModuleNotFoundError:
        return False
