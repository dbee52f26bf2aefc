"""Every recorded write that these functions alone determine, replayed on the recorded object before it."""

from collections import Counter
from typing import Any

import pytest

from steersman.apiserver.builtin import types as builtin_types
from steersman.apiserver.builtin.strategic_merge import apply_strategic_merge_patch
from steersman.apiserver.managed_fields import updater
from steersman.apiserver.managed_fields.endpoint import Endpoint, Versioned
from steersman.apiserver.managed_fields.field_set import set_of
from steersman.errors import ApiError
from steersman.golang.equality import json_equal
from steersman.objects.identity import GroupVersionKind
from steersman.protocol.patches import PatchError, apply_json_patch, apply_merge_patch
from tests.support.patch_recordings import Step, steps

APPLY = "application/apply-patch+yaml"
_STATUS = set_of(("status",))
_ALL_BUT_STATUS = set_of(("spec",), ("metadata",))
_WITHOUT_STATUS = ("ConfigMap", "Secret", "Namespace", "ServiceAccount", "Role", "RoleBinding")
#: Members of metadata that the server sets after ownership is computed.
_SERVER_SET = ("managedFields", "resourceVersion", "generation", "deletionTimestamp", "deletionGracePeriodSeconds")

#: Writes whose answer does not show the object as ownership sees it.
NOT_SHOWN = {
    "up-finalizers-delete/7": "the deletion time in the request is taken back after ownership is decided",
    "up-conflict-builtin/16": "a taint is added to the node by admission",
}


def endpoint_of(step: Step, kind: str) -> Endpoint:
    """Return the endpoint that a step was sent to."""
    target = step.target
    api_version = f"{target.group}/{target.version}" if target.group else target.version
    versions = step.crds.get((target.group, target.plural))
    if versions is None:
        gvk = GroupVersionKind(target.group, target.version, kind)
        main = {} if kind in _WITHOUT_STATUS else _STATUS
        return Endpoint(
            api_version=api_version,
            type=builtin_types.type_of(gvk),
            subresource=target.subresource,
            reset_fields=_ALL_BUT_STATUS if target.subresource else main,
            empty=builtin_types.empty_object(gvk),
        )
    types = {
        f"{target.group}/{name}": builtin_types.type_builder().custom_resource(one["schema"]["openAPIV3Schema"])
        for name, one in versions.items()
    }
    has_status = "status" in versions[target.version].get("subresources", {})
    reset = _ALL_BUT_STATUS if target.subresource else (_STATUS if has_status else {})

    def convert(obj: dict[str, Any], version: str) -> Versioned | None:
        if version not in types:
            return None
        return Versioned({**obj, "apiVersion": version}, types[version], reset)

    return Endpoint(
        api_version=api_version,
        type=types[api_version],
        subresource=target.subresource,
        reset_fields=reset,
        convert=convert,
    )


def managed_fields(obj: dict[str, Any] | None) -> list[dict[str, Any]]:
    """Return an object's managed fields."""
    return ((obj or {}).get("metadata") or {}).get("managedFields") or []


def bare(obj: dict[str, Any]) -> dict[str, Any]:
    """Return the object without the fields that the server sets itself."""
    metadata = {key: value for key, value in obj.get("metadata", {}).items() if key not in _SERVER_SET}
    return {**obj, "metadata": metadata}


def _without_times(obj: dict[str, Any]) -> list[Any]:
    return [{**entry, "time": None} for entry in managed_fields(obj)]


def settled(live: dict[str, Any], result: dict[str, Any]) -> dict[str, Any]:
    """Return what the server stores: a write that changes only times is dropped."""
    is_noop = json_equal(bare(live), bare(result)) and _without_times(live) == _without_times(result)
    return live if is_noop else result


def now_of(step: Step) -> str:
    """Return the time of a write: the latest in the answer."""
    return max(
        (entry["time"] for entry in managed_fields(step.response) if "time" in entry), default="2026-01-01T00:00:00Z"
    )


def is_decided_here(step: Step) -> bool:
    """Return whether the step writes an object whose previous state is known."""
    target = step.target
    return (
        step.is_known
        and step.method not in ("GET", "DELETE")
        and target.subresource in ("", "status")
        and target.plural != "customresourcedefinitions"
        and step.name.split()[0] not in NOT_SHOWN
        and not isinstance(step.body, str)
    )


def is_subset(part: Any, whole: Any) -> bool:
    """Return whether all of an undefaulted object is in a defaulted one; empty and null parts may be dropped."""
    if isinstance(part, dict):
        return isinstance(whole, dict) and all(
            is_subset(value, whole[key]) if key in whole else not value for key, value in part.items()
        )
    if isinstance(part, list):
        return isinstance(whole, list) and len(part) == len(whole) and all(map(is_subset, part, whole))
    return json_equal(part, whole)


#: Applies whose answer shows an object that was changed after the merge, with the reason.
CHANGED_AFTER_MERGE = {
    "ac-nulls/8": "null became the default",
    "ac-nulls/19": "null became the default",
    "ac-nulls/25": "metadata null became an empty text",
    "ac-status-apply/1": "status is reset on create",
    "ac-status-apply/3": "spec is reset on /status",
    "ac-status-apply/10": "metadata is reset on /status",
    "ac-no-status-subresource/2": "a cluster-scoped object has no namespace",
    "ab-dep-status-apply/0": "status is reset on create",
    "ab-svc-ports/9": "node ports go with the type",
    "ab-cm/5": "null became an empty text",
    "ab-secret/1": "stringData is folded into data",
    "ab-secret/3": "stringData is folded into data",
    "ab-node/0": "a taint is added by admission",
}


def is_rewritten(step: Step) -> bool:
    """Return whether typed decoding rewrites values of this kind: quantities, and omitted false and zero."""
    return step.response.get("kind") in ("Deployment", "Service", "StatefulSet") and "seed" in step.name


@pytest.mark.parametrize("file", ["apply_custom", "apply_builtin"])
def test_recorded_applies_have_the_recorded_result(file: str) -> None:
    """Objects, owners, conflicts and messages of server-side apply must be those of the real server."""
    seen: Counter[str] = Counter()
    for step in steps(file):
        body = step.body
        if not is_decided_here(step) or step.content_type != APPLY or not isinstance(body, dict):
            continue
        kind, message = body.get("kind"), str(step.response.get("message", ""))
        is_ours = "Apply failed" in message or "typed patch object" in message or "managedFields must" in message
        if not kind or not (step.status < 300 or is_ours):
            continue
        endpoint = endpoint_of(step, kind)
        if body.get("apiVersion") != endpoint.api_version or (step.live and step.live["kind"] != kind):
            continue
        seen[check_apply(step, endpoint)] += 1
    assert seen["refused"] > 100
    assert seen["applied"] > 170
    assert set(seen) == {"applied", "refused"}


def check_apply(step: Step, endpoint: Endpoint) -> str:
    """Apply a recorded configuration and compare the outcome."""
    live = step.live if step.live is not None else endpoint.empty
    # An invalid value of `force` counts as true.
    force = step.query.get("force") in ("true", "maybe")
    try:
        result = updater.apply(live, step.body, step.manager, endpoint=endpoint, time=now_of(step), force=force)
    except ApiError as error:
        check_refusal(step, error)
        return "refused"
    assert step.status < 300, step.name
    result = settled(live, result)
    assert managed_fields(result) == managed_fields(step.response), step.name
    if step.name.split()[0] not in CHANGED_AFTER_MERGE and not is_rewritten(step):
        assert is_subset(bare(result), step.response), step.name
    return "applied"


def check_refusal(step: Step, error: ApiError) -> None:
    """Compare an error with the recorded one, in any order of its lines and causes."""
    assert error.code == step.status, step.name
    if not step.is_varying or error.code == 409:
        assert sorted(error.message.split("\n")) == sorted(step.response["message"].split("\n")), step.name
    causes = {
        (one["reason"], one["message"], one["field"]) for one in step.response.get("details", {}).get("causes", ())
    }
    assert {(one.reason, one.message, one.field) for one in error.causes} == causes, step.name


#: Fields that the server allocates after ownership is computed, so that they have no owner.
_ALLOCATED = {
    "Service": ("clusterIP", "clusterIPs", "ipFamilies", "ipFamilyPolicy"),
    "Pod": ("priority", "preemptionPolicy", "tolerations"),
}


def as_decided(step: Step, endpoint: Endpoint) -> dict[str, Any]:
    """Return the new object as ownership sees it: before allocation, and before the endpoint resets fields."""
    metadata = {key: value for key, value in step.response["metadata"].items() if key != "managedFields"}
    new = {**step.response, "metadata": metadata}
    if step.status == 201 and new["kind"] in _ALLOCATED:
        hidden = [key for key in _ALLOCATED[new["kind"]] if key not in step.body["spec"]]
        new["spec"] = {key: value for key, value in new["spec"].items() if key not in hidden}
    requested = requested_object(step)
    if requested is None:
        return new
    if (given := managed_fields(requested)) and given != managed_fields(step.live):
        new["metadata"] = {**new["metadata"], "managedFields": given}
    if step.method == "PATCH" and (step.target.group, step.target.plural) in step.crds:
        for key in ("spec", "status"):
            # A value of the wrong type is noticed before it is reset.
            if f"f:{key}" in endpoint.reset_fields and requested.get(key) is not None:
                new[key] = requested[key]
    return new


def requested_object(step: Step) -> dict[str, Any] | None:
    """Return the object that a request asks for, before the server changes it."""
    if step.content_type == "application/json":
        return step.body if isinstance(step.body, dict) else None
    if step.live is None:
        return None
    try:
        if step.content_type == "application/merge-patch+json":
            return apply_merge_patch(step.live, step.body)  # type: ignore[no-any-return]  # an object patched by one
        if step.content_type == "application/json-patch+json":
            return apply_json_patch(step.live, step.body)  # type: ignore[no-any-return]  # same
        if step.content_type == "application/strategic-merge-patch+json":
            gvk = GroupVersionKind.of(step.live["apiVersion"], step.live["kind"])
            return apply_strategic_merge_patch(step.live, step.body, gvk)
    except PatchError:
        return None
    return None


@pytest.mark.parametrize(
    ("file", "at_least"),
    [
        ("apply_custom", 340),
        ("apply_builtin", 160),
        ("json_patch", 300),
        ("merge_patch", 370),
        ("strategic_patch", 370),
        ("update", 340),
    ],
)
def test_recorded_updates_have_the_recorded_owners(file: str, at_least: int) -> None:
    """Creates, updates and patches of every kind must leave the owners that the real server leaves."""
    compared = 0
    for step in steps(file):
        if not is_decided_here(step) or step.content_type == APPLY or step.status >= 300:
            continue
        if "kind" not in step.response or (step.status == 200 and step.live is None):
            continue
        endpoint = endpoint_of(step, step.response["kind"])
        new = as_decided(step, endpoint)
        if step.status == 201:
            result = updater.create(new, step.manager, endpoint=endpoint, time=now_of(step))
        else:
            assert step.live is not None
            result = updater.update(step.live, new, step.manager, endpoint=endpoint, time=now_of(step))
            result = settled(step.live, result)
        assert managed_fields(result) == managed_fields(step.response), step.name
        compared += 1
    assert compared >= at_least
