from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from steersman.apiserver.builtin.strategic_merge import apply_strategic_merge_patch
from steersman.golang.equality import json_equal
from steersman.objects.identity import GroupVersionKind
from steersman.protocol.patches import MalformedPatch, PatchError
from tests.support.patch_recordings import Step, steps

DEPLOYMENT = GroupVersionKind("apps", "v1", "Deployment")
POD = GroupVersionKind("", "v1", "Pod")
SERVICE = GroupVersionKind("", "v1", "Service")

#: Patches whose result the server rejects or rewrites after merging, although the merge itself is fine.
REFUSED_LATER = ("does not match the name on the URL", "name must be provided")
REWRITTEN = ("sp-bad-docs/13", "sp-bad-docs/14", "sp-bad-docs/15", "sp-bad-docs/16", "sp-conditions-null/7")


def is_shown(merged: Any, answer: Any) -> bool:
    """Return whether the answer contains a merged object; defaults are added and quantities rewritten."""
    if isinstance(merged, dict):
        return isinstance(answer, dict) and all(
            is_shown(value, answer[key]) if key in answer else not value or key.startswith("$")
            for key, value in merged.items()
            if key not in ("cpu", "managedFields", "resourceVersion", "generation")
        )
    if isinstance(merged, list):
        return isinstance(answer, list) and len(merged) == len(answer) and all(map(is_shown, merged, answer))
    return json_equal(merged, answer)


def visible_part(step: Step, merged: dict[str, Any]) -> dict[str, Any]:
    """Return the object without the fields that the endpoint resets."""
    if step.target.subresource == "status":
        return {"status": merged.get("status")}
    return {key: value for key, value in merged.items() if key != "status"}


def test_recorded_strategic_patches_have_the_recorded_result() -> None:
    """Results and messages, odd ones included, are those of the real server."""
    merged = rejected = 0
    for step in steps("strategic_patch"):
        if step.content_type != "application/strategic-merge-patch+json" or not step.live or not step.is_known:
            continue
        if isinstance(step.body, str) or step.target.subresource == "scale" or step.status in (409, 422):
            continue
        gvk = GroupVersionKind.of(step.live["apiVersion"], step.live["kind"])
        message = step.response.get("message", "")
        if step.status >= 400 and not message.endswith(REFUSED_LATER) and "on the URL" not in message:
            with pytest.raises(PatchError) as caught:
                apply_strategic_merge_patch(step.live, step.body, gvk)
            assert str(caught.value) == message, step.name
            rejected += 1
        elif step.status == 200 and step.name.split()[0] not in REWRITTEN:
            result = apply_strategic_merge_patch(step.live, step.body, gvk)
            assert is_shown(visible_part(step, result), step.response), step.name
            merged += 1
    assert merged > 300
    assert rejected > 80


def test_new_items_come_before_the_others() -> None:
    """Without an order directive the server puts new items first."""
    pod = {"spec": {"containers": [{"name": "a"}, {"name": "b", "image": "1"}]}}
    patch = {"spec": {"containers": [{"name": "n"}, {"name": "b", "image": "2"}]}}
    merged = apply_strategic_merge_patch(pod, patch, POD)
    assert [one["name"] for one in merged["spec"]["containers"]] == ["n", "a", "b"]


def test_the_order_directive_orders_the_list() -> None:
    """`kubectl apply` keeps the order of the manifest by this directive."""
    pod = {"spec": {"containers": [{"name": "a"}, {"name": "b"}, {"name": "live"}]}}
    patch = {"spec": {"$setElementOrder/containers": [{"name": "b"}, {"name": "a"}]}}
    merged = apply_strategic_merge_patch(pod, patch, POD)
    assert [one["name"] for one in merged["spec"]["containers"]] == ["b", "a", "live"]


def test_deleting_a_port_by_its_merge_key_deletes_all_with_that_key() -> None:
    """The merge key of service ports is the number alone, although ports also differ in their protocol."""
    service = {"spec": {"ports": [{"port": 80, "protocol": "TCP"}, {"port": 80, "protocol": "UDP"}, {"port": 81}]}}
    patch = {"spec": {"ports": [{"port": 80, "$patch": "delete"}]}}
    assert apply_strategic_merge_patch(service, patch, SERVICE) == {"spec": {"ports": [{"port": 81}]}}


def test_retain_keys_drops_the_other_members() -> None:
    """A union such as the strategy of a deployment changes its branch by this directive."""
    deployment = {"spec": {"strategy": {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 1}}}}
    patch = {"spec": {"strategy": {"$retainKeys": ["type"], "type": "Recreate"}}}
    assert apply_strategic_merge_patch(deployment, patch, DEPLOYMENT) == {"spec": {"strategy": {"type": "Recreate"}}}


def test_values_are_deleted_from_a_list_of_primitives() -> None:
    """A list of primitives is a set; this is the only way to remove from it."""
    pod = {"metadata": {"finalizers": ["a", "b"]}}
    patch = {"metadata": {"$deleteFromPrimitiveList/finalizers": ["a"]}}
    assert apply_strategic_merge_patch(pod, patch, POD) == {"metadata": {"finalizers": ["b"]}}


def test_the_input_is_left_alone() -> None:
    """The live object may be in use elsewhere."""
    pod = {"spec": {"containers": [{"name": "a", "env": [{"name": "x", "value": "1"}]}]}}
    patch = {"spec": {"containers": [{"name": "a", "env": [{"name": "x", "$patch": "delete"}]}], "nodeName": None}}
    before = repr((pod, patch))
    apply_strategic_merge_patch(pod, patch, POD)
    assert repr((pod, patch)) == before


@pytest.mark.parametrize(("patch", "kind"), [([], "array"), ("x", "string"), (5, "number"), (True, "bool")])
def test_a_patch_that_is_not_an_object_is_malformed(patch: Any, kind: str) -> None:
    """The text is that of the JSON decoder of the real server."""
    with pytest.raises(MalformedPatch, match=f"cannot unmarshal {kind} into Go value"):
        apply_strategic_merge_patch({}, patch, POD)


def test_null_changes_nothing() -> None:
    """The real server accepts it."""
    assert apply_strategic_merge_patch({"a": 1}, None, POD) == {"a": 1}


scalars = st.none() | st.integers(0, 2) | st.booleans() | st.sampled_from(["a", "b", "delete", "replace", "merge"])
_NAMES = [
    "name",
    "env",
    "ports",
    "containerPort",
    "args",
    "containers",
    "$patch",
    "$retainKeys",
    "$setElementOrder/env",
    "$setElementOrder/ports",
    "$deleteFromPrimitiveList/args",
    "$setElementOrder",
]
parts = st.recursive(
    scalars,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(_NAMES), inner, max_size=4),
    max_leaves=15,
)


@settings(deadline=None)
@given(st.lists(parts, max_size=3) | parts, st.lists(parts, max_size=3) | parts, parts)
def test_any_patch_gives_an_object_or_a_patch_error(live: Any, changes: Any, order: Any) -> None:
    """Any input returns an object or raises PatchError, and the live object is not changed."""
    pod = {"metadata": {"finalizers": ["a"]}, "spec": {"containers": live, "volumes": [{"name": "a"}]}}
    patch = {"spec": {"containers": changes, "volumes": changes, "$setElementOrder/containers": order}}
    before = repr((pod, patch))
    with suppress(PatchError):
        apply_strategic_merge_patch(pod, patch, POD)
    with suppress(PatchError):
        apply_strategic_merge_patch(pod, {"spec": {"containers": changes}, "metadata": order}, POD)
    assert repr((pod, patch)) == before
