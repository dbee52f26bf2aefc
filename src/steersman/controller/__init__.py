"""From a change to a reconcile: triggers, predicates, the controller, and the context it hands to the author."""

from typing import TYPE_CHECKING

from steersman.lazy_names import lazy_names

if TYPE_CHECKING:
    from steersman.controller.context import Context
    from steersman.controller.keys.dynamic_watches import Told
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
    from steersman.controller.reports.causes import Cause
    from steersman.controller.triggers import Chosen, Watch, WatchedKind

__all__ = [
    "Cause",
    "Chosen",
    "Context",
    "Predicate",
    "Told",
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
]

__getattr__, __dir__ = lazy_names(
    __name__,
    {
        "steersman.controller.reports.causes": ("Cause",),
        "steersman.controller.context": ("Context",),
        "steersman.controller.keys.dynamic_watches": ("Told",),
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
        "steersman.controller.triggers": ("Chosen", "Watch", "WatchedKind"),
    },
)
