"""Validation of StatefulSets."""

from steersman.apiserver.builtin.common.internal_form import internal_form
from steersman.apiserver.builtin.common.names import label_errors
from steersman.apiserver.builtin.common.numbers import (
    count_or_percent_errors,
    is_zero,
    negative_errors,
    over_hundred_errors,
)
from steersman.apiserver.builtin.storage.claim_validation import claim_spec_errors
from steersman.apiserver.builtin.workloads.template_validation import (
    collision_count_errors,
    is_spec_unchanged,
    replica_count_errors,
    required_selector_errors,
    selected_template_errors,
)
from steersman.golang.empty_values import same_content
from steersman.json_types import JsonObject
from steersman.validation.field_errors import Errors, forbidden, invalid, not_supported

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


def stateful_set_errors(obj: JsonObject, old: JsonObject | None, subresource: str) -> Errors:
    """Validate a StatefulSet."""
    if subresource == "status":
        return _stateful_status_errors(obj) + collision_count_errors(obj, old)
    if is_spec_unchanged(obj, old):
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
    errors += required_selector_errors(spec, "statefulset")
    errors += selected_template_errors(_with_claims(spec), "StatefulSet", "")
    if old is not None and not _same_but(spec, old["spec"], _STATEFUL_MUTABLE):
        errors.append(forbidden("spec", _STATEFUL_CHANGES))
    return errors


def _new_stateful_errors(spec: JsonObject) -> Errors:
    """Validate fields that cannot change later."""
    errors: Errors = []
    for index, claim in enumerate(spec.get("volumeClaimTemplates") or ()):
        errors += claim_spec_errors(claim.get("spec") or {}, f"spec.volumeClaimTemplates[{index}].spec")
    if spec.get("serviceName"):
        errors += label_errors(spec["serviceName"], "spec.serviceName")
    return errors


def _management_errors(spec: JsonObject) -> Errors:
    policy = spec.get("podManagementPolicy") or ""
    if policy in ("OrderedReady", "Parallel"):
        return []
    return [invalid("spec.podManagementPolicy", policy, "must be 'OrderedReady' or 'Parallel'")]


def _update_strategy_errors(strategy: JsonObject) -> Errors:
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


def _retention_errors(policy: JsonObject) -> Errors:
    return [
        not_supported(f"spec.persistentVolumeClaimRetentionPolicy.{name}", policy.get(name) or "", _RETENTION)
        for name in ("whenDeleted", "whenScaled")
        if policy and policy.get(name) not in _RETENTION
    ]


def _with_claims(spec: JsonObject) -> JsonObject:
    """Return the spec with the volumes of its claim templates, as the pods will have them."""
    claims = [(claim.get("metadata") or {}).get("name") or "" for claim in spec.get("volumeClaimTemplates") or ()]
    template = spec.get("template") or {}
    pod = template.get("spec") or {}
    if not claims and not pod.get("hostname") and not pod.get("subdomain"):
        return spec
    brought = [{"name": name, "persistentVolumeClaim": {"claimName": name}} for name in dict.fromkeys(claims)]
    others = [volume for volume in pod.get("volumes") or () if volume.get("name") not in claims]
    whole = {**pod, "volumes": [*brought, *others], "hostname": "", "subdomain": ""}
    return {**spec, "template": {**template, "spec": whole}}


def _same_but(spec: JsonObject, old: JsonObject, mutable: frozenset[str]) -> bool:
    def rest(document: JsonObject) -> JsonObject:
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


def _stateful_status_errors(obj: JsonObject) -> Errors:
    status = obj.get("status") or {}
    errors = negative_errors(status, _STATEFUL_COUNTS, "status")
    names = ("readyReplicas", "currentReplicas", "updatedReplicas", "availableReplicas")
    return errors + replica_count_errors(status, names, "status.readyReplicas")
