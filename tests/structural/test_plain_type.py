"""The fast check of values, compared with the walks that it replaces."""

from typing import Any

import msgspec
import pytest
from hypothesis import given, settings

from steersman.json_types import copied
from steersman.schema.generated_objects import generated
from steersman.structural.compiled import CompiledSchema, compile_schema
from steersman.structural.plain_type import plain_type
from steersman.structural.ratcheting import same
from tests.structural.test_schema_properties import COMMON_SCHEMAS, VALUES, grown, kubernetes_schemas

#: More objects than a schema sees before its type is created.
MANY = 30


def _is_plain(compiled: CompiledSchema, value: Any, *, is_root: bool = False) -> bool:
    kind = plain_type(compiled.node, is_root=is_root)
    try:
        return kind is not None and msgspec.convert(value, kind) is not None
    except msgspec.ValidationError:
        return False


def _needs_nothing(compiled: CompiledSchema, value: Any) -> bool:
    """Return the result of the walks alone: a schema that was just compiled has no type yet."""
    before = copied(value)
    return not compiled.unknown_fields(value) and same(value, before) and not compiled.value_errors(value)


@settings(max_examples=200, deadline=None)
@given(kubernetes_schemas() | grown(COMMON_SCHEMAS), VALUES)
def test_a_plain_value_needs_no_walk(schema: dict[str, Any], value: Any) -> None:
    """A positive result is final, so it must never be given for a value that the walks would change or reject."""
    compiled = compile_schema(schema, is_root=False)
    if _is_plain(compiled, value):
        assert _needs_nothing(compiled, value)


@settings(max_examples=100, deadline=None)
@given(kubernetes_schemas() | grown(COMMON_SCHEMAS))
def test_a_plain_value_near_the_schema_needs_no_walk(schema: dict[str, Any]) -> None:
    """Values generated from the schema are nearly valid, so the fast check accepts most of them."""
    root = {"type": "object", "properties": {"spec": schema}}
    try:
        values = list(generated(compile_schema(root), "demo.dev/v1", "Widget", count=5))
    except ValueError:
        return  # a schema that nothing satisfies
    for value in values:
        compiled = compile_schema(root)
        if _is_plain(compiled, value, is_root=True):
            assert _needs_nothing(compiled, value)


SPEC = {
    "type": "object",
    "required": ["color"],
    "properties": {
        "color": {"type": "string", "enum": ["red", "blue"]},
        "size": {"type": "integer", "minimum": 0, "maximum": 9, "default": 1},
        "small": {"type": "integer", "format": "int32"},
        "name": {"type": "string", "minLength": 1, "maxLength": 5},
        "port": {"x-kubernetes-int-or-string": True},
        "on": {"type": "boolean"},
        "free": {"type": "object", "x-kubernetes-preserve-unknown-fields": True},
        "labels": {"type": "object", "additionalProperties": {"type": "string"}},
        "items": {
            "type": "array",
            "maxItems": 2,
            "items": {"type": "object", "properties": {"a-b": {"type": "string"}}},
        },
    },
}
ROOT = {"type": "object", "properties": {"metadata": {"type": "object"}, "spec": SPEC}}
GOOD: dict[str, Any] = {
    "color": "red",
    "size": 3,
    "small": -4,
    "name": "héllo",
    "port": "http",
    "on": False,
    "free": {"x": [None, 1.5]},
    "labels": {"any": "thing"},
    "items": [{"a-b": "x"}, {}],
}


def _object(spec: Any) -> dict[str, Any]:
    return {
        "apiVersion": "demo.dev/v1",
        "kind": "Widget",
        "metadata": {"name": "w", "labels": {"a": "b"}},
        "spec": spec,
    }


def test_an_ordinary_object_is_plain() -> None:
    """The fast check is useless if it does not accept common objects."""
    assert _is_plain(compile_schema(ROOT), _object(GOOD), is_root=True)


@pytest.mark.parametrize(
    "change",
    [
        {"color": "green"},
        {"color": None},
        {"unknown": 1},
        {"size": 10},
        {"size": 1.0},
        {"size": True},
        {"small": 2**31},
        {"name": "toolong"},
        {"name": ""},
        {"port": 1.5},
        {"port": 2**63},
        {"on": 0},
        {"free": []},
        {"labels": {"a": None}},
        {"items": [{}, {}, {}]},
        {"items": [{"c": 1}]},
        {"items": [None]},
    ],
)
def test_an_unusual_object_is_validated_as_before(change: dict[str, Any]) -> None:
    """A server that has learned the type of a kind answers like one that has not."""
    fresh, learned = compile_schema(ROOT), compile_schema(ROOT)
    for _ in range(MANY):
        assert learned.prune(_object(copied(GOOD))) == []
        assert learned.validate(_object(copied(GOOD))).errors == []
    first, second = (_object({**copied(GOOD), **copied(change)}) for _ in range(2))
    assert learned.prune(first) == fresh.prune(second)
    assert same(first, second)
    assert learned.validate(first).errors == fresh.validate(second).errors


@pytest.mark.parametrize(
    "more",
    [
        {"pattern": "^a"},
        {"format": "date-time"},
        {"allOf": [{"minLength": 1}]},
        {"x-kubernetes-embedded-resource": True},
        {"maxLength": -1},
        {"enum": ["a", None]},
    ],
)
def test_a_schema_that_a_type_cannot_express_has_none(more: dict[str, Any]) -> None:
    """An ignored keyword would be a rule that is not enforced."""
    schema = {"type": "object", "properties": {"spec": {"type": "string", **more}}}
    assert plain_type(compile_schema(schema).node, is_root=True) is None
