"""Validation of changes of pods: what may change in an existing pod, by subresource."""

from steersman.apiserver.builtin.common.internal_form import difference_text, internal_form, internal_pod_spec
from steersman.apiserver.builtin.common.names import address_errors, subdomain_errors
from steersman.apiserver.builtin.common.numbers import MAX_INT32, range_errors
from steersman.apiserver.builtin.pods.placement_validation import toleration_errors
from steersman.apiserver.builtin.pods.quality_of_service import quality_of_service
from steersman.apiserver.builtin.pods.validation import new_pod_errors, whole_pod_errors
from steersman.golang.empty_values import same_content
from steersman.json_types import JsonObject
from steersman.validation.field_errors import Errors, forbidden, invalid, required

_MUTABLE_FIELDS = (
    "`spec.containers[*].image`,`spec.initContainers[*].image`,`spec.activeDeadlineSeconds`,`spec.tolerations` (only "
    "additions to existing tolerations),`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was "
    "previously negative)"
)
_COMPUTE = ("cpu", "memory")


def pod_errors(obj: JsonObject, old: JsonObject | None, subresource: str) -> Errors:
    """Validate a new pod, or a change by the subresource that made it."""
    if old is None:
        return new_pod_errors(obj)
    return _ENDPOINTS[subresource](obj, old)


def _container_errors(new: JsonObject, old: JsonObject, kind: str) -> tuple[Errors, bool]:
    """Validate changed containers; return whether to stop, because the lists cannot be compared further."""
    after, before = new.get(kind) or (), old.get(kind) or ()
    if len(after) != len(before):
        return [forbidden(f"spec.{kind}", "pod updates may not add or remove containers")], True
    errors: Errors = []
    for index, container in enumerate(after):
        image = container.get("image") or ""
        if not image:
            errors.append(required(f"spec.{kind}[{index}].image"))
        elif image.strip() != image:
            text = "must not have leading or trailing whitespace"
            errors.append(invalid(f"spec.{kind}[{index}].image", image, text))
    return errors, False


def _deadline_errors(new: JsonObject, old: JsonObject) -> tuple[Errors, bool]:
    field = "spec.activeDeadlineSeconds"
    after, before = new.get("activeDeadlineSeconds"), old.get("activeDeadlineSeconds")
    if after is None:
        if before is None:
            return [], False
        return [invalid(field, None, "must not update from a positive integer to nil value")], False
    errors = range_errors(after, field, 0, MAX_INT32)
    if not errors and before is not None and before < after:
        errors = [invalid(field, after, "must be less than or equal to previous value")]
    return errors, bool(errors)


def _toleration_errors(new: JsonObject, old: JsonObject) -> Errors:
    after = new.get("tolerations") or ()
    kept = [_without_seconds(item) for item in after]
    if any(_without_seconds(item) not in kept for item in old.get("tolerations") or ()):
        text = "existing toleration can not be modified except its tolerationSeconds"
        return [forbidden("spec.tolerations", text)]
    return toleration_errors(after, "spec.tolerations")


def _without_seconds(toleration: JsonObject) -> JsonObject:
    return {key: value for key, value in toleration.items() if key != "tolerationSeconds"}


def _gate_errors(new: JsonObject, old: JsonObject) -> Errors:
    known = {gate.get("name") for gate in old.get("schedulingGates") or ()}
    return [
        forbidden(
            f"spec.schedulingGates[{index}].name",
            f"only deletion is allowed, but found new scheduling gate '{gate.get('name')}'",
        )
        for index, gate in enumerate(new.get("schedulingGates") or ())
        if gate.get("name") not in known
    ]


def _update_errors(obj: JsonObject, old: JsonObject) -> Errors:
    new_spec, old_spec = obj["spec"], old["spec"]
    if same_content(new_spec, old_spec):
        # An unchanged spec stays valid: most updates of pods change labels or finalizers.
        return []
    errors = whole_pod_errors(new_spec)
    for kind in ("containers", "initContainers"):
        found, stop = _container_errors(new_spec, old_spec, kind)
        errors += found
        if stop:
            return errors
    found, stop = _deadline_errors(new_spec, old_spec)
    errors += found
    if stop:
        return errors
    errors += _toleration_errors(new_spec, old_spec)
    errors += _gate_errors(new_spec, old_spec)
    return errors + _immutable_field_errors(new_spec, old_spec)


def _immutable_field_errors(new: JsonObject, old: JsonObject) -> Errors:
    """Reject a change of any other field, and quote the difference."""
    rest = _with_old_mutable_fields(new, old)
    if same_content(rest, old):
        return []
    before, after = internal_pod_spec(old), internal_pod_spec(rest)
    if before == after:
        return []
    text = f"pod updates may not change fields other than {_MUTABLE_FIELDS}\n{difference_text(before, after)}"
    return [forbidden("spec", text)]


def _with_old_mutable_fields(new: JsonObject, old: JsonObject) -> JsonObject:
    """Return the new spec with the old values of every field that may change."""
    rest = dict(new)
    for kind in ("containers", "initContainers"):
        if new.get(kind):
            rest[kind] = [
                {**container, "image": before.get("image", "")}
                for container, before in zip(new[kind], old[kind], strict=True)
            ]
        else:
            rest.pop(kind, None)
    kept = ["activeDeadlineSeconds", "schedulingGates", "tolerations"]
    if (old.get("terminationGracePeriodSeconds") or 0) < 0 and new.get("terminationGracePeriodSeconds") == 1:
        kept.append("terminationGracePeriodSeconds")
    if old.get("schedulingGates"):
        # While a pod has scheduling gates, its node selector and node affinity may still change.
        kept.append("nodeSelector")
        node = (old.get("affinity") or {}).get("nodeAffinity")
        own = {key: value for key, value in (new.get("affinity") or {}).items() if key != "nodeAffinity"}
        rest["affinity"] = {**own, **({"nodeAffinity": node} if node is not None else {})} or None
    for name in kept:
        rest.pop(name, None)
        if name in old:
            rest[name] = old[name]
    return {name: value for name, value in rest.items() if value is not None}


def _status_errors(obj: JsonObject, old: JsonObject) -> Errors:
    status, before = obj.get("status") or {}, old.get("status") or {}
    errors: Errors = []
    nominated = status.get("nominatedNodeName") or ""
    if nominated and nominated != before.get("nominatedNodeName"):
        errors += subdomain_errors(nominated, "status.nominatedNodeName")
    if (status.get("observedGeneration") or 0) < 0:
        text = "must be a non-negative integer"
        errors.append(invalid("status.observedGeneration", status["observedGeneration"], text))
    if status.get("qosClass", "") != before.get("qosClass", ""):
        errors.append(invalid("status.qosClass", status.get("qosClass", ""), "field is immutable"))
    for name in ("podIPs", "hostIPs"):
        errors += _address_errors(status.get(name) or [], f"status.{name}")
    return errors + _restart_errors(status, before, old["spec"])


def _address_errors(addresses: list[JsonObject], path: str) -> Errors:
    """Validate the addresses of a pod or its node: at most one for each IP family."""
    texts = [item.get("ip") or "" for item in addresses]
    errors = [error for index, text in enumerate(texts) for error in address_errors(text, f"{path}[{index}]")]
    families = [":" in text for text in texts]
    if not errors and len(set(families)) < len(families):
        shown = [{"IP": text} for text in texts]
        errors.append(invalid(path, shown, "may specify no more than one IP for each IP family"))
    return errors


def _restart_errors(status: JsonObject, before: JsonObject, spec: JsonObject) -> Errors:
    """Reject a status in which a terminated container runs again against the restart policy."""
    policy = spec.get("restartPolicy")
    if policy == "Always":
        return []
    errors: Errors = []
    known = {item.get("name"): item for item in before.get("containerStatuses") or ()}
    for index, item in enumerate(status.get("containerStatuses") or ()):
        ended = ((known.get(item.get("name")) or {}).get("state") or {}).get("terminated")
        if ended is None or (item.get("state") or {}).get("terminated") is not None:
            continue
        if policy == "OnFailure" and ended.get("exitCode"):
            continue
        text = "may not be transitioned to non-terminated state"
        errors.append(forbidden(f"status.containerStatuses[{index}].state", text))
    return errors


def _ephemeral_errors(obj: JsonObject, old: JsonObject) -> Errors:
    errors = whole_pod_errors(obj["spec"])
    field = "spec.ephemeralContainers"
    found = {container.get("name"): container for container in obj["spec"].get("ephemeralContainers") or ()}
    for container in old["spec"].get("ephemeralContainers") or ():
        name = container.get("name")
        if name not in found:
            errors.append(forbidden(field, f'existing ephemeral containers "{name}" may not be removed\n'))
        elif not same_content(found[name], container):
            before, after = (internal_form("EphemeralContainer", item) for item in (container, found[name]))
            text = f'existing ephemeral containers "{name}" may not be changed\n{difference_text(before, after)}'
            errors.append(forbidden(field, text))
    return errors


def _resize_errors(obj: JsonObject, old: JsonObject) -> Errors:
    errors = whole_pod_errors(obj["spec"])
    quality = (old.get("status") or {}).get("qosClass") or quality_of_service(old["spec"])
    if quality_of_service(obj["spec"]) != quality:
        errors.append(invalid("spec", quality, "Pod QOS Class may not change as a result of resizing"))
    for index, (new, before) in enumerate(
        zip(obj["spec"].get("containers") or (), old["spec"].get("containers") or (), strict=False)
    ):
        errors += _removed_errors(new, before, f"spec.containers[{index}].resources")
        if not same_content(_without_compute(new), _without_compute(before)):
            errors.append(forbidden("spec", "only cpu and memory resources are mutable"))
    return errors


def _removed_errors(new: JsonObject, old: JsonObject, path: str) -> Errors:
    errors: Errors = []
    for part in ("limits", "requests"):
        after, before = ((item.get("resources") or {}).get(part) or {} for item in (new, old))
        if any(name not in after for name in before):
            errors.append(forbidden(f"{path}.{part}", f"resource {part} cannot be removed"))
    return errors


def _without_compute(container: JsonObject) -> JsonObject:
    resources = {
        part: {
            name: text
            for name, text in ((container.get("resources") or {}).get(part) or {}).items()
            if name not in _COMPUTE
        }
        for part in ("limits", "requests")
    }
    return {**container, "resources": resources}


_ENDPOINTS = {
    "": _update_errors,
    "status": _status_errors,
    "ephemeralcontainers": _ephemeral_errors,
    "resize": _resize_errors,
}
