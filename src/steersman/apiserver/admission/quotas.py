"""`Quotas`: rejects writes that exceed a ResourceQuota, and counts those that do not.

As in Kubernetes, a quota is enforced by its status: ``hard`` and ``used`` are set by a controller
(``background/quotas``), which counts again when objects go or shrink. What is admitted is added to ``used`` with the
write itself, so that two writes cannot use the same rest.
"""

from collections.abc import Iterator

from steersman.apiserver.admission.quota_usage import (
    Usage,
    is_counted_again,
    is_in_scope,
    missing_constraints,
    usage_of,
)
from steersman.apiserver.builtin.pods.quality_of_service import quality_of_service
from steersman.apiserver.resources.catalog import Catalog
from steersman.apiserver.resources.object_store import ObjectStore
from steersman.apiserver.resources.served_resource import ServedResource
from steersman.json_types import JsonObject
from steersman.objects.codec import decode_json
from steersman.objects.quantity import Quantity

QUOTAS = "resourcequotas"


def counts(quota: JsonObject, resource: str, obj: JsonObject) -> bool:
    """Return whether a quota counts an object."""
    is_best_effort = resource == "pods" and quality_of_service(obj["spec"]) == "BestEffort"
    return is_in_scope(quota, resource, obj, is_best_effort=is_best_effort)


class Quotas:
    """The quotas of one server."""

    def __init__(self, objects: ObjectStore, catalog: Catalog) -> None:
        self._objects = objects
        self._catalog = catalog
        #: Whether there is any quota: most servers never have one.
        self.is_active = False
        objects.listen({QUOTAS}, lambda _: self.look_again())

    def look_again(self) -> None:
        """Find out whether there are quotas: one was written, or the whole store was replaced."""
        self.is_active = self._objects.store.count(QUOTAS) > 0

    def check(self, served: ServedResource, obj: JsonObject, old: JsonObject | None) -> None:
        """Reject a write that exceeds a quota, or a pod that does not say how much it needs of what a quota limits."""
        for quota, added in self._concerned(served, obj, old):
            name, status = quota["metadata"]["name"], quota.get("status") or {}
            if served.stored_as == "pods" and (lacking := missing_constraints(obj, status["hard"])):
                raise served.forbidden(obj["metadata"].get("name", ""), f"failed quota: {name}: must specify {lacking}")
            hard, used = _quantities(status["hard"]), _quantities(status.get("used") or {})
            over = sorted(key for key in added if (used[key] + added[key]).value > hard[key].value)
            if over:
                texts = [_listed(amounts, over) for amounts in (added, used, hard)]
                why = f"exceeded quota: {name}, requested: {texts[0]}, used: {texts[1]}, limited: {texts[2]}"
                raise served.forbidden(obj["metadata"].get("name", ""), why)

    def charge(self, served: ServedResource, obj: JsonObject, old: JsonObject | None) -> None:
        """Add what was written to the quotas that count it."""
        quotas = self._catalog.find("", "v1", QUOTAS)
        if quotas is None:
            return
        for quota, added in self._concerned(served, obj, old):
            if not added:
                continue
            status = quota["status"]
            used = {key: (Quantity(status["used"][key]) + amount).canonical() for key, amount in added.items()}
            self._objects.put(quotas, {**quota, "status": {**status, "used": {**status["used"], **used}}})

    def _concerned(
        self, served: ServedResource, obj: JsonObject, old: JsonObject | None
    ) -> Iterator[tuple[JsonObject, Usage]]:
        """Yield the quotas whose usage a write increases, each with the increase."""
        resource, namespace = served.stored_as, obj["metadata"].get("namespace", "")
        if not namespace or (old is not None and not is_counted_again(resource)):
            return
        usage = usage_of(resource, obj)
        before = {} if old is None else usage_of(resource, old)
        for record in self._objects.records_of(QUOTAS, namespace):
            quota: JsonObject = decode_json(record.raw)
            status = quota.get("status") or {}
            known = (status.get("hard") or {}).keys() & (status.get("used") or {}).keys()
            added = {key: usage[key] - before[key] if key in before else usage[key] for key in known & usage.keys()}
            added = {key: amount for key, amount in added.items() if amount.value > 0}
            if (added or resource == "pods") and status.get("hard") and counts(quota, resource, obj):
                yield quota, added


def _quantities(amounts: dict[str, str]) -> Usage:
    return {name: Quantity(text) for name, text in amounts.items()}


def _listed(amounts: Usage, names: list[str]) -> str:
    return ",".join(f"{name}={amounts[name].canonical()}" for name in names)
