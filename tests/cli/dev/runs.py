"""Records of runs, as an operator under development reports them."""

from datetime import UTC, datetime
from typing import Any

from steersman.cli.dev.reports import Reconciled
from steersman.history.records import CauseRecord, ObjectName, Reconcile


def reconciled(name: str = "a", *causes: CauseRecord, at: float = 2.0, **fields: Any) -> Reconciled:
    """Return the report of a run of a CustomPod."""
    known = {
        "controller": "custompod",
        "object": ObjectName("CustomPod", "default", name, "mock.com"),
        "uid": "u",
        "number": 1,
        "started": datetime.fromtimestamp(at, UTC),
        "seconds": 0.0031,
        "causes": causes,
    }
    return Reconciled(Reconcile(**{**known, **fields}))
