"""`NamespaceCleaner`: empties a namespace that is being deleted, reports what is left, and removes it."""

from collections import Counter
from collections.abc import Mapping

from steersman.apiserver.background.internal_client import Found, InternalClient, Place
from steersman.apiserver.background.tasks import BackgroundTasks
from steersman.apiserver.storage.history import Event
from steersman.json_types import JsonObject

_NAMESPACES = "namespaces"
_PODS = "pods"
_FINALIZER = "kubernetes"
#: How many objects are deleted in one turn, so that requests do not wait for a large namespace.
_AT_ONCE = 200


class NamespaceCleaner:
    """Deletes the content of namespaces that are being deleted: pods first, then everything else."""

    def __init__(self, client: InternalClient, tasks: BackgroundTasks) -> None:
        self._client = client
        self._tasks = tasks
        #: Namespaces that are being emptied.
        self._terminating: set[str] = set()

    def start(self) -> None:
        """Check every namespace."""
        self._terminating.clear()
        for record in self._client.objects.records_of(_NAMESPACES):
            if record.is_deleting:
                self._look_at(record.name)

    def observe(self, event: Event) -> None:
        """Note a write."""
        record = event.record
        if event.resource == _NAMESPACES:
            if event.type == "DELETED":
                self._terminating.discard(record.name)
            elif record.is_deleting:
                self._look_at(record.name)
        elif record.namespace in self._terminating:
            self._look_at(record.namespace)

    def _look_at(self, name: str) -> None:
        self._tasks.add((_NAMESPACES, name), lambda: self._clean(name))

    def _clean(self, name: str) -> None:
        found = self._client.find(Place(_NAMESPACES, "", name))
        if found is None or not found.record.is_deleting:
            return
        finalizers = (found.obj.get("spec") or {}).get("finalizers") or []
        if _FINALIZER not in finalizers:
            return
        self._terminating.add(name)
        resources = [resource for resource in self._client.objects.store.resources() if self._is_inside(resource)]
        if self._delete_some(name, [_PODS]):
            return  # each deletion is a write, which adds this task again
        pods = self._left(name, [_PODS])
        others = [resource for resource in resources if resource != _PODS]
        if not pods and self._delete_some(name, others):
            return
        left = {} if pods else self._left(name, others)
        found = self._tell(Place(_NAMESPACES, "", name), _conditions(left)) or found
        if not pods and not left:
            found.obj["spec"] = {**found.obj["spec"], "finalizers": [x for x in finalizers if x != _FINALIZER]}
            self._client.update(found, "finalize")

    def _is_inside(self, resource: str) -> bool:
        served = self._client.served(resource)
        return served is not None and served.namespaced

    def _delete_some(self, namespace: str, resources: list[str]) -> int:
        """Delete objects of some resources, a bounded number of them; return how many."""
        deleted = 0
        for resource in resources:
            for record in self._client.objects.records_of(resource, namespace):
                found = None if record.is_deleting else self._client.find(Place(resource, namespace, record.name))
                if found is not None:
                    self._client.delete(found)
                    deleted += 1
                if deleted == _AT_ONCE:
                    self._tasks.pause()
                    return deleted
        return deleted

    def _left(self, namespace: str, resources: list[str]) -> dict[str, list[Found]]:
        """Return the existing objects of some resources."""
        left: dict[str, list[Found]] = {}
        for resource in resources:
            for record in self._client.objects.records_of(resource, namespace):
                found = self._client.find(Place(resource, namespace, record.name))
                if found is not None:
                    left.setdefault(resource, []).append(found)
        return left

    def _tell(self, place: Place, conditions: list[JsonObject]) -> Found | None:
        """Report the remaining content in the status, if that changed."""
        found = self._client.find(place)
        if found is None:
            return None
        status = found.obj.get("status") or {}
        before = {item["type"]: item for item in status.get("conditions") or ()}
        now = self._client.now()
        for condition in conditions:
            old = before.get(condition["type"])
            is_same = old is not None and old["status"] == condition["status"]
            condition["lastTransitionTime"] = old["lastTransitionTime"] if old is not None and is_same else now
        ours = {condition["type"] for condition in conditions}
        kept = [item for kind, item in before.items() if kind not in ours]
        found.obj["status"] = {**status, "conditions": [*kept, *map(_ordered, conditions)]}
        self._client.update(found, "status")
        return self._client.find(place)


def _conditions(left: Mapping[str, list[Found]]) -> list[JsonObject]:
    return [
        _condition("NamespaceDeletionDiscoveryFailure", "ResourcesDiscovered", "All resources successfully discovered"),
        _condition(
            "NamespaceDeletionGroupVersionParsingFailure",
            "ParsedGroupVersions",
            "All legacy kube types successfully parsed",
        ),
        _condition(
            "NamespaceDeletionContentFailure",
            "ContentDeleted",
            "All content successfully deleted, may be waiting on finalization",
        ),
        _remaining(left),
        _finalizers(left),
    ]


def _condition(kind: str, reason: str, message: str, status: str = "False") -> JsonObject:
    return {"type": kind, "status": status, "reason": reason, "message": message}


def _ordered(condition: JsonObject) -> JsonObject:
    """Return a condition with its fields in the order in which Kubernetes writes them."""
    return {name: condition[name] for name in ("type", "status", "lastTransitionTime", "reason", "message")}


def _remaining(left: Mapping[str, list[Found]]) -> JsonObject:
    kind = "NamespaceContentRemaining"
    if not left:
        return _condition(kind, "ContentRemoved", "All content successfully removed")
    counts = sorted(f"{_title(found[0])} has {len(found)} resource instances" for found in left.values())
    return _condition(kind, "SomeResourcesRemain", f"Some resources are remaining: {', '.join(counts)}", "True")


def _title(found: Found) -> str:
    return f"{found.served.plural}.{found.served.group}"


def _finalizers(left: Mapping[str, list[Found]]) -> JsonObject:
    kind = "NamespaceFinalizersRemaining"
    counts = Counter(name for group in left.values() for found in group for name in found.finalizers)
    if not counts:
        return _condition(kind, "ContentHasNoFinalizers", "All content-preserving finalizers finished")
    told = ", ".join(f"{name} in {count} resource instances" for name, count in sorted(counts.items()))
    message = f"Some content in the namespace has finalizers remaining: {told}"
    return _condition(kind, "SomeFinalizersRemain", message, "True")
