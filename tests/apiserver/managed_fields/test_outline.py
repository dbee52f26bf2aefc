"""The fast path to the owner of a new object, compared with the general one."""

from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from steersman.apiserver.builtin.types import type_builder
from steersman.apiserver.managed_fields import updater
from steersman.apiserver.managed_fields.compare import everything_in
from steersman.apiserver.managed_fields.endpoint import Endpoint
from steersman.apiserver.managed_fields.field_set import set_of
from steersman.apiserver.managed_fields.outline import Outline
from steersman.apiserver.managed_fields.typed import fits

_NAMES = st.sampled_from(["a", "b", "name"])
_SCALARS = st.sampled_from([None, True, 0, 1, 2.5, "", "x"])
_VALUES = st.recursive(
    _SCALARS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(_NAMES, inner, max_size=3),
    max_leaves=12,
)
_LIST_KINDS = st.sampled_from(
    [
        {},
        {"x-kubernetes-list-type": "atomic"},
        {"x-kubernetes-list-type": "set"},
        {"x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["name"]},
        {"x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["a", "b"]},
    ]
)


def _schemas(inner: st.SearchStrategy[dict[str, Any]]) -> st.SearchStrategy[dict[str, Any]]:
    extra = st.sampled_from([{}, {"x-kubernetes-map-type": "atomic"}, {"x-kubernetes-preserve-unknown-fields": True}])
    objects = st.builds(
        lambda properties, more: {"type": "object", "properties": properties, **more},
        st.dictionaries(_NAMES, inner, min_size=1, max_size=3),
        extra,
    )
    maps = st.builds(lambda values: {"type": "object", "additionalProperties": values}, inner)
    lists = st.builds(lambda items, more: {"type": "array", "items": items, **more}, inner, _LIST_KINDS)
    return objects | maps | lists


_SCHEMAS = st.recursive(
    st.sampled_from(
        [{"type": "string"}, {"type": "integer"}, {"type": "boolean"}, {"x-kubernetes-int-or-string": True}]
    ),
    _schemas,
    max_leaves=5,
)


def _object(spec: Any) -> dict[str, Any]:
    return {
        "apiVersion": "demo.dev/v1",
        "kind": "Widget",
        "metadata": {"name": "w", "labels": {"a": "b"}},
        "spec": spec,
    }


@settings(max_examples=150)
@given(_SCHEMAS, st.lists(_VALUES, max_size=4))
def test_an_outline_contains_everything_in_a_valid_value(schema: dict[str, Any], values: list[Any]) -> None:
    """Caching nodes by shape must be invisible: each value, first or repeated, has the node of the plain rule."""
    kind = type_builder().custom_resource({"type": "object", "properties": {"spec": schema}})
    outline = Outline(kind)
    for obj in [_object(value) for value in [*values, *values]]:
        expected = everything_in(obj, kind) if fits(obj, kind) else None
        assert msgspec.json.encode(outline.of(obj)) == msgspec.json.encode(expected)


@settings(max_examples=150)
@given(_SCHEMAS, _VALUES)
def test_a_creator_owns_the_same_fields_on_both_paths(schema: dict[str, Any], value: Any) -> None:
    """A request with an empty list of entries takes the general path; its object must be the same to the byte."""
    kind = type_builder().custom_resource({"type": "object", "properties": {"spec": schema, "status": schema}})
    endpoint = Endpoint(api_version="demo.dev/v1", type=kind, reset_fields=set_of(("status",)), is_custom=True)
    quick = {**_object(value), "status": value}
    slow = {**quick, "metadata": {**quick["metadata"], "managedFields": []}}
    time = "2026-01-02T03:04:05Z"
    made = [updater.create(obj, "manager", endpoint=endpoint, time=time) for obj in (quick, slow)]
    assert msgspec.json.encode(made[0]) == msgspec.json.encode(made[1])


def test_the_cache_of_shapes_is_bounded() -> None:
    """Maps with free keys have as many shapes as objects: the cache must stay small, and correct."""
    kind = type_builder().custom_resource(
        {"type": "object", "properties": {"spec": {"type": "object", "additionalProperties": {"type": "string"}}}}
    )
    outline = Outline(kind)
    for number in range(1_100):
        obj = _object({f"key-{number}": "x"})
        assert outline.of(obj) == everything_in(obj, kind)
    assert outline.of(_object({"key-0": "x"})) == everything_in(_object({"key-0": "x"}), kind)


@pytest.mark.parametrize(
    ("schema", "large"),
    [
        (
            {"type": "object", "additionalProperties": {"type": "string"}},
            {f"key-{number}": "x" for number in range(100)},
        ),
        ({"type": "array", "items": {"type": "integer"}, "x-kubernetes-list-type": "set"}, list(range(100))),
    ],
)
def test_large_objects_take_the_general_path(schema: dict[str, Any], large: Any) -> None:
    """A megabyte of keys that never occur again must not be cached hundreds of times."""
    kind = type_builder().custom_resource({"type": "object", "properties": {"spec": schema}})
    assert Outline(kind).of(_object(large)) is None
    endpoint = Endpoint(api_version="demo.dev/v1", type=kind, is_custom=True)
    made = updater.create(_object(large), "manager", endpoint=endpoint, time="2026-01-02T03:04:05Z")
    [entry] = made["metadata"]["managedFields"]
    assert len(entry["fieldsV1"]["f:spec"]) == 1 + len(large)


def test_objects_of_one_shape_share_one_node() -> None:
    """This is the purpose of the cache: the node computed for the first object is reused."""
    kind = type_builder().custom_resource({"type": "object", "properties": {"spec": {"type": "object"}}})
    outline = Outline(kind)
    first, second = outline.of(_object({"a": {"b": [1]}})), outline.of(_object({"a": {"b": ["x"]}}))
    assert first is not None
    assert first is second
