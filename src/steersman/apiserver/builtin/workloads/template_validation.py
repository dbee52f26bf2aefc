"""Validation that all workloads share: the selector, the pod template that it must select, and counts in the status."""

from steersman.apiserver.builtin.common.label_selectors import (
    is_empty,
    is_usable,
    quoted_selector,
    selector_errors,
)
from steersman.apiserver.builtin.pods.validation import template_errors
from steersman.apiserver.resources.label_selectors import selects
from steersman.golang.empty_values import same_content
from steersman.json_types import JsonObject
from steersman.validation.field_errors import Errors, FieldError, forbidden, invalid, not_supported, required

IMMUTABLE = "field is immutable"
MISMATCH = "`selector` does not match template `labels`"


def is_spec_unchanged(obj: JsonObject, old: JsonObject | None) -> bool:
    """Return whether the spec is the same as before, and therefore valid."""
    return old is not None and same_content(obj.get("spec"), old.get("spec"))


def required_selector_errors(spec: JsonObject, kind: str) -> Errors:
    """Validate a selector that must be set and must not be empty."""
    selector = spec.get("selector")
    if selector is None:
        return [required("spec.selector")]
    errors = selector_errors(selector, "spec.selector")
    if is_empty(selector):
        text = f"empty selector is invalid for {kind}"
        errors.append(invalid("spec.selector", quoted_selector(selector), text))
    return errors


def mismatch_errors(spec: JsonObject) -> Errors:
    """Reject a selector that does not match the labels of the template."""
    labels = ((spec.get("template") or {}).get("metadata") or {}).get("labels")
    selector = spec.get("selector")
    return [] if selector is not None and selects(selector, labels) else [selector_mismatch(labels)]


def selector_mismatch(labels: JsonObject | None) -> FieldError:
    """Return the error for a template whose labels the selector does not match."""
    return invalid("spec.template.metadata.labels", labels, MISMATCH)


def restarting_template_errors(spec: JsonObject, kind: str) -> Errors:
    """Validate a template whose pods run until they are deleted: they always restart and have no deadline."""
    template = spec.get("template") or {}
    pod = template.get("spec") or {}
    errors = template_errors(template, "spec.template")
    policy = pod.get("restartPolicy") or ""
    if policy != "Always":
        # Validation of the template has already returned errors for an empty policy.
        errors += [not_supported("spec.template.spec.restartPolicy", policy, ["Always"])]
    if pod.get("activeDeadlineSeconds") is not None:
        text = f"activeDeadlineSeconds in {kind} is not Supported"
        errors.append(forbidden("spec.template.spec.activeDeadlineSeconds", text))
    return errors


def selected_template_errors(spec: JsonObject, kind: str, why: str) -> Errors:
    """Validate the template, and that the selector matches it; an invalid selector is the only error."""
    selector = spec.get("selector")
    if not is_usable(selector):
        return [invalid("spec.selector", quoted_selector(selector), why)]
    errors = mismatch_errors(spec) if selector is None or not is_empty(selector) else []
    return errors + restarting_template_errors(spec, kind)


def selector_change_errors(obj: JsonObject, old: JsonObject | None) -> Errors:
    """Reject a change of the selector."""
    if old is None or same_content(obj["spec"].get("selector"), old["spec"].get("selector")):
        return []
    return [invalid("spec.selector", quoted_selector(obj["spec"].get("selector")), IMMUTABLE)]


def collision_count_errors(obj: JsonObject, old: JsonObject | None) -> Errors:
    """Reject a decreased collision count, which would generate the same names again."""
    before = ((old or {}).get("status") or {}).get("collisionCount")
    now = (obj.get("status") or {}).get("collisionCount")
    if before is None or (now is not None and now >= before):
        return []
    return [invalid("status.collisionCount", now or 0, "cannot be decremented")]


def replica_count_errors(status: JsonObject, names: tuple[str, ...], ready: str = "readyReplicas") -> Errors:
    """Reject counts above ``status.replicas``, and more available than ready replicas."""
    errors: Errors = []
    total = status.get("replicas") or 0
    for name in names:
        if (status.get(name) or 0) > total:
            errors.append(invalid(f"status.{name}", status.get(name) or 0, "cannot be greater than status.replicas"))
    if "availableReplicas" in names and (status.get("availableReplicas") or 0) > (status.get("readyReplicas") or 0):
        text = f"cannot be greater than {ready}"
        errors.append(invalid("status.availableReplicas", status.get("availableReplicas") or 0, text))
    return errors
