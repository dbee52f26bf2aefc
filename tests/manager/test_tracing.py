"""Spans are a view of the history: what an operator did, in the trace of its caller."""

import asyncio
import contextlib
import json
from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import pytest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import StatusCode, get_current_span

from steersman import Admission, Context, Model, Operator, Resource, Status, custom_resource, meta
from steersman.clock import RealClock
from steersman.errors import TransportError
from steersman.history.records import ObjectName, WebhookCall
from steersman.kinds.core_v1 import ConfigMap, Secret
from steersman.manager.manager import ManagerOptions
from steersman.manager.tracing.environment import tracing_from
from steersman.manager.tracing.tracing import Tracing
from steersman.protocol.http import Exchange, Request, Response
from steersman.serving.server import Listen, Server
from steersman.testing import Cluster

CANARY = "kanarienvogel-4711"


class ShopSpec(Model):
    """What a shop sells."""

    goods: str = "bread"


class ShopStatus(Status):
    """How often it was looked at."""

    runs: int = 0


@custom_resource("shops.example.com/v1")
class Shop(Resource[ShopSpec, ShopStatus]):
    """A shop."""


class Bank:
    """An HTTP service that writes down the headers that it gets."""

    def __init__(self, status: int = 200) -> None:
        self.requests: list[dict[str, str]] = []
        self._status = status

    def handle(self, request: Request, exchange: Exchange) -> None:
        """Answer anything."""
        self.requests.append(dict(request.headers))
        exchange.respond(Response(self._status, [("content-type", "application/json")], b"{}"))


@pytest.fixture
def exported() -> Iterator[InMemorySpanExporter]:
    """Export spans into memory."""
    exporter = InMemorySpanExporter()
    yield exporter
    exporter.shutdown()


@pytest.fixture
def options(exported: InMemorySpanExporter) -> ManagerOptions:
    """Return options that make spans."""
    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exported))
    return ManagerOptions(tracing=Tracing(provider))


def shops(current: list[str]) -> Operator:
    """Return an operator that keeps shops, and asks a bank."""
    operator = Operator("shops")
    operator.permit(Secret, "get")

    @operator.reconciler(Shop, owns=[ConfigMap])
    async def reconcile(shop: Shop, ctx: Context[Shop]) -> None:
        current.append(f"{get_current_span().get_span_context().span_id:016x}")
        secret = await ctx.get(Secret, "key")
        if shop.spec.goods == "nothing":
            raise ValueError(f"nothing to sell for {(secret.data or {})['key'].decode() if secret else ''}")
        await ctx.apply(ConfigMap(meta(shop.name), data={"goods": shop.spec.goods}))
        await ctx.http("http://bank.example.com").request("GET", "/accounts")

        async def pay() -> None:
            """Pay."""

        await ctx.external_write("bank", f"pay for {shop.name}", pay)
        if shop.status.runs < 1:
            shop.status.runs += 1
            ctx.requeue_after(0.01)

    return operator


def run_spans(exported: InMemorySpanExporter, name: str = "reconcile Shop") -> list[ReadableSpan]:
    """Return the spans of that name, oldest first."""
    return [span for span in exported.get_finished_spans() if span.name == name]


def span_id(span: ReadableSpan) -> int:
    """Return the id of a span."""
    assert span.context is not None
    return span.context.span_id


async def test_a_reconcile_is_a_span_with_its_requests_and_writes_as_children(
    cluster: Cluster, exported: InMemorySpanExporter, options: ManagerOptions
) -> None:
    """The trace shows where the time of a run went, and which run led to it."""
    current, bank = list[str](), Bank()
    cluster.services.serve("http://bank.example.com", bank)
    async with cluster.running(shops(current), options=options) as manager:
        await cluster.client.create(Shop(meta("a")))
        await cluster.eventually(lambda: len(run_spans(exported)) >= 2)
        await cluster.settle()
        runs = manager.history.of(ObjectName("Shop", "default", "a", "shops.example.com"))
    first, second, *_ = run_spans(exported)
    assert [f"{span_id(span):016x}" for span in run_spans(exported)] == current
    children = [
        span
        for span in exported.get_finished_spans()
        if span.parent is not None and span.parent.span_id == span_id(first)
    ]
    assert [child.name for child in children] == [
        "GET bank.example.com",
        "read Secret key",
        "create ConfigMap a",
        "status Shop a",
        "bank: pay for a",
    ]
    assert first.start_time is not None
    assert first.end_time is not None
    for child in children:
        assert child.start_time is not None
        assert child.end_time is not None
        assert first.start_time <= child.start_time <= child.end_time <= first.end_time + 1000
    assert dict(first.attributes or {})["steersman.object.name"] == "a"
    assert first.end_time - first.start_time == pytest.approx(runs[0].seconds * 1e9, abs=2000)
    # The second run was caused by the timer of the first, and by its write of the status.
    assert [link.context.span_id for link in second.links] == [span_id(first)]
    assert bank.requests[0]["traceparent"].split("-")[2] == f"{span_id(children[0]):016x}"


async def test_a_request_to_a_service_is_a_child_whatever_comes_of_it(
    cluster: Cluster, exported: InMemorySpanExporter, options: ManagerOptions
) -> None:
    """A service that rejects or does not answer is what a trace is read for; its path may be a secret, as in chats."""
    operator = Operator("shops")

    @operator.reconciler(Shop)
    async def reconcile(shop: Shop, ctx: Context[Shop]) -> None:
        url = "http://bank.example.com:81" if shop.name == "a" else "http://localhost:9"
        with contextlib.suppress(TransportError):
            await ctx.http(f"{url}/{CANARY}").request("POST", f"/{CANARY}", json={"key": CANARY}, timeout=1)

    cluster.services.serve("http://bank.example.com:81", Bank(status=404))
    async with cluster.running(operator, options=options):
        for name in ("a", "b"):
            await cluster.client.create(Shop(meta(name)))
        await cluster.eventually(lambda: len(run_spans(exported)) == 2)
    rejected, unanswered = run_spans(exported, "POST bank.example.com"), run_spans(exported, "POST localhost")
    [[rejected_span], [unanswered_span]] = rejected, unanswered
    assert dict(rejected_span.attributes or {}) == {
        "http.request.method": "POST",
        "http.response.status_code": 404,
        "server.address": "bank.example.com",
        "server.port": 81,
        "url.scheme": "http",
    }
    assert "error.type" in (unanswered_span.attributes or {})
    runs = {span_id(span) for span in run_spans(exported)}
    for span in (rejected_span, unanswered_span):
        assert span.status.status_code is StatusCode.ERROR
        assert span.parent is not None
        assert span.parent.span_id in runs
    assert CANARY not in json.dumps([one.to_json() for one in exported.get_finished_spans()])


async def test_a_failed_reconcile_is_a_failed_span_without_secrets(
    cluster: Cluster, exported: InMemorySpanExporter, options: ManagerOptions
) -> None:
    """Traces are kept longer and read by more people than logs."""
    async with cluster.running(shops([]), options=options, expect_failures=ValueError):
        await cluster.client.create(Secret(meta("key"), data={"key": CANARY.encode()}))
        await cluster.client.create(Shop(meta("a"), ShopSpec(goods="nothing")))
        await cluster.eventually(lambda: len(run_spans(exported)) >= 2)
    span = run_spans(exported)[0]
    assert span.status.status_code is StatusCode.ERROR
    assert "<secret>" in str(span.status.description)
    assert CANARY not in json.dumps([one.to_json() for one in exported.get_finished_spans()])


async def test_a_review_belongs_to_the_trace_of_the_write_that_it_reviews(
    cluster: Cluster, exported: InMemorySpanExporter, options: ManagerOptions
) -> None:
    """A webhook that makes a reconcile slow is seen in the trace of the reconcile."""
    operator = shops([])
    cluster.services.serve("http://bank.example.com", Bank())

    @operator.validate(ConfigMap)
    def anything(_: ConfigMap, __: Admission[ConfigMap]) -> None:
        """Allow it."""

    async with cluster.running(operator, options=options) as manager:
        await cluster.client.create(Shop(meta("a")))
        await cluster.eventually(lambda: len(run_spans(exported)) >= 1)
        call = manager.history.calls()[0]
    [review] = [span for span in exported.get_finished_spans() if span.name.startswith("webhook ")][:1]
    run = run_spans(exported)[0]
    assert review.context is not None
    assert run.context is not None
    assert call.trace.split("-")[1] == f"{run.context.trace_id:032x}"
    assert review.context.trace_id == run.context.trace_id


@pytest.mark.parametrize("trace", ["", "nonsense", "00-" + "0" * 32 + "-" + "0" * 16 + "-01", "ü" * 50])
def test_any_trace_context_of_a_caller_is_taken(exported: InMemorySpanExporter, trace: str) -> None:
    """Other containers of a pod reach a webhook, too."""
    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exported))
    call = WebhookCall(webhook="/a", started=RealClock().now(), seconds=0.1, status=500, trace=trace)
    Tracing(provider).add_call(call)
    [span] = exported.get_finished_spans()
    assert span.status.status_code is StatusCode.ERROR


class Collector:
    """Receives spans as OTLP over HTTP."""

    def __init__(self) -> None:
        self.names: list[str] = []
        self.services: set[str] = set()

    def handle(self, request: Request, exchange: Exchange) -> None:
        """Read the spans of a request."""
        assert request.target == "/v1/traces"
        received = ExportTraceServiceRequest.FromString(request.body)
        for group in received.resource_spans:
            self.services |= {one.value.string_value for one in group.resource.attributes if one.key == "service.name"}
            self.names += [span.name for scope in group.scope_spans for span in scope.spans]
        exchange.respond(Response(self._status, [("content-type", "application/x-protobuf")]))


async def test_spans_are_sent_to_the_endpoint_that_the_environment_names(
    cluster: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As for any other program with OpenTelemetry: one variable, and the spans are there."""
    collector = Collector()
    cluster.services.serve("http://bank.example.com", Bank())
    async with Server(collector, clock=RealClock(), listen=Listen()) as server:
        monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", server.url)
        block = tracing_from({"OTEL_EXPORTER_OTLP_ENDPOINT": server.url}, "shops")
        tracing = block.__enter__()
        async with cluster.running(shops([]), options=ManagerOptions(tracing=tracing)):
            await cluster.client.create(Shop(meta("a")))
            await cluster.settle()
        await asyncio.to_thread(block.__exit__, None, None, None)
    assert "reconcile Shop" in collector.names
    assert "create ConfigMap a" in collector.names
    assert collector.services == {"shops"}


@pytest.mark.parametrize(
    "environment", [{}, {"OTEL_EXPORTER_OTLP_ENDPOINT": "http://localhost:4318", "OTEL_SDK_DISABLED": "true"}]
)
def test_without_an_endpoint_there_are_no_spans(environment: dict[str, str]) -> None:
    """Most operators have none, and must not pay for them."""
    with tracing_from(environment, "shops") as tracing:
        assert tracing is None


def test_without_the_extra_a_warning_says_what_to_install(caplog: pytest.LogCaptureFixture) -> None:
    """An operator must not fail because of a variable that is set for all pods."""
    with tracing_from({"OTEL_EXPORTER_OTLP_ENDPOINT": "http://x"}, "shops", is_installed=lambda: False) as tracing:
        assert tracing is None
    assert "pip install 'steersman[otel]'" in caplog.text


async def test_spans_have_the_times_of_the_operators_clock(cluster: Cluster, options: ManagerOptions) -> None:
    """A test with a clock of its own reads the times that it has set."""
    assert options.tracing is not None
    tracing: Any = options.tracing
    started = cluster.clock.now() - timedelta(days=1)
    run = tracing.begin(ObjectName("Shop", "default", "a"), started)
    tracing.end(run, None)
    assert run.span.start_time == int(started.timestamp()) * 1_000_000_000 + started.microsecond * 1000
