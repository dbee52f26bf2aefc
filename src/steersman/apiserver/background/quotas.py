"""`QuotaCounter`: keeps the status of ResourceQuotas.

It counts when a quota is written, and again when an object that a quota may count goes or changes. Objects that are
added were counted when they were admitted.
"""

from steersman.apiserver.admission.quota_usage import Usage, is_counted_again, total, usage_of
from steersman.apiserver.admission.quotas import QUOTAS, counts
from steersman.apiserver.background.internal_client import InternalClient, Place
from steersman.apiserver.background.tasks import BackgroundTasks
from steersman.apiserver.storage.history import Event
from steersman.json_types import JsonObject
from steersman.objects.codec import decode_json
from steersman.objects.quantity import Quantity

_ZERO = Quantity("0")
_COUNT = "count/"
#: Resources that a quota limits by their plain name.
_PLAIN = frozenset({"configmaps", "replicationcontrollers", QUOTAS, "secrets"})


class QuotaCounter:
    """Counts what each quota limits."""

    def __init__(self, client: InternalClient, tasks: BackgroundTasks) -> None:
        self._client = client
        self._tasks = tasks

    def start(self) -> None:
        """Count all quotas."""
        for record in self._client.objects.records_of(QUOTAS):
            self._look_at(record.namespace)

    def observe(self, event: Event) -> None:
        """Note a write."""
        if not self._client.objects.store.count(QUOTAS) or not event.record.namespace:
            return
        if event.resource == QUOTAS:
            is_stale = event.type == "ADDED" or _is_stale(decode_json(event.record.raw))
        else:
            is_stale = event.type == "DELETED" or (event.type == "MODIFIED" and is_counted_again(event.resource))
        if is_stale:
            self._look_at(event.record.namespace)

    def _look_at(self, namespace: str) -> None:
        self._tasks.add(("quotas", namespace), lambda: self._count(namespace))

    def _count(self, namespace: str) -> None:
        for record in self._client.objects.records_of(QUOTAS, namespace):
            found = self._client.find(Place(QUOTAS, namespace, record.name))
            if found is None:
                continue
            hard = (found.obj.get("spec") or {}).get("hard") or {}
            used = self._used(found.obj, namespace, hard)
            status = {"hard": hard, "used": used}
            if found.obj.get("status") != status:
                found.obj["status"] = status
                self._client.update(found, subresource="status")

    def _used(self, quota: JsonObject, namespace: str, hard: JsonObject) -> dict[str, str]:
        amounts: Usage = {}
        for resource in {_source(name) for name in hard}:
            objects = (decode_json(record.raw) for record in self._client.objects.records_of(resource, namespace))
            usages = [usage_of(resource, obj) for obj in objects if counts(quota, resource, obj)]
            amounts |= total(usages)
        return {name: amounts.get(name, _ZERO).canonical() for name in hard}


def _is_stale(quota: JsonObject) -> bool:
    """Return whether a quota limits something else than when it was counted, or its count is gone."""
    hard, status = (quota.get("spec") or {}).get("hard") or {}, quota.get("status") or {}
    return (status.get("hard") or {}) != hard or (status.get("used") or {}).keys() != hard.keys()


def _source(name: str) -> str:
    """Return the resource whose objects use what a quota limits under a name."""
    if name.startswith(_COUNT):
        return name.removeprefix(_COUNT)
    if name.endswith(("requests.storage", "persistentvolumeclaims")):
        return "persistentvolumeclaims"
    if name.startswith("services"):
        return "services"
    return name if name in _PLAIN else "pods"
