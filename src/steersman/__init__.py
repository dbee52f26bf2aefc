"""A Kubernetes operator framework for Python: what an operator file needs, in one import.

Names are loaded when they are first used, so that ``import steersman`` costs next to nothing.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from steersman.version import __version__

if TYPE_CHECKING:
    from steersman.client.client import Client
    from steersman.controller.context import Context
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
    from steersman.objects.model import Model
    from steersman.objects.quantity import Quantity
    from steersman.objects.resource import Resource, Status, Unstructured
    from steersman.objects.times import Duration
    from steersman.schema.declaration import custom_resource
    from steersman.webhook.admission import Admission

_HOMES = {
    "Admission": "webhook.admission",
    "AlreadyOwned": "errors",
    "Blocked": "errors",
    "Client": "client.client",
    "Condition": "objects.meta",
    "Conflict": "errors",
    "Context": "controller.context",
    "Deny": "errors",
    "Duration": "objects.times",
    "Forbidden": "errors",
    "GroupVersionKind": "objects.identity",
    "Invalid": "errors",
    "Model": "objects.model",
    "NotFound": "errors",
    "ObjectKey": "objects.identity",
    "ObjectMeta": "objects.meta",
    "Operator": "manager.operator",
    "Permanent": "errors",
    "Quantity": "objects.quantity",
    "Resource": "objects.resource",
    "Retry": "errors",
    "Status": "objects.resource",
    "SteersmanError": "errors",
    "Unstructured": "objects.resource",
    "custom_resource": "schema.declaration",
    "meta": "objects.meta",
}

__all__ = [
    "Admission",
    "AlreadyOwned",
    "Blocked",
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
    "Permanent",
    "Quantity",
    "Resource",
    "Retry",
    "Status",
    "SteersmanError",
    "Unstructured",
    "__version__",
    "custom_resource",
    "meta",
]


def __getattr__(name: str) -> Any:
    """Load a name from its home on first use."""
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module 'steersman' has no attribute {name!r}")
    value = getattr(import_module(f"steersman.{home}"), name)
    globals()[name] = value
    return value
