import json
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from steersman.golang.equality import json_equal, json_identical
from steersman.protocol.patches import (
    MalformedPatch,
    PatchError,
    TooManyOperations,
    apply_json_patch,
    apply_merge_patch,
    json_patch_between,
    merge_patch_between,
)
from tests.support.patch_recordings import Step, steps

scalars = st.none() | st.booleans() | st.integers(-3, 3) | st.sampled_from(["", "a", "b~/c"]) | st.just(1.5)
values = st.recursive(
    scalars,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["a", "b", "c/d", "~"]), inner),
    max_leaves=12,
)
objects = st.dictionaries(st.sampled_from(["a", "b", "c/d", "~"]), values, max_size=4)


def without_null_members(value: Any) -> Any:
    """Leave out members that a merge patch cannot express."""
    if isinstance(value, dict):
        return {key: without_null_members(member) for key, member in value.items() if member is not None}
    if isinstance(value, list):
        return [without_null_members(item) for item in value]
    return value


@pytest.mark.parametrize(
    ("left", "right", "is_equal"),
    [
        (1, 1.0, True),
        (1, True, False),
        (0, False, False),
        ([1], [True], False),
        ({"a": {"b": 0}}, {"a": {"b": False}}, False),
        ({"a": [1.0]}, {"a": [1]}, True),
        (None, False, False),
        ("1", 1, False),
    ],
)
def test_values_are_equal_by_type_and_numbers_by_value(left: Any, right: Any, is_equal: bool) -> None:
    """For Python True equals 1, which would hide real changes."""
    assert json_equal(left, right) is is_equal
    assert json_equal(right, left) is is_equal


@settings(deadline=None)
@given(values)
def test_every_value_equals_its_copy(value: Any) -> None:
    """Equality must not depend on identity: objects are decoded again for every comparison."""
    assert json_equal(value, json.loads(json.dumps(value)))


def test_identical_values_are_encoded_the_same() -> None:
    """The server compares numbers of a `test` operation in their notation."""
    assert json_identical({"a": [1, "x", None]}, {"a": [1, "x", None]})
    assert not json_identical(1, 1.0)
    assert not json_identical({"a": 1}, {"b": 1})
    assert not json_identical([1], [1, 2])


@settings(deadline=None)
@given(objects.map(without_null_members), objects.map(without_null_members))
def test_the_merge_patch_between_two_objects_turns_one_into_the_other(old: Any, new: Any) -> None:
    """Updates are sent as such patches: losing or inventing a field would corrupt objects."""
    before = json.dumps(old)
    patch = merge_patch_between(old, new)
    assert json_equal(apply_merge_patch(old, patch), new)
    assert json.dumps(old) == before
    assert (patch == {}) == json_equal(old, new)


def test_null_in_the_new_object_means_that_the_field_is_absent() -> None:
    """Null and absent are the same for a merge patch, so the difference is not a change."""
    assert merge_patch_between({"a": None, "b": 1}, {"b": None}) == {"b": None}
    assert merge_patch_between({}, {"a": None}) == {}


@settings(deadline=None)
@given(values, values)
def test_the_json_patch_between_two_documents_turns_one_into_the_other(old: Any, new: Any) -> None:
    """Admission webhooks answer with such patches."""
    operations = json_patch_between({"doc": old}, {"doc": new})
    assert json_identical(apply_json_patch({"doc": old}, operations), {"doc": new})


@settings(deadline=None)
@given(
    objects,
    st.lists(
        st.dictionaries(
            st.sampled_from(["op", "path", "from", "value"]),
            values
            | st.sampled_from(
                [
                    "add",
                    "remove",
                    "replace",
                    "move",
                    "copy",
                    "test",
                    "/a",
                    "/a/0",
                    "/b/-",
                    "/c~1d/-1",
                    "",
                    "a",
                    "/a/b/00",
                ]
            ),
        )
    ),
)
def test_any_json_patch_returns_a_document_or_raises_and_keeps_its_input(doc: Any, ops: Any) -> None:
    """A client's patch must neither crash the server nor change its stored objects."""
    before = json.dumps([doc, ops])
    with suppress(PatchError):
        apply_json_patch(doc, ops)
    assert json.dumps([doc, ops]) == before


@pytest.mark.parametrize(
    ("operation", "result"),
    [
        ({"op": "replace", "path": "/new", "value": 1}, {"l": [1, 2], "new": 1}),
        ({"op": "copy", "from": "/missing", "path": "/x"}, {"l": [1, 2], "x": None}),
        ({"op": "add", "path": "/l/-1", "value": 3}, {"l": [1, 2, 3]}),
        ({"op": "remove", "path": "/l/-2"}, {"l": [2]}),
        ({"op": "replace", "path": "/l/00", "value": 9}, {"l": [9, 2]}),
        ({"op": "add", "path": "/~2"}, {"l": [1, 2], "~2": None}),
        ({"op": "remove", "path": "ignored/l"}, {}),
        ({"op": "replace", "path": "", "value": {"a": 1}}, {"a": 1}),
        ({"op": "test", "path": "/missing"}, {"l": [1, 2]}),
        ({"op": "move", "from": "/l/0", "path": "/l/1"}, {"l": [2, 1]}),
    ],
)
def test_json_patch_is_as_lenient_as_the_server(operation: Any, result: Any) -> None:
    """Clients rely on what the real server accepts, standard or not."""
    assert apply_json_patch({"l": [1, 2]}, [operation]) == result


@pytest.mark.parametrize(
    "operation",
    [
        {"op": "remove", "path": "/missing"},
        {"op": "add", "path": "", "value": {}},
        {"op": "add", "path": "/l/3", "value": 1},
        {"op": "add", "path": "/l/x", "value": 1},
        {"op": "add", "path": "/missing/x", "value": 1},
        {"op": "test", "path": "/l/0", "value": 1.0},
        {"op": "replace", "path": "", "value": 1},
        {"op": "move", "from": "/missing", "path": "/x"},
        {"op": "frob", "path": "/x"},
        {"op": ["add"], "path": "/x"},
        {"path": "/x"},
        {"op": "add"},
        {"op": "copy", "path": "/x"},
    ],
)
def test_json_patch_rejects_what_the_server_rejects(operation: Any) -> None:
    """All of these are answered with 422."""
    with pytest.raises(PatchError):
        apply_json_patch({"l": [1, 2]}, [operation])


def test_json_patch_has_a_limit_of_operations() -> None:
    """A patch is applied without interruption, so its length must be bounded."""
    operations = [{"op": "test", "path": "", "value": {}}] * 10_001
    assert apply_json_patch({}, operations[:10_000]) == {}
    with pytest.raises(TooManyOperations, match="10000, got 10001"):
        apply_json_patch({}, operations)


def test_copies_of_a_json_patch_are_bounded() -> None:
    """Thirty operations can produce a gigabyte by doubling."""
    doubling = [{"op": "copy", "from": "/a", "path": f"/a/k{n}"} for n in range(30)]
    with pytest.raises(PatchError, match="copy more than"):
        apply_json_patch({"a": {"x": "y" * 100}}, doubling)


@pytest.mark.parametrize("patch", [{}, "x", 5, [1]])
def test_a_patch_that_is_not_a_list_of_operations_is_malformed(patch: Any) -> None:
    """The server answers these with 400, not 422."""
    with pytest.raises(MalformedPatch):
        apply_json_patch({}, patch)


def _patched_parts(step: Step, patched: Any) -> list[tuple[str, Any, Any]]:
    """Return the parts of a patched object that defaults and pruning do not change, with the recorded ones."""
    return [
        (key, value, step.response["spec"].get(key))
        for key, value in (patched.get("spec") or {}).items()
        if key in step.response.get("spec", {}) and key in ("color", "tags", "atom", "gran", "name", "count", "flag")
    ]


@pytest.mark.parametrize(
    ("file", "media_type", "apply"),
    [
        ("json_patch", "application/json-patch+json", apply_json_patch),
        ("merge_patch", "application/merge-patch+json", apply_merge_patch),
    ],
)
def test_recorded_patches_of_custom_resources_have_the_recorded_result(file: str, media_type: str, apply: Any) -> None:
    """The recordings of a real server define what a patch means."""
    compared = refused = 0
    for step in steps(file):
        if step.content_type != media_type or not step.live or not step.is_known or step.target.subresource:
            continue
        if isinstance(step.body, str):
            # Sent verbatim: the test is about its text, not about the patch.
            continue
        if step.status == 422 and step.response.get("details") == {}:
            with pytest.raises(PatchError):
                apply(step.live, step.body)
            refused += 1
        elif step.status == 200 and step.live["kind"] == "Gadget":
            for key, actual, recorded in _patched_parts(step, apply(step.live, step.body)):
                # Nulls are dropped after patching, as the schema requires.
                assert actual is None or json_equal(without_null_members(actual), recorded), (step.name, key)
                compared += 1
    assert compared > 400
    assert refused > 100 or file == "merge_patch"
