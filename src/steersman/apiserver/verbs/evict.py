"""Evictions: deletes of pods that the disruption budget may reject, as `kubectl drain` sends them."""

from steersman.apiserver.messages.api_request import ApiRequest
from steersman.apiserver.messages.options import DeleteOptions
from steersman.apiserver.resources.catalog import Catalog
from steersman.apiserver.resources.label_selectors import selects
from steersman.apiserver.resources.object_store import ObjectStore
from steersman.apiserver.resources.served_resource import ServedResource
from steersman.apiserver.status import Refusal, bad_request, forbidden, internal_error
from steersman.apiserver.storage.record import Record
from steersman.apiserver.verbs.delete import AdmittedDeletion, Deleting
from steersman.json_types import JsonObject

_REFUSED = "Cannot evict pod as it would violate the pod's disruption budget."
_SEVERAL = "This pod has more than one PodDisruptionBudget, which the eviction subresource does not support."
#: Pods that no budget protects.
_UNPROTECTED = frozenset({"Succeeded", "Failed", "Pending"})
_RETRY_SECONDS = 10
_MOST_DISRUPTED = 2000


def check_eviction(eviction: JsonObject, name: str) -> None:
    """Reject a body that is not an eviction of the pod in the URL."""
    kind, version = eviction.get("kind") or "Eviction", eviction.get("apiVersion") or "policy/v1"
    if kind != "Eviction":
        raise bad_request(
            f'{kind} in version "{version.rpartition("/")[2]}" cannot be handled as a Eviction: no kind "{kind}" is '
            f'registered for version "{version}" in scheme "pkg/api/legacyscheme/scheme.go:30"'
        )
    if (eviction.get("metadata") or {}).get("name", "") != name:
        raise bad_request("name in URL does not match name in Eviction object")


class Evicting:
    """Evicts pods where their budgets allow it."""

    def __init__(self, objects: ObjectStore, catalog: Catalog, deleting: Deleting) -> None:
        self._objects = objects
        self._catalog = catalog
        self._deleting = deleting

    def evict(self, request: ApiRequest, record: Record, options: DeleteOptions) -> None:
        """Delete a pod, or reject that with 429; a budget that allows it has one disruption less from then on."""
        served, now = request.served, request.context.now
        self._deleting.check_preconditions(served, record, options)
        pod = self._objects.document(served, record)
        if not _is_unprotected(pod):
            self._ask_budget(pod, options, now)
        if not options.dry_run:
            record = self._mark(served, pod, record, now)
        self._deleting.commit(AdmittedDeletion(request, record, options))

    def _ask_budget(self, pod: JsonObject, options: DeleteOptions, now: str) -> None:
        budgets = self._catalog.find("policy", "v1", "poddisruptionbudgets")
        if budgets is None:
            return
        namespace, labels = pod["metadata"].get("namespace", ""), pod["metadata"].get("labels")
        found = [self._objects.document(budgets, record) for record in self._objects.records(budgets, namespace)]
        found = [budget for budget in found if _protects(budget, labels)]
        if len(found) > 1:
            raise internal_error(_SEVERAL)
        for budget in found:
            if _may_go_unhealthy(pod, budget):
                continue
            status = _disrupted(budget, pod["metadata"]["name"], now)
            if not options.dry_run:
                self._objects.put(budgets, {**budget, "status": status})

    def _mark(self, served: ServedResource, pod: JsonObject, record: Record, now: str) -> Record:
        """Set the condition that tells why the pod is deleted."""
        status = pod.get("status") or {}
        others = [item for item in status.get("conditions") or () if item.get("type") != "DisruptionTarget"]
        condition = {
            "type": "DisruptionTarget",
            "status": "True",
            "lastProbeTime": None,
            "lastTransitionTime": now,
            "reason": "EvictionByEvictionAPI",
            "message": "Eviction API: evicting",
        }
        pod["status"] = {**status, "conditions": [*others, condition]}
        self._objects.put(served, pod)
        return self._objects.get(served, record.namespace, record.name) or record


def _protects(budget: JsonObject, labels: dict[str, str] | None) -> bool:
    """Return whether a budget selects a pod with these labels; without a selector it selects none."""
    selector = (budget.get("spec") or {}).get("selector")
    return selector is not None and selects(selector, labels)


def _is_unprotected(pod: JsonObject) -> bool:
    return "deletionTimestamp" in pod["metadata"] or (pod.get("status") or {}).get("phase") in _UNPROTECTED


def _may_go_unhealthy(pod: JsonObject, budget: JsonObject) -> bool:
    """Return whether an unready pod may be evicted without using up a disruption."""
    conditions = (pod.get("status") or {}).get("conditions") or ()
    if any(item.get("type") == "Ready" and item.get("status") == "True" for item in conditions):
        return False
    if (budget.get("spec") or {}).get("unhealthyPodEvictionPolicy") == "AlwaysAllow":
        return True
    status = budget.get("status") or {}
    wanted = status.get("desiredHealthy") or 0
    return wanted > 0 and (status.get("currentHealthy") or 0) >= wanted


def _disrupted(budget: JsonObject, pod: str, now: str) -> JsonObject:
    """Return the status of a budget after one more disruption; reject the eviction if none is allowed."""
    name, status = budget["metadata"]["name"], dict(budget.get("status") or {})
    if (status.get("observedGeneration") or 0) < (budget["metadata"].get("generation") or 0):
        raise _too_many(f"The disruption budget {name} is still being processed by the server.", _RETRY_SECONDS)
    allowed, pods = status.get("disruptionsAllowed") or 0, status.get("disruptedPods") or {}
    if allowed < 0:
        raise forbidden("poddisruptionbudget", "policy", name, "pdb disruptions allowed is negative")
    if len(pods) > _MOST_DISRUPTED:
        why = "DisruptedPods map too big - too many evictions not confirmed by PDB controller"
        raise forbidden("poddisruptionbudget", "policy", name, why)
    if not allowed:
        raise _too_many(_why_none(name, status), 0)
    return {**status, "disruptionsAllowed": allowed - 1, "disruptedPods": {**pods, pod: now}}


def _why_none(name: str, status: JsonObject) -> str:
    wanted, have = status.get("desiredHealthy") or 0, status.get("currentHealthy") or 0
    if have <= wanted:
        return f"The disruption budget {name} needs {wanted} healthy pods and has {have} currently"
    return f"The disruption budget {name} does not allow evicting pods currently"


def _too_many(why: str, seconds: int) -> Refusal:
    details: JsonObject = {"causes": [{"reason": "DisruptionBudget", "message": why}]}
    headers: tuple[tuple[str, str], ...] = ()
    if seconds:
        details["retryAfterSeconds"] = seconds
        headers = (("retry-after", str(seconds)),)
    return Refusal(429, "TooManyRequests", _REFUSED, details=details, headers=headers)
