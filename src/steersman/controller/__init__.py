"""From a change to a reconcile: triggers, predicates, the controller, and the context it hands to the author."""

from typing import TYPE_CHECKING

from steersman.lazy_names import lazy_names

if TYPE_CHECKING:
    from steersman.controller.causes import Cause
    from steersman.controller.context import Context
    from steersman.controller.followings import Told
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
    from steersman.controller.triggers import Chosen, Watch

__all__ = [
    "Cause",
    "Chosen",
    "Context",
    "Predicate",
    "Told",
    "Watch",
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
        "steersman.controller.causes": ("Cause",),
        "steersman.controller.context": ("Context",),
        "steersman.controller.followings": ("Told",),
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
        "steersman.controller.triggers": ("Chosen", "Watch"),
    },
)
