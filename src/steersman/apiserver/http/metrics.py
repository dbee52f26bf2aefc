"""Metrics of the server in the text format of Prometheus, under the names of kube-apiserver.

A request costs one look-up of its series and two counts; everything else happens when `/metrics` is read.
"""

from bisect import bisect_left
from collections.abc import Iterator, Mapping
from itertools import accumulate
from typing import TypeAlias

from steersman.apiserver.messages.info import Query, RequestInfo
from steersman.apiserver.resources.object_store import ObjectStore
from steersman.apiserver.watch.hub import WatchHub
from steersman.clock import Clock
from steersman.protocol.http import Exchange, Peer, Request, Response, Stream, Upgraded

MEDIA = "text/plain; version=0.0.4; charset=utf-8; escaping=underscores"
_SWITCHING = 101
_APPLY = "application/apply-patch"
_VERBS = {"create": "POST", "update": "PUT"}
_READS = frozenset({"get", "list", "watch"})
#: Verbs that have series of their own. A client can invent methods, and must not create series with them.
_KNOWN = frozenset({"APPLY", "CONNECT", "DELETE", "DELETECOLLECTION", "GET", "LIST", "PATCH", "POST", "PUT", "WATCH"})
#: The upper bounds of kube-apiserver's buckets in seconds; a last one has no bound.
_BOUNDS = (
    *(0.005, 0.025, 0.05, 0.1, 0.2, 0.4, 0.6, 0.8, 1.0, 1.25, 1.5, 2.0, 3.0),
    *(4.0, 5.0, 6.0, 8.0, 10.0, 15.0, 20.0, 30.0, 45.0, 60.0),
)
_NAMES = ("component", "dry_run", "group", "resource", "scope", "subresource", "verb", "version")

#: The values of `_NAMES`.
Labels: TypeAlias = tuple[str, str, str, str, str, str, str, str]


class Series:
    """The requests of one kind: how many ended with which code, and how long they took."""

    __slots__ = ("buckets", "codes", "in_flight", "seconds")

    def __init__(self) -> None:
        self.codes: dict[int, int] = {}
        self.buckets = [0] * (len(_BOUNDS) + 1)
        self.seconds = 0.0
        self.in_flight = 0

    def observe(self, code: int, seconds: float) -> None:
        """Count a response."""
        self.codes[code] = self.codes.get(code, 0) + 1
        self.buckets[bisect_left(_BOUNDS, seconds)] += 1
        self.seconds += seconds


class RequestMetrics:
    """Counts the requests to resources of one server."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._series: dict[Labels, Series] = {}

    def measured(
        self, verb: str, request: Request, info: RequestInfo, query: Query, exchange: Exchange
    ) -> "MeasuredExchange":
        """Return an exchange that is counted when it is answered."""
        if verb == "patch" and request.headers.get("content-type", "").startswith(_APPLY):
            verb = "apply"
        scope = "resource" if info.name or verb == "create" else "namespace" if info.namespace else "cluster"
        dry_run = "All" if "dryRun" in query else ""
        name = _VERBS.get(verb) or verb.upper()
        if name not in _KNOWN:
            name = "other"
        labels = ("apiserver", dry_run, info.group, info.resource, scope, info.subresource, name, info.version)
        series = self._series.get(labels)
        if series is None:
            series = self._series[labels] = Series()
        return MeasuredExchange(exchange, series, self._clock)

    def text(self, objects: ObjectStore, hub: WatchHub) -> str:
        """Return all metrics."""
        return "\n".join([*self._lines(objects, hub), ""])

    def _lines(self, objects: ObjectStore, hub: WatchHub) -> Iterator[str]:
        yield from _head("apiserver_request_total", "counter", "Requests by verb, resource, scope and response code.")
        series = sorted(self._series.items())
        for labels, one in series:
            for code, count in sorted(one.codes.items()):
                yield f"apiserver_request_total{_labels(labels, code=str(code))} {count}"
        name = "apiserver_request_duration_seconds"
        yield from _head(name, "histogram", "Response latency in seconds by verb, resource and scope.")
        for labels, one in series:
            yield from _histogram(name, labels, one)
        yield from self._gauges(objects, hub)

    def _gauges(self, objects: ObjectStore, hub: WatchHub) -> Iterator[str]:
        name = "apiserver_current_inflight_requests"
        yield from _head(name, "gauge", "Requests that are being answered.")
        for kind, is_read in (("mutating", False), ("readOnly", True)):
            count = sum(
                one.in_flight for labels, one in self._series.items() if (labels[6].lower() in _READS) is is_read
            )
            yield f'{name}{{request_kind="{kind}"}} {count}'
        name = "apiserver_longrunning_requests"
        yield from _head(name, "gauge", "Watches by resource.")
        counts: dict[str, int] = {}
        for watcher in hub.watchers():
            counts[watcher.resource] = counts.get(watcher.resource, 0) + 1
        for resource, count in sorted(counts.items()):
            yield f"{name}{_group_and_resource(resource, verb='WATCH')} {count}"
        name = "apiserver_resource_objects"
        yield from _head(name, "gauge", "Number of stored objects by resource.")
        for resource in objects.store.resources():
            yield f"{name}{_group_and_resource(resource)} {objects.store.count(resource)}"


class MeasuredExchange:
    """An exchange that notes when and how it was answered."""

    __slots__ = ("_clock", "_exchange", "_is_open", "_series", "_since")

    def __init__(self, exchange: Exchange, series: Series, clock: Clock) -> None:
        self._exchange = exchange
        self._series = series
        self._clock = clock
        self._since = clock.monotonic()
        self._is_open = True
        series.in_flight += 1

    @property
    def peer(self) -> Peer:
        """The client of the request."""
        return self._exchange.peer

    def respond(self, response: Response) -> None:
        """Respond with a complete body."""
        self._note(response.status)
        self._exchange.respond(response)

    def stream(self, status: int, headers: list[tuple[str, str]]) -> Stream:
        """Begin a response whose end is not known yet."""
        self._note(status)
        return self._exchange.stream(status, headers)

    def upgrade(self, headers: list[tuple[str, str]]) -> Upgraded:
        """Switch protocols and hand over the raw connection."""
        self._note(_SWITCHING)
        return self._exchange.upgrade(headers)

    def reset(self) -> None:
        """Break the connection without a response."""
        self._note(0)
        self._exchange.reset()

    def end(self) -> None:
        """Note that nothing follows: a client that disconnected without a response is no longer in flight."""
        if self._is_open:
            self._is_open = False
            self._series.in_flight -= 1

    def _note(self, code: int) -> None:
        series = self._series
        self._is_open = False
        series.in_flight -= 1
        series.observe(code, self._clock.monotonic() - self._since)


def _head(name: str, kind: str, text: str) -> Iterator[str]:
    yield f"# HELP {name} {text}"
    yield f"# TYPE {name} {kind}"


def _labels(values: Labels, **more: str) -> str:
    """Return labels in braces; names of resources and groups need no escapes."""
    named: Mapping[str, str] = {**dict(zip(_NAMES, values, strict=True)), **more}
    return "{" + ",".join(f'{name}="{_escaped(value)}"' for name, value in named.items()) + "}"


def _escaped(value: str) -> str:
    return value.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")


def _group_and_resource(stored_as: str, **more: str) -> str:
    resource, _, group = stored_as.partition(".")
    named = {"group": group, "resource": resource, **more}
    return "{" + ",".join(f'{name}="{value}"' for name, value in named.items()) + "}"


def _histogram(name: str, labels: Labels, series: Series) -> Iterator[str]:
    bounds = (*(f"{bound:g}" for bound in _BOUNDS), "+Inf")
    counts = list(accumulate(series.buckets))
    for bound, count in zip(bounds, counts, strict=True):
        yield f"{name}_bucket{_labels(labels, le=bound)} {count}"
    yield f"{name}_sum{_labels(labels)} {series.seconds!r}"
    yield f"{name}_count{_labels(labels)} {counts[-1]}"
