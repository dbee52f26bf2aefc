"""Lifecycle of objects: whether a namespace still accepts new ones, and whether one has no finalizers left."""

from steersman.apiserver.resources.catalog import Catalog
from steersman.apiserver.resources.object_store import ObjectStore
from steersman.apiserver.resources.served_resource import ServedResource
from steersman.apiserver.status import Refusal, not_found
from steersman.json_types import JsonObject


class Lifecycle:
    """Checks namespaces and finalizers for every write."""

    def __init__(self, objects: ObjectStore, catalog: Catalog) -> None:
        self._objects = objects
        self._catalog = catalog

    def check_create(self, served: ServedResource, namespace: str, name: str) -> None:
        """Reject a create in a namespace that does not exist or is being deleted."""
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

    def is_finished(self, served: ServedResource, obj: JsonObject) -> bool:
        """Return whether an object is being deleted and has no finalizers left."""
        metadata = obj["metadata"]
        if "deletionTimestamp" not in metadata or metadata.get("finalizers"):
            return False
        if metadata.get("deletionGracePeriodSeconds"):
            return False
        return served.strategy.may_finish(obj)
