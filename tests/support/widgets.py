"""A custom kind for tests of the runtime; its CRD is handwritten, so that no other package is involved."""

from typing import Any

from steersman.objects.identity import ApiResource, GroupVersionKind
from steersman.objects.model import Model, sparse
from steersman.objects.registry import declare
from steersman.objects.resource import Resource, Status, Unstructured


class WidgetSpec(Model):
    """The desired state."""

    size: int = 0


class WidgetStatus(Status):
    """The observed state."""

    size: int = 0
    names: list[str] = sparse(list)


@declare(
    ApiResource(
        gvk=GroupVersionKind("runtime.example.com", "v1", "Widget"),
        plural="widgets",
        subresources=frozenset({"status"}),
    )
)
class Widget(Resource[WidgetSpec, WidgetStatus]):
    """A kind with a size."""


_FREE: dict[str, Any] = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}

DEFINITION = Unstructured(
    {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": "widgets.runtime.example.com"},
        "spec": {
            "group": "runtime.example.com",
            "scope": "Namespaced",
            "names": {"plural": "widgets", "singular": "widget", "kind": "Widget", "listKind": "WidgetList"},
            "versions": [
                {
                    "name": "v1",
                    "served": True,
                    "storage": True,
                    "subresources": {"status": {}},
                    "schema": {"openAPIV3Schema": {"type": "object", "properties": {"spec": _FREE, "status": _FREE}}},
                }
            ],
        },
    }
)
