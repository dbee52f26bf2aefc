"""Validation of Deployments, ReplicaSets and ReplicationControllers."""

from steersman.apiserver.builtin.common.internal_form import internal_form
from steersman.apiserver.builtin.common.names import labels_errors
from steersman.apiserver.builtin.common.numbers import (
    count_or_percent_errors,
    is_zero,
    negative_errors,
    over_hundred_errors,
)
from steersman.apiserver.builtin.workloads.template_validation import (
    collision_count_errors,
    is_spec_unchanged,
    replica_count_errors,
    required_selector_errors,
    restarting_template_errors,
    selected_template_errors,
    selector_change_errors,
    selector_mismatch,
)
from steersman.apiserver.resources.label_selectors import selects
from steersman.json_types import JsonObject
from steersman.validation.field_errors import Errors, forbidden, invalid, not_supported, required


def deployment_errors(obj: JsonObject, old: JsonObject | None, subresource: str) -> Errors:
    """Validate a Deployment."""
    if subresource == "status":
        return _deployment_status_errors(obj) + collision_count_errors(obj, old)
    if is_spec_unchanged(obj, old):
        return []
    spec = obj["spec"]
    errors = negative_errors(spec, ("replicas",), "spec")
    errors += required_selector_errors(spec, "deployment")
    errors += selected_template_errors(spec, "ReplicaSet", "invalid label selector")
    errors += _strategy_errors(spec.get("strategy") or {})
    errors += negative_errors(spec, ("minReadySeconds", "revisionHistoryLimit", "progressDeadlineSeconds"), "spec")
    deadline = spec.get("progressDeadlineSeconds")
    if deadline is not None and deadline <= (spec.get("minReadySeconds") or 0):
        text = "must be greater than minReadySeconds"
        errors.append(invalid("spec.progressDeadlineSeconds", deadline, text))
    return errors + selector_change_errors(obj, old)


def _strategy_errors(strategy: JsonObject) -> Errors:
    kind, rolling = strategy.get("type") or "", strategy.get("rollingUpdate")
    if kind == "Recreate":
        text = "may not be specified when strategy `type` is 'Recreate'"
        return [forbidden("spec.strategy.rollingUpdate", text)] if rolling is not None else []
    if kind != "RollingUpdate":
        shown = internal_form("DeploymentStrategy", strategy)
        return [not_supported("spec.strategy", shown, ["Recreate", "RollingUpdate"])]
    if rolling is None:
        return [required("spec.strategy.rollingUpdate", "this should be defaulted and never be nil")]
    return _rolling_errors(rolling, "spec.strategy.rollingUpdate")


def _rolling_errors(rolling: JsonObject, path: str) -> Errors:
    down, surge = rolling.get("maxUnavailable", 0), rolling.get("maxSurge", 0)
    errors = count_or_percent_errors(down, f"{path}.maxUnavailable")
    errors += count_or_percent_errors(surge, f"{path}.maxSurge")
    if is_zero(down) and is_zero(surge):
        errors.append(invalid(f"{path}.maxUnavailable", down, "may not be 0 when `maxSurge` is 0"))
    return errors + over_hundred_errors(down, f"{path}.maxUnavailable")


_DEPLOYMENT_COUNTS = (
    "observedGeneration",
    "replicas",
    "updatedReplicas",
    "readyReplicas",
    "availableReplicas",
    "unavailableReplicas",
    "collisionCount",
)


def _deployment_status_errors(obj: JsonObject) -> Errors:
    status = obj.get("status") or {}
    errors = negative_errors(status, _DEPLOYMENT_COUNTS, "status")
    return errors + replica_count_errors(status, ("updatedReplicas", "readyReplicas", "availableReplicas"))


_REPLICA_COUNTS = ("replicas", "fullyLabeledReplicas", "readyReplicas", "availableReplicas", "observedGeneration")


def replica_set_errors(obj: JsonObject, old: JsonObject | None, subresource: str) -> Errors:
    """Validate a ReplicaSet."""
    if subresource == "status":
        return replica_status_errors(obj)
    if is_spec_unchanged(obj, old):
        return []
    spec = obj["spec"]
    errors = negative_errors(spec, ("replicas", "minReadySeconds"), "spec")
    errors += required_selector_errors(spec, "deployment")
    errors += selected_template_errors(spec, "ReplicaSet", "invalid label selector")
    return errors + selector_change_errors(obj, old)


def replica_status_errors(obj: JsonObject) -> Errors:
    """Validate the status of a ReplicaSet or ReplicationController."""
    status = obj.get("status") or {}
    errors = negative_errors(status, _REPLICA_COUNTS, "status")
    return errors + replica_count_errors(status, ("fullyLabeledReplicas", "readyReplicas", "availableReplicas"))


def replication_controller_errors(obj: JsonObject, old: JsonObject | None, subresource: str) -> Errors:
    """Validate a ReplicationController."""
    if subresource == "status":
        return replica_status_errors(obj)
    if is_spec_unchanged(obj, old):
        return []
    spec = obj["spec"]
    selector, template = spec.get("selector") or {}, spec.get("template")
    errors = negative_errors(spec, ("minReadySeconds",), "spec")
    errors += labels_errors(selector, "spec.selector") if selector else [required("spec.selector")]
    errors += negative_errors(spec, ("replicas",), "spec")
    if template is None:
        return [*errors, required("spec.template")]
    labels = (template.get("metadata") or {}).get("labels")
    if not selects({"matchLabels": selector}, labels):
        errors.append(selector_mismatch(labels))
    return errors + restarting_template_errors(spec, "ReplicationController")
