"""Validation of changes of Jobs; more may change while a Job is suspended."""

from steersman.apiserver.builtin.common.internal_form import internal_pod_spec
from steersman.apiserver.builtin.workloads.template_validation import IMMUTABLE, selector_change_errors
from steersman.golang.empty_values import same_content
from steersman.golang.text import GoStruct
from steersman.json_types import JsonObject
from steersman.validation.field_errors import Errors, invalid

_FIXED = ("completionMode", "podFailurePolicy", "backoffLimitPerIndex", "managedBy", "successPolicy")
#: Scheduling directives, which may change while a suspended Job has no pods.
_DIRECTIVES = ("nodeSelector", "tolerations", "schedulingGates")


def job_change_errors(obj: JsonObject, old: JsonObject) -> Errors:
    """Reject changes of fields that are immutable."""
    spec, before = obj["spec"], old["spec"]
    errors = _completion_errors(spec, before) + selector_change_errors(obj, old) + _template_errors(spec, old)
    errors += [
        invalid(f"spec.{name}", spec.get(name), IMMUTABLE)
        for name in _FIXED
        if not same_content(spec.get(name), before.get(name))
    ]
    return errors


def _completion_errors(spec: JsonObject, old: JsonObject) -> Errors:
    if same_content(spec.get("completions"), old.get("completions")):
        return []
    if spec.get("completionMode") != "Indexed":
        return [invalid("spec.completions", spec.get("completions"), IMMUTABLE)]
    if spec.get("completions") in (None, spec.get("parallelism")):
        return []
    return [invalid("spec.completions", spec["completions"], "can only be modified in tandem with spec.parallelism")]


def _template_errors(spec: JsonObject, old: JsonObject) -> Errors:
    template, before = spec.get("template") or {}, old["spec"].get("template") or {}
    if _is_suspended_without_pods(old):
        pod = template.get("spec") or {}
        allowed = _with_resources(_with_directives(before.get("spec") or {}, pod), pod)
        return [] if same_content(pod, allowed) else [invalid("spec.template.spec", internal_pod_spec(pod), IMMUTABLE)]
    return [] if same_content(template, before) else [invalid("spec.template", _quoted_template(template), IMMUTABLE)]


def _is_suspended_without_pods(old: JsonObject) -> bool:
    """Return whether a Job is suspended and has no pods."""
    status = old.get("status") or {}
    suspended = any(
        condition.get("type") == "Suspended" and condition.get("status") == "True"
        for condition in status.get("conditions") or ()
    )
    is_idle = status.get("startTime") is None or suspended
    return bool(old["spec"].get("suspend")) and is_idle and not status.get("active")


def _with_directives(before: JsonObject, pod: JsonObject) -> JsonObject:
    """Return the old pod spec with the new scheduling directives."""
    allowed = {name: value for name, value in before.items() if name not in _DIRECTIVES}
    allowed |= {name: pod[name] for name in _DIRECTIVES if name in pod}
    affinity = _with_node_affinity(before.get("affinity"), pod.get("affinity"))
    allowed.pop("affinity", None)
    return allowed if affinity is None else {**allowed, "affinity": affinity}


def _with_node_affinity(before: JsonObject | None, after: JsonObject | None) -> JsonObject | None:
    """Return the old affinity with the new node affinity."""
    kept = {name: value for name, value in (before or {}).items() if name != "nodeAffinity"}
    if after is None:
        return kept or None
    return {**kept, "nodeAffinity": after["nodeAffinity"]} if after.get("nodeAffinity") is not None else kept


def _with_resources(before: JsonObject, pod: JsonObject) -> JsonObject:
    """Return the old pod spec with the new resources of containers with the same name."""
    allowed = dict(before)
    for kind in ("containers", "initContainers"):
        old, new = before.get(kind) or [], pod.get(kind) or []
        if old and len(old) == len(new):
            allowed[kind] = [
                _resized(container, after) if container.get("name") == after.get("name") else container
                for container, after in zip(old, new, strict=True)
            ]
    return allowed


def _resized(container: JsonObject, after: JsonObject) -> JsonObject:
    rest = {name: value for name, value in container.items() if name != "resources"}
    return {**rest, "resources": after["resources"]} if "resources" in after else rest


def _quoted_template(template: JsonObject) -> GoStruct:
    return GoStruct({**(template.get("metadata") or {}), "Spec": internal_pod_spec(template.get("spec") or {})})
