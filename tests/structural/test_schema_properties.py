"""Properties of all schemas and objects, tested with generated ones."""

import json
from typing import Any

import jsonschema_rs
import msgspec
from hypothesis import given, settings
from hypothesis import strategies as st

from steersman.json_types import ABSENT, copied
from steersman.structural.compiled import compile_schema
from steersman.structural.ratcheting import same

NAMES = st.sampled_from(["a", "b", "c", "d"])
TEXTS = st.text(alphabet="abé✓ 1", max_size=4)
NUMBERS = st.integers(-8, 8)
SCALARS = st.one_of(TEXTS, NUMBERS, st.booleans(), st.sampled_from([0.5, -1.5, 2.25, 2.0]), st.none())
VALUES = st.recursive(
    SCALARS, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(NAMES, inner, max_size=3), max_leaves=12
)


def optional(**keywords: st.SearchStrategy[Any]) -> st.SearchStrategy[dict[str, Any]]:
    """Generate a part of a schema in which each keyword may be missing."""
    return st.fixed_dictionaries({}, optional=keywords)


def typed(name: str, part: st.SearchStrategy[dict[str, Any]]) -> st.SearchStrategy[dict[str, Any]]:
    """Generate a schema of one type."""
    return part.map(lambda keywords: {"type": name, **keywords})


SCALAR_SCHEMAS = st.one_of(
    typed("string", optional(minLength=st.integers(0, 3), maxLength=st.integers(0, 4), pattern=st.just("^a"))),
    typed("string", optional(enum=st.lists(TEXTS, min_size=1, max_size=3))),
    typed("integer", optional(minimum=NUMBERS, maximum=NUMBERS, multipleOf=st.integers(1, 4))),
    typed("number", optional(minimum=NUMBERS, maximum=NUMBERS)),
    typed("boolean", optional()),
)


def grown(inner: st.SearchStrategy[dict[str, Any]]) -> st.SearchStrategy[dict[str, Any]]:
    """Generate schemas of lists and objects from smaller ones."""
    lists = st.tuples(inner, optional(minItems=st.integers(0, 2), maxItems=st.integers(0, 3))).map(
        lambda parts: {"type": "array", "items": parts[0], **parts[1]}
    )
    objects = st.tuples(
        st.dictionaries(NAMES, inner, max_size=3),
        optional(required=st.lists(NAMES, max_size=2, unique=True), maxProperties=st.integers(0, 3)),
    ).map(lambda parts: {"type": "object", "properties": parts[0], **parts[1]})
    maps = inner.map(lambda part: {"type": "object", "additionalProperties": part})
    return st.one_of(lists, objects, maps)


COMMON_SCHEMAS = st.recursive(SCALAR_SCHEMAS, grown, max_leaves=8)


def with_kubernetes(schema: dict[str, Any], draw: Any) -> dict[str, Any]:
    """Add keywords of Kubernetes at random: defaults, nullable, preserve-unknown-fields."""
    schema = dict(schema)
    for key in ("items", "additionalProperties"):
        if key in schema:
            schema[key] = with_kubernetes(schema[key], draw)
    if "properties" in schema:
        schema["properties"] = {name: with_kubernetes(part, draw) for name, part in schema["properties"].items()}
        if draw(st.booleans()):
            schema["x-kubernetes-preserve-unknown-fields"] = True
    if draw(st.integers(0, 3)) == 0:
        schema["nullable"] = True
    if draw(st.integers(0, 3)) == 0:
        schema["default"] = draw(VALUES.filter(lambda value: value is not None))
    return schema


@st.composite
def kubernetes_schemas(draw: Any) -> dict[str, Any]:
    """Generate a schema with all features."""
    return with_kubernetes(draw(grown(COMMON_SCHEMAS)), draw)


@settings(max_examples=150, deadline=None)
@given(kubernetes_schemas(), VALUES)
def test_pruning_is_idempotent(schema: dict[str, Any], value: Any) -> None:
    """A stored object is pruned again on every read: it must not change."""
    compiled = compile_schema(schema, is_root=False)
    compiled.prune(value)
    once = copied(value)
    assert compiled.prune(value) == []
    assert same(value, once)


@settings(max_examples=150, deadline=None)
@given(kubernetes_schemas(), VALUES)
def test_defaulting_is_idempotent(schema: dict[str, Any], value: Any) -> None:
    """A stored object is defaulted again on every read: it must not change."""
    compiled = compile_schema(schema, is_root=False)
    compiled.default(value)
    once = copied(value)
    compiled.default(value)
    assert same(value, once)


@settings(max_examples=150, deadline=None)
@given(kubernetes_schemas(), VALUES)
def test_validity_survives_encoding(schema: dict[str, Any], value: Any) -> None:
    """A valid object is valid after encoding and decoding, and an invalid one is invalid."""
    compiled = compile_schema(schema, is_root=False)
    decoded = msgspec.json.decode(msgspec.json.encode(value))
    assert bool(compiled.value_errors(decoded)) == bool(compiled.value_errors(value))


@settings(max_examples=300, deadline=None)
@given(COMMON_SCHEMAS, VALUES)
def test_validation_agrees_with_an_independent_implementation(schema: dict[str, Any], value: Any) -> None:
    """For the features that Kubernetes and JSON Schema share, jsonschema-rs decides."""
    ours = not compile_schema(schema, is_root=False).value_errors(value)
    theirs = jsonschema_rs.validator_for(json.loads(json.dumps(schema))).is_valid(value)
    assert ours == theirs


@settings(max_examples=150, deadline=None)
@given(kubernetes_schemas(), VALUES, VALUES)
def test_an_update_has_no_more_errors_than_a_create(schema: dict[str, Any], value: Any, old: Any) -> None:
    """Ratcheting only ignores errors: with an old object, no new ones appear."""
    compiled = compile_schema(schema, is_root=False)
    fresh = {str(error) for error in compiled.value_errors(value, ABSENT)}
    assert {str(error) for error in compiled.value_errors(value, old)} <= fresh


@settings(max_examples=100, deadline=None)
@given(kubernetes_schemas(), VALUES)
def test_an_unchanged_object_is_always_valid(schema: dict[str, Any], value: Any) -> None:
    """An object that was stored before the schema became stricter can still be labelled."""
    assert compile_schema(schema, is_root=False).value_errors(value, copied(value)) == []
