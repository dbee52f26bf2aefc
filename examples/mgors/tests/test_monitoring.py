"""Alert rules and the dashboard use only metrics that the operator has."""

import json
import re
from pathlib import Path

import pytest
import yaml
from prometheus_client import CollectorRegistry
from steersman import meta

from mgors.actions import NoAction, Wait
from mgors.api.mgors_v1 import Mgors, MgorsSpec
from mgors.metrics import Metrics
from mgors.plan import DIVERGED_DATA
from mgors.situation import Situation

FOLDER = Path(__file__).parents[1] / "monitoring"
#: Metrics of the framework.
FRAMEWORK = {"steersman_external_writes_total"}


def names() -> set[str]:
    """Return the names of all metrics of the operator."""
    registry = CollectorRegistry()
    Metrics(registry)
    return {name for metric in registry.collect() for name in (metric.name, f"{metric.name}_total")} | FRAMEWORK


def used(text: str) -> set[str]:
    """Return the metrics in a text."""
    return set(re.findall(r"\b(?:mgors|steersman)_[a-z_]+", text))


@pytest.mark.parametrize("file", ["alerts.yaml", "dashboard.json"])
def test_expressions_use_existing_metrics(file: str) -> None:
    """An alert on a metric that does not exist never fires."""
    text = (FOLDER / file).read_text()
    assert used(text)
    assert used(text) <= names()


def test_the_files_can_be_parsed_and_every_alert_says_what_to_do() -> None:
    """Prometheus and Grafana read them as they are."""
    [group] = yaml.safe_load((FOLDER / "alerts.yaml").read_text())["spec"]["groups"]
    assert all({"summary", "description"} <= {*rule["annotations"]} for rule in group["rules"])
    assert len({panel["id"] for panel in json.loads((FOLDER / "dashboard.json").read_text())["panels"]}) == 7


def test_a_wait_for_a_person_is_a_metric_until_it_is_over() -> None:
    """Only few reasons need a person; members that start do not."""
    registry = CollectorRegistry()
    metrics, mgors = Metrics(registry), Mgors(meta("shop", namespace="db"), MgorsSpec(members=3))
    labels = {"namespace": "db", "name": "shop", "reason": DIVERGED_DATA}

    def value() -> float | None:
        return registry.get_sample_value("mgors_attention_needed", labels)

    metrics.report(mgors, Situation(slots=()), Wait(DIVERGED_DATA, "…"))
    assert value() == 1
    metrics.report(mgors, Situation(slots=()), NoAction())
    assert value() == 0
    metrics.forget(mgors)
    assert value() is None
