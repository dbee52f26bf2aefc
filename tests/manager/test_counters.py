"""Metrics are a view of the history: what is counted of a record, under controller-runtime's names."""

from datetime import UTC, datetime
from typing import Any

import pytest

from steersman.history.records import (
    MALFORMED,
    ExternalWriteRecord,
    ObjectName,
    Reconcile,
    Result,
    WriteResult,
)
from steersman.manager.metrics.counters import ControllerCounters, result_label


def run(**fields: Any) -> Reconcile:
    """Return a record."""
    name = ObjectName("Site", "default", "a")
    known = {"controller": "site", "object": name, "uid": "u", "number": 1, "seconds": 0.01}
    return Reconcile(**{**known, "started": datetime(2026, 11, 16, tzinfo=UTC), **fields})


@pytest.mark.parametrize(
    ("fields", "label"),
    [
        ({}, "success"),
        ({"again_after": 5.0}, "requeue_after"),
        ({"result": Result.PAUSED}, "success"),
        ({"result": Result.PAUSED, "again_after": 5.0}, "requeue_after"),
        ({"result": Result.RETRY}, "requeue"),
        ({"result": Result.RETRY, "again_after": 5.0}, "requeue_after"),
        ({"result": Result.WAITING}, "requeue_after"),
        ({"result": Result.CONFLICT}, "error"),
        ({"result": Result.GAVE_UP}, "error"),
        ({"result": Result.FAILED}, "error"),
        ({"result": Result.STOPPED}, "error"),
    ],
)
def test_results_have_controller_runtimes_names(fields: dict[str, Any], label: str) -> None:
    """Existing dashboards keep working."""
    assert result_label(run(**fields)) == label


def test_a_record_is_counted_once_for_each_thing_that_it_tells() -> None:
    """Alerts are about these numbers."""
    counters = ControllerCounters("site", 1)
    written = ExternalWriteRecord("mongodb", "add", WriteResult.SUCCEEDED, 0.1)
    for record in (
        run(external_writes=(written, written)),
        run(result=Result.FAILED, is_timeout=True),
        run(result=Result.FAILED, is_panic=True, is_stale=True),
        run(result=Result.GAVE_UP),
        run(result=Result.CONFLICT),
        run(result=Result.GAVE_UP, reason=MALFORMED),
    ):
        counters.add(record)
    assert counters.results == {"success": 1, "error": 4, "requeue": 0, "requeue_after": 0}
    assert (counters.errors, counters.terminal, counters.conflicts) == (3, 1, 1)
    assert (counters.timeouts, counters.panics, counters.holds, counters.malformed_objects) == (1, 1, 1, 1)
    assert counters.external_writes == {("mongodb", "succeeded"): 2}
