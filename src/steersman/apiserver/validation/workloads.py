"""Deployments and the other kinds that make pods."""

from typing import Any

from steersman.apiserver.validation.pods import pod_spec_errors
from steersman.protocol.equality import json_equal
from steersman.schema.field_errors import FieldError, forbidden, invalid, not_supported, required

Document = dict[str, Any]
_NEGATIVE = "must be greater than or equal to 0"
_STATEFUL_CHANGES = (
    "updates to statefulset spec for fields other than 'replicas', 'ordinals', 'template', 'updateStrategy', "
    "'revisionHistoryLimit', 'persistentVolumeClaimRetentionPolicy' and 'minReadySeconds' are forbidden"
)
_STATEFUL_MUTABLE = frozenset(
    {
        "replicas",
        "ordinals",
        "template",
        "updateStrategy",
        "revisionHistoryLimit",
        "persistentVolumeClaimRetentionPolicy",
        "minReadySeconds",
    }
)


def _negative(document: Document, names: tuple[str, ...], path: str) -> list[FieldError]:
    return [
        invalid(f"{path}.{name}", document[name], _NEGATIVE)
        for name in names
        if document.get(name).__class__ is int and document[name] < 0
    ]


def _selector_errors(spec: Document) -> list[FieldError]:
    selector = spec.get("selector")
    if selector is None:
        return [required("spec.selector")]
    if not selector.get("matchLabels") and not selector.get("matchExpressions"):
        return [invalid("spec.selector", selector, "empty selector is invalid for deployment")]
    labels = ((spec.get("template") or {}).get("metadata") or {}).get("labels") or {}
    wanted = selector.get("matchLabels") or {}
    if any(labels.get(key) != value for key, value in wanted.items()):
        return [invalid("spec.template.metadata.labels", labels or None, "`selector` does not match template `labels`")]
    return []


def _template_errors(spec: Document) -> list[FieldError]:
    template = spec.get("template") or {}
    errors = pod_spec_errors(template.get("spec") or {}, "spec.template.spec")
    policy = (template.get("spec") or {}).get("restartPolicy")
    if policy in ("Never", "OnFailure"):
        errors.append(not_supported("spec.template.spec.restartPolicy", policy, ["Always"]))
    return errors


def deployment_errors(obj: Document, old: Document | None, subresource: str) -> list[FieldError]:
    """Complain about a Deployment."""
    if subresource == "status":
        return _status_errors(obj)
    spec = obj["spec"]
    errors = _negative(spec, ("replicas", "minReadySeconds", "revisionHistoryLimit"), "spec")
    errors = [*errors[:1], *_selector_errors(spec), *errors[1:]]
    errors += _template_errors(spec)
    strategy = spec.get("strategy") or {}
    if strategy.get("type") == "Recreate" and strategy.get("rollingUpdate") is not None:
        text = "may not be specified when strategy `type` is 'Recreate'"
        errors.append(forbidden("spec.strategy.rollingUpdate", text))
    elif strategy.get("type") not in ("Recreate", "RollingUpdate"):
        errors.append(not_supported("spec.strategy.type", strategy.get("type", ""), ["Recreate", "RollingUpdate"]))
    if old is not None and not json_equal(spec.get("selector"), old["spec"].get("selector")):
        errors.append(invalid("spec.selector", spec.get("selector"), "field is immutable"))
    return errors


def _status_errors(obj: Document) -> list[FieldError]:
    names = ("observedGeneration", "replicas", "updatedReplicas", "readyReplicas", "availableReplicas")
    status = obj.get("status") or {}
    errors = _negative(status, (*names, "unavailableReplicas", "collisionCount"), "status")
    total = status.get("replicas", 0)
    for name in ("updatedReplicas", "readyReplicas", "availableReplicas"):
        if status.get(name, 0) > total:
            errors.append(invalid(f"status.{name}", status.get(name, 0), "cannot be greater than status.replicas"))
    return errors


def replica_set_errors(obj: Document, old: Document | None, subresource: str) -> list[FieldError]:
    """Complain about a ReplicaSet."""
    if subresource == "status":
        return []
    spec = obj["spec"]
    errors = [*_negative(spec, ("replicas", "minReadySeconds"), "spec"), *_selector_errors(spec)]
    errors += _template_errors(spec)
    if old is not None and not json_equal(spec.get("selector"), old["spec"].get("selector")):
        errors.append(invalid("spec.selector", spec.get("selector"), "field is immutable"))
    return errors


def stateful_set_errors(obj: Document, old: Document | None, subresource: str) -> list[FieldError]:
    """Complain about a StatefulSet."""
    if subresource == "status":
        return []
    spec = obj["spec"]
    errors = [*_negative(spec, ("replicas", "minReadySeconds"), "spec"), *_selector_errors(spec)]
    errors += _template_errors(spec)
    if old is not None and not _same_but(spec, old["spec"], _STATEFUL_MUTABLE):
        errors.append(forbidden("spec", _STATEFUL_CHANGES))
    return errors


def _same_but(spec: Document, old: Document, mutable: frozenset[str]) -> bool:
    def rest(document: Document) -> Document:
        return {key: value for key, value in document.items() if key not in mutable}

    return json_equal(rest(spec), rest(old))


def daemon_set_errors(obj: Document, old: Document | None, subresource: str) -> list[FieldError]:
    """Complain about a DaemonSet."""
    if subresource == "status":
        return []
    spec = obj["spec"]
    errors = [*_selector_errors(spec), *_template_errors(spec)]
    if old is not None and not json_equal(spec.get("selector"), old["spec"].get("selector")):
        errors.append(invalid("spec.selector", spec.get("selector"), "field is immutable"))
    return errors


def job_errors(obj: Document, old: Document | None, subresource: str) -> list[FieldError]:
    """Complain about a Job."""
    if subresource == "status":
        return []
    spec = obj["spec"]
    errors = _negative(
        spec,
        ("parallelism", "completions", "activeDeadlineSeconds", "backoffLimit", "ttlSecondsAfterFinished"),
        "spec",
    )
    template = spec.get("template") or {}
    errors += pod_spec_errors(template.get("spec") or {}, "spec.template.spec")
    policy = (template.get("spec") or {}).get("restartPolicy")
    if policy == "Always":
        errors.append(required("spec.template.spec.restartPolicy", 'valid values: "OnFailure", "Never"'))
    if old is not None:
        for name in ("completions", "selector", "template", "completionMode"):
            if not json_equal(spec.get(name), old["spec"].get(name)) and not (
                name == "template" and old["spec"].get("suspend")
            ):
                errors.append(invalid(f"spec.{name}", spec.get(name), "field is immutable"))
    return errors
