"""Deployments and the other kinds that keep pods running."""

from typing import Any

from steersman.apiserver.builtin.common.internal_form import internal_form
from steersman.apiserver.builtin.common.label_selectors import (
    is_empty,
    is_usable,
    selector_errors,
    selects,
    shown_selector,
)
from steersman.apiserver.builtin.common.names import label_errors, labels_errors
from steersman.apiserver.builtin.common.numbers import (
    count_or_percent_errors,
    is_zero,
    negative_errors,
    over_hundred_errors,
)
from steersman.apiserver.builtin.pods.validation import template_errors
from steersman.apiserver.builtin.storage.claim_validation import claim_spec_errors
from steersman.golang.empty_values import same_content
from steersman.golang.text import GoStruct
from steersman.validation.field_errors import FieldError, forbidden, invalid, not_supported, required

Document = dict[str, Any]
Errors = list[FieldError]
IMMUTABLE = "field is immutable"
MISMATCH = "`selector` does not match template `labels`"
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
_RETENTION = ("Retain", "Delete")


def _unchanged(obj: Document, old: Document | None) -> bool:
    """Tell whether only metadata changed: what was good stays good."""
    return old is not None and same_content(obj.get("spec"), old.get("spec"))


def _selector_errors(spec: Document, kind: str) -> Errors:
    selector = spec.get("selector")
    if selector is None:
        return [required("spec.selector")]
    errors = selector_errors(selector, "spec.selector")
    if is_empty(selector):
        text = f"empty selector is invalid for {kind}"
        errors.append(invalid("spec.selector", shown_selector(selector), text))
    return errors


def mismatch_errors(spec: Document) -> Errors:
    """Complain about a selector that does not select the pods of its own template."""
    labels = ((spec.get("template") or {}).get("metadata") or {}).get("labels")
    return [] if selects(spec.get("selector"), labels) else [_mismatch(labels)]


def _mismatch(labels: Document | None) -> FieldError:
    return invalid("spec.template.metadata.labels", labels, MISMATCH)


def _template_errors(spec: Document, kind: str) -> Errors:
    template = spec.get("template") or {}
    pod = template.get("spec") or {}
    errors = template_errors(template, "spec.template")
    policy = pod.get("restartPolicy") or ""
    if policy != "Always":
        # A template that was not even begun has been told what it lacks.
        errors += [not_supported("spec.template.spec.restartPolicy", policy, ["Always"])]
    if pod.get("activeDeadlineSeconds") is not None:
        text = f"activeDeadlineSeconds in {kind} is not Supported"
        errors.append(forbidden("spec.template.spec.activeDeadlineSeconds", text))
    return errors


def _selected_template_errors(spec: Document, kind: str, why: str) -> Errors:
    """Complain about a template, once the selector can be understood at all."""
    selector = spec.get("selector")
    if not is_usable(selector):
        return [invalid("spec.selector", shown_selector(selector), why)]
    errors = mismatch_errors(spec) if selector is None or not is_empty(selector) else []
    return errors + _template_errors(spec, kind)


def selector_change_errors(obj: Document, old: Document | None) -> Errors:
    """Complain about a selector that is not the one with which its object began."""
    if old is None or same_content(obj["spec"].get("selector"), old["spec"].get("selector")):
        return []
    return [invalid("spec.selector", shown_selector(obj["spec"].get("selector")), IMMUTABLE)]


def deployment_errors(obj: Document, old: Document | None, subresource: str) -> Errors:
    """Complain about a Deployment."""
    if subresource == "status":
        return _deployment_status_errors(obj) + _decrement_errors(obj, old)
    if _unchanged(obj, old):
        return []
    spec = obj["spec"]
    errors = negative_errors(spec, ("replicas",), "spec")
    errors += _selector_errors(spec, "deployment")
    errors += _selected_template_errors(spec, "ReplicaSet", "invalid label selector")
    errors += _strategy_errors(spec.get("strategy") or {})
    errors += negative_errors(spec, ("minReadySeconds", "revisionHistoryLimit", "progressDeadlineSeconds"), "spec")
    deadline = spec.get("progressDeadlineSeconds")
    if deadline is not None and deadline <= (spec.get("minReadySeconds") or 0):
        text = "must be greater than minReadySeconds"
        errors.append(invalid("spec.progressDeadlineSeconds", deadline, text))
    return errors + selector_change_errors(obj, old)


def _strategy_errors(strategy: Document) -> Errors:
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


def _rolling_errors(rolling: Document, path: str) -> Errors:
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


def _deployment_status_errors(obj: Document) -> Errors:
    status = obj.get("status") or {}
    errors = negative_errors(status, _DEPLOYMENT_COUNTS, "status")
    return errors + _total_errors(status, ("updatedReplicas", "readyReplicas", "availableReplicas"))


def _decrement_errors(obj: Document, old: Document | None) -> Errors:
    """Complain about a count of collisions that goes back: names would be made up again."""
    before = ((old or {}).get("status") or {}).get("collisionCount")
    now = (obj.get("status") or {}).get("collisionCount")
    if before is None or (now is not None and now >= before):
        return []
    return [invalid("status.collisionCount", now or 0, "cannot be decremented")]


def _total_errors(status: Document, names: tuple[str, ...], ready: str = "readyReplicas") -> Errors:
    errors: Errors = []
    total = status.get("replicas") or 0
    for name in names:
        if (status.get(name) or 0) > total:
            errors.append(invalid(f"status.{name}", status.get(name) or 0, "cannot be greater than status.replicas"))
    if "availableReplicas" in names and (status.get("availableReplicas") or 0) > (status.get("readyReplicas") or 0):
        text = f"cannot be greater than {ready}"
        errors.append(invalid("status.availableReplicas", status.get("availableReplicas") or 0, text))
    return errors


_REPLICA_COUNTS = ("replicas", "fullyLabeledReplicas", "readyReplicas", "availableReplicas", "observedGeneration")


def replica_set_errors(obj: Document, old: Document | None, subresource: str) -> Errors:
    """Complain about a ReplicaSet."""
    if subresource == "status":
        return replica_status_errors(obj)
    if _unchanged(obj, old):
        return []
    spec = obj["spec"]
    errors = negative_errors(spec, ("replicas", "minReadySeconds"), "spec")
    errors += _selector_errors(spec, "deployment")
    errors += _selected_template_errors(spec, "ReplicaSet", "invalid label selector")
    return errors + selector_change_errors(obj, old)


def replica_status_errors(obj: Document) -> Errors:
    """Complain about the status of a kind that counts its pods."""
    status = obj.get("status") or {}
    errors = negative_errors(status, _REPLICA_COUNTS, "status")
    return errors + _total_errors(status, ("fullyLabeledReplicas", "readyReplicas", "availableReplicas"))


def replication_controller_errors(obj: Document, old: Document | None, subresource: str) -> Errors:
    """Complain about a ReplicationController."""
    if subresource == "status":
        return replica_status_errors(obj)
    if _unchanged(obj, old):
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
        errors.append(_mismatch(labels))
    return errors + _template_errors(spec, "ReplicationController")


def stateful_set_errors(obj: Document, old: Document | None, subresource: str) -> Errors:
    """Complain about a StatefulSet."""
    if subresource == "status":
        return _stateful_status_errors(obj) + _decrement_errors(obj, old)
    if _unchanged(obj, old):
        return []
    spec = obj["spec"]
    errors = _management_errors(spec) + _update_strategy_errors(spec.get("updateStrategy") or {})
    errors += _retention_errors(spec.get("persistentVolumeClaimRetentionPolicy") or {})
    errors += negative_errors(spec, ("replicas", "minReadySeconds"), "spec")
    errors += negative_errors(
        {"ordinals.start": (spec.get("ordinals") or {}).get("start")}, ("ordinals.start",), "spec"
    )
    if old is None:
        errors += _new_stateful_errors(spec)
    errors += _selector_errors(spec, "statefulset")
    errors += _selected_template_errors(_with_claims(spec), "StatefulSet", "")
    if old is not None and not _same_but(spec, old["spec"], _STATEFUL_MUTABLE):
        errors.append(forbidden("spec", _STATEFUL_CHANGES))
    return errors


def _new_stateful_errors(spec: Document) -> Errors:
    """Complain about what never changes later."""
    errors: Errors = []
    for index, claim in enumerate(spec.get("volumeClaimTemplates") or ()):
        errors += claim_spec_errors(claim.get("spec") or {}, f"spec.volumeClaimTemplates[{index}].spec")
    if spec.get("serviceName"):
        errors += label_errors(spec["serviceName"], "spec.serviceName")
    return errors


def _management_errors(spec: Document) -> Errors:
    policy = spec.get("podManagementPolicy") or ""
    if policy in ("OrderedReady", "Parallel"):
        return []
    return [invalid("spec.podManagementPolicy", policy, "must be 'OrderedReady' or 'Parallel'")]


def _update_strategy_errors(strategy: Document) -> Errors:
    kind, rolling = strategy.get("type") or "", strategy.get("rollingUpdate")
    path = "spec.updateStrategy.rollingUpdate"
    if kind == "OnDelete":
        if rolling is None:
            return []
        shown = internal_form("RollingUpdateStatefulSetStrategy", rolling)
        return [invalid(path, shown, "only allowed for updateStrategy 'RollingUpdate'")]
    if kind != "RollingUpdate":
        shown = internal_form("StatefulSetUpdateStrategy", strategy)
        return [invalid("spec.updateStrategy", shown, "must be 'RollingUpdate' or 'OnDelete'")]
    errors = negative_errors(rolling or {}, ("partition",), path)
    down = (rolling or {}).get("maxUnavailable")
    if down is not None:
        errors += count_or_percent_errors(down, f"{path}.maxUnavailable")
        if is_zero(down):
            errors.append(invalid(f"{path}.maxUnavailable", down, "cannot be 0"))
        errors += over_hundred_errors(down, f"{path}.maxUnavailable")
    return errors


def _retention_errors(policy: Document) -> Errors:
    return [
        not_supported(f"spec.persistentVolumeClaimRetentionPolicy.{name}", policy.get(name) or "", _RETENTION)
        for name in ("whenDeleted", "whenScaled")
        if policy and policy.get(name) not in _RETENTION
    ]


def _with_claims(spec: Document) -> Document:
    """Give a spec whose template has the volumes that its claims bring."""
    claims = [(claim.get("metadata") or {}).get("name") or "" for claim in spec.get("volumeClaimTemplates") or ()]
    template = spec.get("template") or {}
    pod = template.get("spec") or {}
    if not claims and not pod.get("hostname") and not pod.get("subdomain"):
        return spec
    brought = [{"name": name, "persistentVolumeClaim": {"claimName": name}} for name in dict.fromkeys(claims)]
    others = [volume for volume in pod.get("volumes") or () if volume.get("name") not in claims]
    whole = {**pod, "volumes": [*brought, *others], "hostname": "", "subdomain": ""}
    return {**spec, "template": {**template, "spec": whole}}


def _same_but(spec: Document, old: Document, mutable: frozenset[str]) -> bool:
    def rest(document: Document) -> Document:
        return {key: value for key, value in document.items() if key not in mutable}

    return same_content(rest(spec), rest(old))


_STATEFUL_COUNTS = (
    "replicas",
    "readyReplicas",
    "currentReplicas",
    "updatedReplicas",
    "availableReplicas",
    "observedGeneration",
    "collisionCount",
)


def _stateful_status_errors(obj: Document) -> Errors:
    status = obj.get("status") or {}
    errors = negative_errors(status, _STATEFUL_COUNTS, "status")
    names = ("readyReplicas", "currentReplicas", "updatedReplicas", "availableReplicas")
    return errors + _total_errors(status, names, "status.readyReplicas")


def daemon_set_errors(obj: Document, old: Document | None, subresource: str) -> Errors:
    """Complain about a DaemonSet."""
    if subresource == "status":
        errors = negative_errors(obj.get("status") or {}, _DAEMON_COUNTS, "status")
        return errors + _decrement_errors(obj, old)
    if _unchanged(obj, old):
        return []
    spec = obj["spec"]
    errors = selector_change_errors(obj, old)
    selector = spec.get("selector")
    found = selector_errors(selector, "spec.selector")
    errors += found
    if not found:
        errors += mismatch_errors(spec)
    if selector is not None and is_empty(selector):
        text = "empty selector is invalid for daemonset"
        errors.append(invalid("spec.selector", shown_selector(selector), text))
    errors += _template_errors(spec, "DaemonSet")
    errors += negative_errors(spec, ("minReadySeconds", "revisionHistoryLimit"), "spec")
    return errors + _daemon_strategy_errors(spec.get("updateStrategy") or {})


_DAEMON_COUNTS = (
    "currentNumberScheduled",
    "numberMisscheduled",
    "desiredNumberScheduled",
    "numberReady",
    "observedGeneration",
    "updatedNumberScheduled",
    "numberAvailable",
    "numberUnavailable",
    "collisionCount",
)


def _daemon_strategy_errors(strategy: Document) -> Errors:
    kind, rolling = strategy.get("type") or "", strategy.get("rollingUpdate")
    path = "spec.updateStrategy.rollingUpdate"
    if kind == "OnDelete":
        return []
    if kind != "RollingUpdate":
        shown = GoStruct({"Type": kind, "RollingUpdate": rolling})
        return [not_supported("spec.updateStrategy", shown, ["RollingUpdate", "OnDelete"])]
    if rolling is None:
        return [required(path)]
    down, surge = rolling.get("maxUnavailable", 0), rolling.get("maxSurge", 0)
    errors: Errors = []
    for check in (count_or_percent_errors, over_hundred_errors):
        errors += check(down, f"{path}.maxUnavailable") + check(surge, f"{path}.maxSurge")
    if not is_zero(down) and not is_zero(surge):
        errors.append(invalid(f"{path}.maxSurge", surge, "may not be set when maxUnavailable is non-zero"))
    elif is_zero(down) and is_zero(surge):
        errors.append(required(f"{path}.maxUnavailable", "cannot be 0 when maxSurge is 0"))
    return errors


def controller_revision_errors(obj: Document, old: Document | None, subresource: str) -> Errors:
    """Complain about a ControllerRevision."""
    del subresource
    errors: Errors = [] if obj.get("data") is not None else [required("data", "data is mandatory")]
    errors += negative_errors(obj, ("revision",), "")
    if old is not None and not same_content(obj.get("data"), old.get("data")):
        errors.append(invalid("data", obj.get("data"), IMMUTABLE))
    return errors
