"""Namespaces as the frame of other objects, and the end of objects: what may still be made, and what is finished."""

from typing import Any

from steersman.apiserver.resources.catalog import Catalog
from steersman.apiserver.resources.object_store import ObjectStore
from steersman.apiserver.resources.served_resource import ServedResource
from steersman.apiserver.status import Refusal, not_found

Document = dict[str, Any]


class Lifecycle:
    """Watches over namespaces and finalizers on behalf of every write."""

    def __init__(self, objects: ObjectStore, catalog: Catalog) -> None:
        self._objects = objects
        self._catalog = catalog

    def check_create(self, served: ServedResource, namespace: str, name: str) -> None:
        """Refuse to create in a namespace that is not there or is going away."""
        if not served.namespaced:
            return
        record = self._objects.store.get("namespaces", "", namespace)
        if record is None:
            raise not_found("namespaces", "", namespace)
        if record.is_deleting:
            raise self._terminating(served, namespace, name)

    @staticmethod
    def _terminating(served: ServedResource, namespace: str, name: str) -> Refusal:
        refusal = served.forbidden(
            name, f"unable to create new content in namespace {namespace} because it is being terminated"
        )
        cause = {
            "reason": "NamespaceTerminating",
            "message": f"namespace {namespace} is being terminated",
            "field": "metadata.namespace",
        }
        return Refusal(403, "Forbidden", refusal.message, details={**(refusal.details or {}), "causes": [cause]})

    def is_finished(self, served: ServedResource, obj: Document) -> bool:
        """Tell whether an object was only waiting for its finalizers, and has none left."""
        metadata = obj["metadata"]
        if "deletionTimestamp" not in metadata or metadata.get("finalizers"):
            return False
        if metadata.get("deletionGracePeriodSeconds"):
            return False
        return served.strategy.may_finish(obj)
