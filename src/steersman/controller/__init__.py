"""From a change to a reconcile: triggers, predicates, the controller, and the context that authors get.

Start reading at ``controller``: it takes keys from the queue and runs the reconciler. ``declaration``, ``triggers`` and
``predicates`` are what authors declare; ``context`` is what their functions get. Rooms: ``run`` (one run of a
reconciler), ``keys`` (what is remembered about each key between runs), ``reports`` (causes, writes and outcomes as
values).
"""

from typing import TYPE_CHECKING

from steersman.lazy_names import lazy_names

if TYPE_CHECKING:
    from steersman.controller.context import Context
    from steersman.controller.exclusive_work import ExclusiveWork
    from steersman.controller.keys.key_state import ChangeHandler
    from steersman.controller.owned import Owned
    from steersman.controller.predicates import (
        Predicate,
        all_of,
        always,
        annotations_changed,
        any_of,
        deletion_changed,
        generation_changed,
        labels_changed,
        meaningful,
        negate,
        on_objects,
    )
    from steersman.controller.references import Reference
    from steersman.controller.reports.causes import Cause
    from steersman.controller.run.external_writes import ExternalWriter, without_fence
    from steersman.controller.triggers import Chosen, Watch, WatchedKind

__all__ = [
    "Cause",
    "ChangeHandler",
    "Chosen",
    "Context",
    "ExclusiveWork",
    "ExternalWriter",
    "Owned",
    "Predicate",
    "Reference",
    "Watch",
    "WatchedKind",
    "all_of",
    "always",
    "annotations_changed",
    "any_of",
    "deletion_changed",
    "generation_changed",
    "labels_changed",
    "meaningful",
    "negate",
    "on_objects",
    "without_fence",
]

__getattr__, __dir__ = lazy_names(
    __name__,
    {
        "steersman.controller.reports.causes": ("Cause",),
        "steersman.controller.context": ("Context",),
        "steersman.controller.exclusive_work": ("ExclusiveWork",),
        "steersman.controller.keys.key_state": ("ChangeHandler",),
        "steersman.controller.run.external_writes": ("ExternalWriter", "without_fence"),
        "steersman.controller.predicates": (
            "Predicate",
            "all_of",
            "always",
            "annotations_changed",
            "any_of",
            "deletion_changed",
            "generation_changed",
            "labels_changed",
            "meaningful",
            "negate",
            "on_objects",
        ),
        "steersman.controller.owned": ("Owned",),
        "steersman.controller.references": ("Reference",),
        "steersman.controller.triggers": ("Chosen", "Watch", "WatchedKind"),
    },
)
