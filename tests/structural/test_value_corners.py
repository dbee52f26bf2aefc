"""Corner cases of validation that the recordings do not cover: odd limits, items and formats."""

from typing import Any

import pytest

from steersman.structural.compiled import compile_schema

MAP_LIST = {
    "type": "array",
    "x-kubernetes-list-type": "map",
    "x-kubernetes-list-map-keys": ["k"],
    "items": {"type": "object", "properties": {"k": {"type": "integer"}}},
}
PAIR_LIST = {
    **MAP_LIST,
    "x-kubernetes-list-map-keys": ["k", "l"],
    "items": {"type": "object", "properties": {"k": {"type": "integer"}, "l": {"type": "integer"}}},
}


def texts(schema: dict[str, Any], value: Any) -> list[str]:
    """Return the errors of a value at `a`."""
    compiled = compile_schema({"type": "object", "properties": {"a": schema}})
    return sorted(str(error) for error in compiled.validate({"a": value}).errors)


@pytest.mark.parametrize(
    ("schema", "value", "wrong"),
    [
        (
            {"type": "integer", "maximum": 5.5},
            3,
            ['<nil>: Invalid value: "": Maximum boundary value must be of type integer (default format) in a'],
        ),
        ({"type": "number", "maximum": 5.5}, 5, []),
        ({"type": "number", "maximum": 5.5}, 6, ["a: Invalid value: 6: a in body should be less than or equal to 5"]),
        (
            {"type": "number", "minimum": 1e6},
            0.5,
            ["a: Invalid value: 0.5: a in body should be greater than or equal to 1e+06"],
        ),
        (
            {"type": "integer", "multipleOf": -2},
            4,
            ["a: Invalid value: -2: factor MultipleOf declared for a must be positive: -2"],
        ),
        ({"type": "integer", "multipleOf": 0}, 4, []),
    ],
)
def test_odd_limits_of_numbers(schema: dict[str, Any], value: Any, wrong: list[str]) -> None:
    """Servers accept such limits in a CRD; the errors of objects must be the same."""
    assert texts(schema, value) == wrong


@pytest.mark.parametrize(
    ("value", "wrong"),
    [
        (5, ['a: Invalid value: "int64": a in body must be of type date-time: "int64"']),
        (1.5, ['a: Invalid value: "float64": a in body must be of type date-time: "float64"']),
        (True, ['a: Invalid value: "": a in body must be of type date-time: ""']),
        ([], []),
    ],
)
def test_a_format_takes_precedence_over_the_type(value: Any, wrong: list[str]) -> None:
    """A text with a format is rejected by the name of the format; a list is even accepted."""
    assert texts({"type": "string", "format": "date-time"}, value) == wrong


def test_a_closed_object_names_the_field_that_it_forbids() -> None:
    """`additionalProperties: false` keeps unknown fields so that they can be rejected."""
    wrong = ['a: Invalid value: "x": a.x in body is a forbidden property']
    assert texts({"type": "object", "additionalProperties": False}, {"x": 1}) == wrong


@pytest.mark.parametrize(
    ("schema", "value", "wrong"),
    [
        (MAP_LIST, [{"k": 1}, {"k": 1.0}], []),
        (PAIR_LIST, [{"k": 1, "l": 2}, {"k": 1.0, "l": 2}], ['a[1]: Duplicate value: {"k":1,"l":2}']),
        (MAP_LIST, [{}, {}], ["a[1]: Duplicate value: {}"]),
        (
            MAP_LIST,
            ["x"],
            [
                'a[0]: Invalid value: "string": a[0] in body must be of type object: "string"',
                'a[0]: Invalid value: "x": must be an object for an array of list-type map',
            ],
        ),
    ],
)
def test_keys_of_map_lists(schema: dict[str, Any], value: Any, wrong: list[str]) -> None:
    """One key is compared as it is, several as JSON; items without a key are duplicates of each other."""
    assert texts(schema, value) == wrong


def test_a_set_distinguishes_true_and_one() -> None:
    """Python does not, so the fast check must not be final."""
    anything = {"x-kubernetes-preserve-unknown-fields": True}
    sets = {"type": "array", "x-kubernetes-list-type": "set", "items": anything}
    assert texts(sets, [1, True, 1.0, "1"]) == []
    assert texts(sets, [{"b": 1}, {"b": 1.0}]) == ['a[1]: Duplicate value: {"b":1}']


def pruned(schema: dict[str, Any], value: Any) -> tuple[Any, list[str]]:
    """Return the pruned value and its unknown fields."""
    unknown = compile_schema(schema, is_root=False).prune(value)
    return value, unknown


def test_a_list_that_preserves_unknown_fields_does_so_in_its_items() -> None:
    """The schemas of the items still apply to the fields that they declare."""
    inner = {"type": "object", "properties": {"b": {"type": "string"}}}
    items = {"type": "object", "properties": {"a": inner}}
    keeping = {"type": "array", "x-kubernetes-preserve-unknown-fields": True, "items": items}
    assert pruned(keeping, [{"x": 1, "a": {"y": 2}}]) == ([{"x": 1, "a": {}}], ["[0].a.y"])
    plain = {"type": "array", "items": items}
    assert pruned(plain, [{"x": 1, "a": {"y": 2}}]) == ([{"a": {}}], ["[0].a.y", "[0].x"])


def test_objects_in_place_of_scalars_lose_their_fields() -> None:
    """Fields that the schema does not declare are unknown, even in a value of a wrong type."""
    assert pruned({"type": "string"}, {"x": 1}) == ({}, ["x"])
    assert pruned({"type": "object", "properties": {"a": {"type": "string"}}}, [{"x": 1}]) == ([{}], ["[0].x"])
    assert pruned({"type": "object", "additionalProperties": True}, {"k": {"x": 1}}) == ({"k": {}}, ["k.x"])


def test_an_enum_distinguishes_true_and_one() -> None:
    """A bool is never a number, although it is in Python."""
    assert texts({"type": "integer", "enum": [1]}, 1) == []
    assert len(texts({"type": "boolean", "enum": [1]}, True)) == 1  # noqa: FBT003 - a JSON value
