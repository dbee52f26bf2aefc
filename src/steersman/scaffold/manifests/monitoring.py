"""Monitoring of a deployed operator: a ServiceMonitor and alert rules for Prometheus, a dashboard for Grafana.

The kinds are those of the Prometheus operator, which many clusters have and some do not, so all of this is optional.
Every expression uses only metrics that ``manager.metrics`` and ``manager.webhook_metrics`` serve.
"""

import json
from collections.abc import Iterator
from typing import Final

from steersman.json_types import JsonObject
from steersman.manager.operator import Operator
from steersman.scaffold.manifests.shape import Shape, metadata, name_of, selector_of
from steersman.webhook.operator_webhooks import need_webhooks

_API_VERSION: Final = "monitoring.coreos.com/v1"
#: The label by which Grafana's usual sidecar finds dashboards in ConfigMaps.
_DASHBOARD_LABEL: Final = {"grafana_dashboard": "1"}
#: Days before its end at which a certificate must have been renewed.
_DAYS: Final = 20
_PANEL_WIDTH, _PANEL_HEIGHT, _COLUMNS = 12, 8, 2


def monitoring_objects(operator: Operator, shape: Shape) -> list[JsonObject]:
    """Return the ServiceMonitor, the PrometheusRule and the ConfigMap with the dashboard."""
    return [_service_monitor(operator, shape), _rules(operator, shape), _dashboard_map(operator, shape)]


def _service_monitor(operator: Operator, shape: Shape) -> JsonObject:
    name = name_of(operator)
    return {
        "apiVersion": _API_VERSION,
        "kind": "ServiceMonitor",
        "metadata": metadata(name, of=name, namespace=shape.namespace),
        "spec": {
            "selector": {"matchLabels": selector_of(name)},
            "endpoints": [{"port": "metrics", "path": "/metrics", "interval": "30s"}],
        },
    }


def _rules(operator: Operator, shape: Shape) -> JsonObject:
    name = name_of(operator)
    return {
        "apiVersion": _API_VERSION,
        "kind": "PrometheusRule",
        "metadata": metadata(name, of=name, namespace=shape.namespace),
        "spec": {"groups": [{"name": name, "rules": list(_alerts(operator, _selector(name, shape)))}]},
    }


def _selector(name: str, shape: Shape) -> str:
    """Return the labels that Prometheus adds to the metrics of this operator."""
    return f'{{namespace="{shape.namespace}",job="{name}-metrics"}}'


def _alert(name: str, expression: str, *, lasting: str, severity: str, summary: str, description: str) -> JsonObject:
    return {
        "alert": name,
        "expr": expression,
        "for": lasting,
        "labels": {"severity": severity},
        "annotations": {"summary": summary, "description": description},
    }


def _alerts(operator: Operator, of: str) -> Iterator[JsonObject]:
    name = name_of(operator)
    yield _alert(
        "OperatorNotLeading",
        f"(sum(leader_election_master_status{of}) or vector(0)) < 1",
        lasting="5m",
        severity="critical",
        summary=f"No replica of {name} leads",
        description="Nothing is reconciled. See the logs of its pods and the Lease in its namespace.",
    )
    yield _alert(
        "OperatorReconcileErrors",
        f"sum by (controller) (rate(controller_runtime_reconcile_errors_total{of}[10m]))"
        f" / sum by (controller) (rate(controller_runtime_reconcile_total{of}[10m])) > 0.1",
        lasting="15m",
        severity="warning",
        summary=f"Reconciles of {name} fail",
        description="{{ $value | humanizePercentage }} of the reconciles of {{ $labels.controller }} fail. The objects"
        " have events and conditions with the reason.",
    )
    yield _alert(
        "OperatorQueueStuck",
        f"(sum by (namespace, pod, controller) (workqueue_depth{of}) > 0)"
        f" and (sum by (namespace, pod, controller) (rate(controller_runtime_reconcile_total{of}[10m])) == 0)"
        f" and on (namespace, pod) (leader_election_master_status{of} == 1)",
        lasting="10m",
        severity="critical",
        summary=f"Objects wait for {name}, and none is reconciled",
        description="{{ $value }} objects wait for {{ $labels.controller }} in the leading pod {{ $labels.pod }}.",
    )
    yield _alert(
        "OperatorReconcileHangs",
        f"max by (pod, controller) (workqueue_longest_running_processor_seconds{of}) > 600",
        lasting="5m",
        severity="warning",
        summary=f"A reconcile of {name} does not end",
        description="{{ $labels.controller }} in {{ $labels.pod }} works on one object for"
        " {{ $value | humanizeDuration }}. timeout= on the reconciler bounds it.",
    )
    yield _alert(
        "OperatorCacheStale",
        f"max by (pod, resource) (steersman_informer_age_seconds{of}) > 180",
        lasting="5m",
        severity="critical",
        summary=f"{name} does not hear from the API server",
        description="The cache of {{ $labels.resource }} in {{ $labels.pod }} is {{ $value | humanizeDuration }} old.",
    )
    yield _alert(
        "OperatorHotLoop",
        f"max by (pod, controller) (steersman_hot_loops{of}) > 0",
        lasting="10m",
        severity="warning",
        summary=f"An object of {name} triggers its own reconcile",
        description="{{ $labels.controller }} in {{ $labels.pod }}: the log names the field that flaps.",
    )
    yield _alert(
        "OperatorBlocksItsEventLoop",
        f"sum by (pod) (increase(steersman_event_loop_stalls_total{of}[15m])) > 3",
        lasting="15m",
        severity="warning",
        summary=f"Something blocks {name}",
        description="The event loop in {{ $labels.pod }} stood still {{ $value | humanize }} times in 15 minutes:"
        " the log names the function.",
    )
    if need_webhooks([operator]):
        yield from _webhook_alerts(name, of)


def _webhook_alerts(name: str, of: str) -> Iterator[JsonObject]:
    failed = f'{of[:-1]},code=~"5.."}}'
    yield _alert(
        "OperatorWebhookCertificateExpires",
        f"min((steersman_webhook_certificate_expiry_seconds{of} > 0) - time()) < {_DAYS * 86400}",
        lasting="1h",
        severity="critical",
        summary=f"The certificate of the webhooks of {name} is not renewed",
        description="It ends in {{ $value | humanizeDuration }}; afterwards writes of its kinds are rejected.",
    )
    yield _alert(
        "OperatorWebhookFails",
        f"sum by (webhook) (rate(controller_runtime_webhook_requests_total{failed}[10m])) > 0",
        lasting="10m",
        severity="critical",
        summary=f"Webhooks of {name} fail",
        description="{{ $labels.webhook }} answers with an error.",
    )


# The dashboard.


def _dashboard_map(operator: Operator, shape: Shape) -> JsonObject:
    name = name_of(operator)
    meta = metadata(f"{name}-dashboard", of=name, namespace=shape.namespace)
    meta["labels"] |= _DASHBOARD_LABEL
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": meta,
        "data": {f"{name}.json": json.dumps(dashboard(operator, shape), indent=1)},
    }


def dashboard(operator: Operator, shape: Shape) -> JsonObject:
    """Return the dashboard as Grafana imports it."""
    name = name_of(operator)
    panels = list(_panels(_selector(name, shape), with_webhooks=need_webhooks([operator])))
    for number, panel in enumerate(panels):
        row, column = divmod(number, _COLUMNS)
        place = {"x": column * _PANEL_WIDTH, "y": row * _PANEL_HEIGHT, "w": _PANEL_WIDTH, "h": _PANEL_HEIGHT}
        panel |= {"id": number + 1, "gridPos": place}
    source = {"name": "datasource", "label": "Data source", "type": "datasource", "query": "prometheus"}
    return {
        "title": f"Operator {name}",
        "uid": f"steersman-{name}"[:40],
        "tags": ["operator", name],
        "schemaVersion": 39,
        "editable": True,
        "refresh": "30s",
        "time": {"from": "now-3h", "to": "now"},
        "templating": {"list": [source]},
        "panels": panels,
    }


def _panel(title: str, unit: str, targets: dict[str, str]) -> JsonObject:
    """Return a panel of time series: expressions by their legend."""
    source = {"type": "prometheus", "uid": "${datasource}"}
    return {
        "type": "timeseries",
        "title": title,
        "datasource": source,
        "fieldConfig": {"defaults": {"unit": unit, "min": 0}, "overrides": []},
        "targets": [
            {"refId": chr(ord("A") + number), "datasource": source, "expr": expression, "legendFormat": legend}
            for number, (legend, expression) in enumerate(targets.items())
        ],
    }


def _quantile(share: float, metric: str, of: str, label: str) -> str:
    return f"histogram_quantile({share}, sum by (le, {label}) (rate({metric}_bucket{of}[5m])))"


def _panels(of: str, *, with_webhooks: bool) -> Iterator[JsonObject]:
    yield _panel("Leader", "short", {"{{pod}}": f"leader_election_master_status{of}"})
    yield _panel(
        "Reconciles by result",
        "ops",
        {
            "{{controller}} {{result}}": "sum by (controller, result)"
            f" (rate(controller_runtime_reconcile_total{of}[5m]))"
        },
    )
    seconds = "controller_runtime_reconcile_time_seconds"
    yield _panel(
        "Time of a reconcile",
        "s",
        {
            "{{controller}} half": _quantile(0.5, seconds, of, "controller"),
            "{{controller}} 99 %": _quantile(0.99, seconds, of, "controller"),
        },
    )
    yield _panel(
        "Failed reconciles",
        "ops",
        {
            "{{controller}} failed": f"sum by (controller) (rate(controller_runtime_reconcile_errors_total{of}[5m]))",
            "{{controller}} gave up": "sum by (controller)"
            f" (rate(controller_runtime_terminal_reconcile_errors_total{of}[5m]))",
        },
    )
    yield _panel("Objects that wait", "short", {"{{controller}}": f"sum by (controller) (workqueue_depth{of})"})
    waited = "workqueue_queue_duration_seconds"
    yield _panel(
        "Time in the queue, and of the longest work",
        "s",
        {
            "{{controller}} waits, 99 %": _quantile(0.99, waited, of, "controller"),
            "{{controller}} works": f"max by (controller) (workqueue_longest_running_processor_seconds{of})",
        },
    )
    yield _panel("Age of the caches", "s", {"{{pod}} {{resource}}": f"steersman_informer_age_seconds{of}"})
    yield _panel("Cached objects", "short", {"{{resource}}": f"max by (resource) (steersman_informer_objects{of})"})
    yield _panel("Size of the caches", "bytes", {"{{resource}}": f"max by (resource) (steersman_informer_bytes{of})"})
    yield _panel(
        "Requests to the API server",
        "reqps",
        {"{{method}} {{code}}": f"sum by (method, code) (rate(rest_client_requests_total{of}[5m]))"},
    )
    yield _panel(
        "Blocked event loop, hot loops",
        "short",
        {
            "{{pod}} blocked": f"increase(steersman_event_loop_stalls_total{of}[5m])",
            "{{controller}} hot": f"max by (controller) (steersman_hot_loops{of})",
        },
    )
    if with_webhooks:
        latency = "controller_runtime_webhook_latency_seconds"
        yield _panel("Time of a review, 99 %", "s", {"{{webhook}}": _quantile(0.99, latency, of, "webhook")})
        reviews = f"sum by (webhook, code) (rate(controller_runtime_webhook_requests_total{of}[5m]))"
        yield _panel("Reviews", "reqps", {"{{webhook}} {{code}}": reviews})
