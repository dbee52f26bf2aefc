"""Pods: what creation sets, what each subresource changes, and graceful deletion."""

from typing import Any

from steersman.apiserver.builtin.kind import ServedKind, ServerContext
from steersman.apiserver.builtin.pods.admission import (
    add_default_tolerations,
    apply_runtime_class,
    check_limit_ranges,
    set_default_resources,
    set_priority,
)
from steersman.apiserver.builtin.pods.quality_of_service import quality_of_service
from steersman.apiserver.builtin.pods.service_accounts import use_service_account
from steersman.apiserver.builtin.strategy import BuiltinStrategy
from steersman.apiserver.managed_fields.field_set import set_of
from steersman.apiserver.resources.request_context import RequestContext
from steersman.golang.empty_values import same_content
from steersman.json_types import JsonObject

_FINISHED = frozenset({"Succeeded", "Failed"})


class PodStrategy(BuiltinStrategy):
    """Pods, which are admitted, changed through subresources, and deleted with a grace period."""

    answers_delete_with_object = True

    def __init__(self, served: ServedKind, server: ServerContext) -> None:
        super().__init__(served, server)
        self._objects = server.objects
        self._has_accounts = server.has_accounts
        kept = set_of(("spec",), ("metadata", "deletionTimestamp"), ("metadata", "ownerReferences"))
        self.reset_fields = {**self.reset_fields, "status": kept}

    def default(self, obj: JsonObject) -> None:
        """Set the defaults, and make ``podIP`` equal to the first of ``podIPs``; where they differ, it counts."""
        super().default(obj)
        status = obj.get("status") or {}
        address, several = status.get("podIP"), status.get("podIPs")
        if address and (not several or several[0].get("ip") != address):
            status["podIPs"] = [{"ip": address}]
        elif several and not address:
            status["podIP"] = several[0].get("ip") or ""

    def admit_create(self, obj: JsonObject) -> None:
        """Set what the admission plugins of pods set: resources, service account, priority, tolerations, overhead."""
        set_default_resources(self._objects, obj)
        if self._has_accounts:
            use_service_account(self._objects, obj)
        set_priority(self._objects, obj)
        add_default_tolerations(obj["spec"])
        apply_runtime_class(self._objects, obj)

    def prepare_create(self, obj: JsonObject, subresource: str, context: RequestContext) -> None:
        """Run the admission plugins, reject a pod that exceeds its LimitRanges, and set the status."""
        self.admit_create(obj)
        check_limit_ranges(self._objects, obj)
        if (obj["spec"].get("terminationGracePeriodSeconds") or 0) < 0:
            obj["spec"]["terminationGracePeriodSeconds"] = 1
        super().prepare_create(obj, subresource, context)

    def prepare_update(self, obj: JsonObject, old: JsonObject, subresource: str, context: RequestContext) -> None:
        """Keep default tolerations and the priority; a subresource changes its own part only."""
        if not subresource:
            add_default_tolerations(obj["spec"])
            for name in ("priority", "preemptionPolicy"):
                if obj["spec"].get(name) is None and name in old["spec"]:
                    obj["spec"][name] = old["spec"][name]
        elif subresource in _PARTS:
            obj["spec"] = _PARTS[subresource](obj["spec"], old["spec"])
            for name in ("labels", "annotations", "finalizers", "ownerReferences"):
                _keep(obj["metadata"], old["metadata"], name)
        super().prepare_update(obj, old, subresource, context)

    def initial_status(self, obj: JsonObject) -> JsonObject:
        """Return the phase ``Pending``, the quality-of-service class, and a condition for scheduling gates."""
        status = {"phase": "Pending", "qosClass": quality_of_service(obj["spec"])}
        if not obj["spec"].get("schedulingGates"):
            return status
        gated = {
            "type": "PodScheduled",
            "status": "False",
            "lastProbeTime": None,
            "lastTransitionTime": obj["metadata"]["creationTimestamp"],
            "reason": "SchedulingGated",
            "message": "Scheduling is blocked due to non-empty scheduling gates",
        }
        return {**status, "conditions": [gated]}

    def prepare_status(self, obj: JsonObject, old: JsonObject) -> None:
        """Keep owner references, and fields of the status that the node leaves out."""
        super().prepare_status(obj, old)
        obj["metadata"].pop("ownerReferences", None)
        if "ownerReferences" in old["metadata"]:
            obj["metadata"]["ownerReferences"] = old["metadata"]["ownerReferences"]
        status, before = dict(obj.get("status") or {}), old.get("status") or {}
        for name in ("qosClass", "observedGeneration"):
            if not status.get(name) and before.get(name):
                status[name] = before[name]
        if status.get("conditions"):
            status["conditions"] = _with_generations(status["conditions"], before.get("conditions") or [])
        obj["status"] = status

    def is_new_generation(self, obj: JsonObject, old: JsonObject) -> bool:
        """Return whether the spec changed."""
        return not same_content(obj.get("spec"), old.get("spec"))

    def grace_period(self, obj: JsonObject, asked: int | None) -> int | None:
        """Return the grace period; zero for a pod that never ran or has finished."""
        spec, status = obj["spec"], obj.get("status") or {}
        if asked is None:
            asked = spec.get("terminationGracePeriodSeconds", 30)
        if not spec.get("nodeName") or status.get("phase") in _FINISHED:
            return 0
        return 1 if asked < 0 else asked

    def fields(self, obj: JsonObject) -> dict[str, str]:
        """Return the fields that pods can be selected by."""
        spec, status = obj["spec"], obj.get("status") or {}
        return {
            "spec.nodeName": spec.get("nodeName", ""),
            "spec.restartPolicy": spec.get("restartPolicy", ""),
            "spec.schedulerName": spec.get("schedulerName", ""),
            "spec.serviceAccountName": spec.get("serviceAccountName", ""),
            "spec.hostNetwork": "true" if spec.get("hostNetwork") else "false",
            "status.phase": status.get("phase", ""),
            "status.podIP": status.get("podIP", ""),
            "status.nominatedNodeName": status.get("nominatedNodeName", ""),
        }

    def field_label_error(self, label: str) -> str:
        """Return an error for a label that is not a field selector of pods."""
        known = {
            "metadata.name",
            "metadata.namespace",
            "spec.nodeName",
            "spec.restartPolicy",
            "spec.schedulerName",
            "spec.serviceAccountName",
            "spec.hostNetwork",
            "status.phase",
            "status.podIP",
            "status.podIPs",
            "status.nominatedNodeName",
        }
        return "" if label in known else f"field label not supported: {label}"


def _keep(document: JsonObject, old: JsonObject, name: str) -> None:
    document.pop(name, None)
    if name in old:
        document[name] = old[name]


def _resized(spec: JsonObject, old: JsonObject) -> JsonObject:
    """Return the old spec with the resources and resize policies of the new one."""
    kept = dict(old)
    for kind in ("containers", "initContainers"):
        wanted = {container.get("name"): container for container in spec.get(kind) or ()}
        if kind in old:
            kept[kind] = [_resized_container(container, wanted) for container in old[kind]]
    return kept


def _resized_container(container: JsonObject, wanted: dict[Any, JsonObject]) -> JsonObject:
    new = dict(container)
    for name in ("resources", "resizePolicy"):
        _keep(new, wanted.get(container.get("name"), container), name)
    return new


def _with_ephemeral(spec: JsonObject, old: JsonObject) -> JsonObject:
    """Return the old spec with the ephemeral containers of the new one."""
    kept = dict(old)
    _keep(kept, spec, "ephemeralContainers")
    return kept


#: Subresource → the new spec, made from the sent and the old one.
_PARTS = {"resize": _resized, "ephemeralcontainers": _with_ephemeral}


def _with_generations(conditions: list[JsonObject], before: list[JsonObject]) -> list[JsonObject]:
    """Return the conditions, each with the ``observedGeneration`` that it had before where it is missing."""
    known: dict[str, list[int]] = {}
    for condition in before:
        known.setdefault(condition.get("type", ""), []).append(condition.get("observedGeneration") or 0)
    kept = []
    for condition in conditions:
        generations = known.get(condition.get("type", "")) or [0]
        generation = generations.pop(0)
        is_missing = generation and not condition.get("observedGeneration")
        kept.append({**condition, "observedGeneration": generation} if is_missing else condition)
    return kept
