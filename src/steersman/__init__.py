"""A Kubernetes operator framework for Python: what an operator file needs, in one import.

Names are loaded when they are first used, so that ``import steersman`` costs next to nothing. Every other public name
has its home one level below; ``docs/reference.md`` lists them.
"""

from typing import TYPE_CHECKING

from steersman.lazy_names import lazy_names
from steersman.version import __version__

if TYPE_CHECKING:
    from steersman.client.client import Client
    from steersman.controller.context import Context
    from steersman.controller.owned import Owned
    from steersman.controller.references import Reference
    from steersman.controller.triggers import Chosen, Watch
    from steersman.errors import (
        AlreadyOwned,
        Blocked,
        Conflict,
        Deny,
        Forbidden,
        Invalid,
        NotFound,
        Permanent,
        Retry,
        SteersmanError,
    )
    from steersman.manager.operator import Operator
    from steersman.objects.identity import GroupVersionKind, ObjectKey
    from steersman.objects.meta import Condition, ObjectMeta, meta
    from steersman.objects.model import Model, field
    from steersman.objects.quantity import Quantity
    from steersman.objects.resource import Resource, Status, Unstructured
    from steersman.objects.times import Duration
    from steersman.schema.declaration import custom_resource
    from steersman.webhook.admission import Admission

__all__ = [
    "Admission",
    "AlreadyOwned",
    "Blocked",
    "Chosen",
    "Client",
    "Condition",
    "Conflict",
    "Context",
    "Deny",
    "Duration",
    "Forbidden",
    "GroupVersionKind",
    "Invalid",
    "Model",
    "NotFound",
    "ObjectKey",
    "ObjectMeta",
    "Operator",
    "Owned",
    "Permanent",
    "Quantity",
    "Reference",
    "Resource",
    "Retry",
    "Status",
    "SteersmanError",
    "Unstructured",
    "Watch",
    "__version__",
    "custom_resource",
    "field",
    "meta",
]

__getattr__, __dir__ = lazy_names(
    __name__,
    {
        "steersman.client.client": ("Client",),
        "steersman.controller.context": ("Context",),
        "steersman.controller.owned": ("Owned",),
        "steersman.controller.references": ("Reference",),
        "steersman.controller.triggers": ("Chosen", "Watch"),
        "steersman.errors": (
            "AlreadyOwned",
            "Blocked",
            "Conflict",
            "Deny",
            "Forbidden",
            "Invalid",
            "NotFound",
            "Permanent",
            "Retry",
            "SteersmanError",
        ),
        "steersman.manager.operator": ("Operator",),
        "steersman.objects.identity": ("GroupVersionKind", "ObjectKey"),
        "steersman.objects.meta": ("Condition", "ObjectMeta", "meta"),
        "steersman.objects.model": ("Model", "field"),
        "steersman.objects.quantity": ("Quantity",),
        "steersman.objects.resource": ("Resource", "Status", "Unstructured"),
        "steersman.objects.times": ("Duration",),
        "steersman.schema.declaration": ("custom_resource",),
        "steersman.webhook.admission": ("Admission",),
        "steersman.version": ("__version__",),
    },
)
