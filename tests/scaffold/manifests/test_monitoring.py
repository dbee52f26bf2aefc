"""Alerts and a dashboard: they use only metrics that the operator serves, and survive Helm."""

import json
import re
from dataclasses import replace
from typing import Any

import pytest

from steersman.manager.operator import Operator
from steersman.scaffold.manifests.chart import chart_files
from steersman.scaffold.manifests.monitoring import dashboard, monitoring_objects
from steersman.scaffold.manifests.plain import manifest_files
from steersman.scaffold.manifests.shape import Shape
from steersman.testing.cluster import Cluster
from tests.scaffold.manifests import test_webhook_manifests
from tests.support import example_operator

SHAPE = Shape(image="a", namespace="fleet-system", monitoring=True)
OPERATORS = {"plain": example_operator.operator, "webhooks": test_webhook_manifests.operator}
METRIC = re.compile(r"\b(?:controller_runtime|workqueue|leader_election|rest_client|steersman)_[a-z0-9_]+")


def expressions(operator: Operator) -> list[str]:
    """Return every expression of the alerts and of the dashboard."""
    rules = monitoring_objects(operator, SHAPE)[1]["spec"]["groups"][0]["rules"]
    panels = dashboard(operator, SHAPE)["panels"]
    return [rule["expr"] for rule in rules] + [target["expr"] for panel in panels for target in panel["targets"]]


@pytest.mark.parametrize("which", OPERATORS)
async def test_every_metric_in_use_is_served(cluster: Cluster, which: str) -> None:
    """An alert on a misspelt metric never fires, and nothing else would show that."""
    operator = OPERATORS[which]
    async with cluster.running(operator) as manager:
        served = set(re.findall(r"^# TYPE (\S+)", manager.metrics.text().decode(), re.MULTILINE))
    asked = {name for expression in expressions(operator) for name in METRIC.findall(expression)}
    assert len(asked) > 10
    assert {re.sub(r"_bucket$", "", name) for name in asked} <= served


@pytest.mark.parametrize("which", OPERATORS)
def test_expressions_are_balanced_and_select_this_operator(which: str) -> None:
    """Another operator of the cluster has the same metrics."""
    for expression in expressions(OPERATORS[which]):
        assert expression.count("(") == expression.count(")")
        assert expression.count("{") == expression.count("}")
        for metric in METRIC.finditer(expression):
            following = expression[metric.end() :]
            assert following.startswith('{namespace="fleet-system",job="'), expression


def test_the_dashboard_is_json_in_a_config_map_that_grafana_finds() -> None:
    """Its sidecar searches for the label; users import the same text by hand."""
    [_, _, config_map] = monitoring_objects(example_operator.operator, SHAPE)
    assert config_map["metadata"]["labels"]["grafana_dashboard"] == "1"
    [text] = config_map["data"].values()
    panels: list[dict[str, Any]] = json.loads(text)["panels"]
    assert len({panel["id"] for panel in panels}) == len(panels)
    assert len({tuple(panel["gridPos"].values()) for panel in panels}) == len(panels)


def test_monitoring_is_included_only_on_request() -> None:
    """A cluster without the Prometheus operator does not know its kinds."""
    operator = example_operator.operator
    assert "monitoring.yaml" in manifest_files(operator, SHAPE)
    assert "monitoring.yaml" not in manifest_files(operator, replace(SHAPE, monitoring=False))
    template = chart_files(operator, SHAPE, version="1.0.0")["templates/monitoring.yaml"]
    assert "{{- if .Values.monitoring.enabled }}" in template


def test_the_service_monitor_scrapes_the_metrics_service() -> None:
    """Its selector and port are those of the Service."""
    files = manifest_files(example_operator.operator, SHAPE)
    assert "name: metrics" in files["service.yaml"]
    monitor = monitoring_objects(example_operator.operator, SHAPE)[0]
    assert monitor["spec"]["endpoints"][0]["port"] == "metrics"
    assert monitor["spec"]["selector"]["matchLabels"] == {"app.kubernetes.io/name": "fleet"}
