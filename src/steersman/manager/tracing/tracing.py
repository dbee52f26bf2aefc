"""`Tracing`: one span for each reconcile and each review of a webhook, made from its record.

A span begins with its run, because code that the run calls (an HTTP client, a database driver) makes children of the
current span, and because requests carry its context. Everything in it comes from the record when the run has ended::

    reconcile Site ──link──▶ the run whose write caused this one, or the run before it (retry, timer)
      ├─ apply ConfigMap a         requests to the API server, by their times in the record
      ├─ status Site a
      ├─ GET dns.example.com       requests of ``ctx.http``, made while they are under way: they pass their context on
      └─ mongodb: add member a     writes to other systems

Records have no secrets, so that spans have none.
"""

import logging
from collections import OrderedDict
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import Token
from datetime import datetime, timedelta
from typing import Any, Final, NamedTuple

from opentelemetry import context as otel_context
from opentelemetry.context import Context
from opentelemetry.trace import Span, SpanContext, SpanKind, StatusCode, TracerProvider, set_span_in_context
from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

from steersman.history.records import CauseType, ObjectName, Reconcile, Verb, WebhookCall
from steersman.transport.services import ServiceCall
from steersman.version import __version__

#: Writes, and last runs of objects, to which later runs can be linked.
_REMEMBERED: Final = 10_000
#: Links of one span.
_LINKS: Final = 32
#: Causes that come from the run before: they have no object.
_OWN_CAUSES: Final = (CauseType.RETRY, CauseType.TIMER)
#: The lowest HTTP status of a failure: of a review that we answer, and of an answer that we get.
_FAILED_CALL: Final = 500
_FAILED_ANSWER: Final = 400

_log = logging.getLogger("steersman.manager")
_propagator = TraceContextTextMapPropagator()
_Attributes = dict[str, str | int | float | bool]


class RunSpan(NamedTuple):
    """The span of a run that has begun."""

    span: Span
    token: Token[Context]


class Tracing:
    """Makes spans. ``provider`` exports them, and is shut down by its owner."""

    def __init__(self, provider: TracerProvider) -> None:
        self._tracer = provider.get_tracer("steersman", __version__)
        #: Spans of the runs that wrote a version of an object, and of the last run of each object; oldest first.
        self._writers: OrderedDict[tuple[ObjectName, str], SpanContext] = OrderedDict()
        self._last: OrderedDict[ObjectName, SpanContext] = OrderedDict()

    def begin(self, name: ObjectName, started: datetime) -> RunSpan:
        """Begin the span of a run, and make it the current one of this task."""
        span = self._tracer.start_span(
            f"reconcile {name.kind}", context=Context(), kind=SpanKind.CONSUMER, start_time=_nanoseconds(started)
        )
        return RunSpan(span, otel_context.attach(set_span_in_context(span)))

    def end(self, run: RunSpan, record: Reconcile | None) -> None:
        """End the span of a run by its record; without a record it has no more than its times."""
        otel_context.detach(run.token)
        if record is None:
            run.span.end()
            return
        own = run.span.get_span_context()
        if run.span.is_recording():
            try:
                self._describe(run.span, record)
                self._add_children(set_span_in_context(run.span, Context()), record)
            except Exception:  # noqa: BLE001 - the run is over: nothing that goes wrong here may fail or repeat it
                _log.exception("the span of a run is incomplete")
        for write in record.writes:
            if write.version:
                _remember(self._writers, (write.object, write.version), own)
        _remember(self._last, record.object, own)
        run.span.end(_nanoseconds(record.started, record.seconds))

    def add_call(self, call: WebhookCall) -> None:
        """Make the span of a review, as a child of the request that the API server reviewed."""
        parent = _propagator.extract({"traceparent": call.trace}) if call.trace else Context()
        span = self._tracer.start_span(
            f"webhook {call.webhook}",
            context=parent,
            kind=SpanKind.SERVER,
            start_time=_nanoseconds(call.started),
            attributes=_call_attributes(call),
        )
        if call.status >= _FAILED_CALL:
            span.set_status(StatusCode.ERROR)
        span.end(_nanoseconds(call.started, call.seconds))

    @contextmanager
    def service_call(self, call: ServiceCall) -> Iterator[None]:
        """Make the span of a request to an HTTP service, as a child of the current one, and pass its context on.

        The path is not shown: the addresses of webhooks are secrets.
        """
        server = call.server
        span = self._tracer.start_span(
            f"{call.method} {server.host}",
            kind=SpanKind.CLIENT,
            start_time=_nanoseconds(call.clock.now()),
            attributes={
                "http.request.method": call.method,
                "server.address": server.host,
                "server.port": server.port,
                "url.scheme": "https" if server.is_tls else "http",
            },
        )
        _propagator.inject(call.headers, set_span_in_context(span))
        try:
            yield
        except BaseException as error:
            span.set_attribute("error.type", type(error).__name__)
            span.set_status(StatusCode.ERROR, type(error).__name__)
            raise
        finally:
            if call.status:
                span.set_attribute("http.response.status_code", call.status)
            if call.status >= _FAILED_ANSWER:
                span.set_status(StatusCode.ERROR)
            span.end(_nanoseconds(call.clock.now()))

    @staticmethod
    def headers() -> dict[str, str]:
        """Return the headers that carry the current span to another process."""
        carrier: dict[str, str] = {}
        _propagator.inject(carrier)
        return carrier

    def _describe(self, span: Span, record: Reconcile) -> None:
        span.set_attributes(_run_attributes(record))
        for linked in {one.span_id: one for one in self._linked(record)}.values():
            span.add_link(linked)
        at = _nanoseconds(record.started)
        for cause in record.causes:
            span.add_event("cause", {"steersman.cause": str(cause)}, timestamp=at)
        end = _nanoseconds(record.started, record.seconds)
        for condition in record.conditions:
            span.add_event("condition", {"steersman.condition": f"{condition}: {condition.message}"}, timestamp=end)
        if record.is_failure:
            span.set_status(StatusCode.ERROR, record.message or record.reason)

    def _linked(self, record: Reconcile) -> Iterator[SpanContext]:
        """Yield the spans of the runs that caused this one."""
        for cause in record.causes[:_LINKS]:
            found = None
            if cause.object is not None and cause.version:
                found = self._writers.get((cause.object, cause.version))
            elif cause.type in _OWN_CAUSES:
                found = self._last.get(record.object)
            if found is not None:
                yield found

    def _add_children(self, parent: Context, record: Reconcile) -> None:
        for read in record.reads:
            if read.seconds:
                what = read.kind if read.object is None else read.object.within(record.object.namespace)
                self._child(parent, f"read {what}", record, (read.at, read.seconds))
        for write in record.writes:
            name = f"{_VERBS.get(write.verb, str(write.verb))} {write.object.within(record.object.namespace)}"
            self._child(parent, name, record, (write.at, write.seconds), error=write.error)
        for external in record.external_writes:
            error = "" if external.result == "succeeded" else str(external.result)
            attributes: _Attributes = {"peer.service": external.system, "steersman.result": str(external.result)}
            name = f"{external.system}: {external.description}"
            self._child(parent, name, record, (external.at, external.seconds), error=error, attributes=attributes)

    def _child(
        self,
        parent: Context,
        name: str,
        record: Reconcile,
        times: tuple[float, float],
        *,
        error: str = "",
        attributes: _Attributes | None = None,
    ) -> None:
        at, seconds = times
        span = self._tracer.start_span(
            name,
            context=parent,
            kind=SpanKind.CLIENT,
            start_time=_nanoseconds(record.started, at),
            attributes=attributes,
        )
        if error:
            span.set_status(StatusCode.ERROR, error)
        span.end(_nanoseconds(record.started, at + seconds))


_VERBS: Final = {
    Verb.CREATED: "create",
    Verb.CHANGED: "change",
    Verb.APPLIED: "apply",
    Verb.UNCHANGED: "apply",
    Verb.DELETED: "delete",
    Verb.STATUS: "status",
    Verb.FAILED: "write",
}


def _run_attributes(record: Reconcile) -> _Attributes:
    attributes: dict[str, Any] = {
        **_object_attributes(record.object),
        "steersman.controller": record.controller,
        "steersman.object.uid": record.uid,
        "steersman.generation": record.generation,
        "steersman.reconcile": record.number,
        "steersman.failures_before": record.failures_before,
        "steersman.is_cleanup": record.is_cleanup,
        "steersman.queued_seconds": record.queued,
        "steersman.result": str(record.result),
    }
    if record.reason:
        attributes["steersman.reason"] = record.reason
    return attributes


def _call_attributes(call: WebhookCall) -> _Attributes:
    attributes: _Attributes = {"http.response.status_code": call.status, "steersman.operation": call.operation}
    if call.object is not None:
        attributes |= _object_attributes(call.object)
    if call.is_allowed is not None:
        attributes["steersman.allowed"] = call.is_allowed
    return attributes


def _object_attributes(name: ObjectName) -> _Attributes:
    return {
        "k8s.namespace.name": name.namespace,
        "steersman.object.kind": name.kind,
        "steersman.object.group": name.group,
        "steersman.object.name": name.name,
    }


def _remember(known: OrderedDict[Any, SpanContext], key: Any, span: SpanContext) -> None:
    known[key] = span
    known.move_to_end(key)
    if len(known) > _REMEMBERED:
        known.popitem(last=False)


def _nanoseconds(moment: datetime, seconds: float = 0.0) -> int:
    whole = moment + timedelta(seconds=seconds)
    return int(whole.timestamp()) * 1_000_000_000 + whole.microsecond * 1000
