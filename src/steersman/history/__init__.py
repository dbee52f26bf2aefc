"""What an operator did and why: one typed, bounded stream that logs, metrics, ``steer why`` and the web view read.

Start with ``records``: the values, the `Reconcile` above all. ``history`` keeps the newest of them in memory,
``differences`` names the fields in which two documents differ, ``explanation`` makes a sentence and a timeline,
``replicas`` puts the answers of several processes together.

Everything here is pure: the clock is the caller's, nothing waits, and nothing reads an object of a cluster.
"""

from typing import TYPE_CHECKING

from steersman.lazy_names import lazy_names

if TYPE_CHECKING:
    from steersman.history.explanation import explain, sentence
    from steersman.history.history import History, HistoryLimits
    from steersman.history.records import KeyPhase, ObjectName, ObjectView, Reconcile
    from steersman.history.state import Introspection, Overview

__all__ = [
    "History",
    "HistoryLimits",
    "Introspection",
    "KeyPhase",
    "ObjectName",
    "ObjectView",
    "Overview",
    "Reconcile",
    "explain",
    "sentence",
]

__getattr__, __dir__ = lazy_names(
    __name__,
    {
        "steersman.history.explanation": ("explain", "sentence"),
        "steersman.history.history": ("History", "HistoryLimits"),
        "steersman.history.records": ("KeyPhase", "ObjectName", "ObjectView", "Reconcile"),
        "steersman.history.state": ("Introspection", "Overview"),
    },
)
