from typing import Any

import pytest

from steersman.golang import text as go_text


@pytest.mark.parametrize(
    ("value", "plain", "syntax"),
    [
        (
            {"b": [1, "x"], "a": None},
            "map[a:<nil> b:[1 x]]",
            'map[string]interface {}{"a":interface {}(nil), "b":[]interface {}{1, "x"}}',
        ),
        ("a b", "a b", '"a b"'),
        (True, "true", "true"),
        ([], "[]", "[]interface {}{}"),
        (1.5, "1.5", "1.5"),
        (3.0, "3", "3"),
        (0.0, "0", "0"),
        (1e21, "1e+21", "1e+21"),
        (1.25e-7, "1.25e-07", "1.25e-07"),
        (100000.0, "100000", "100000"),
        (1e6, "1e+06", "1e+06"),
        (123456789.0, "1.23456789e+08", "1.23456789e+08"),
        (-1e20, "-1e+20", "-1e+20"),
        ("\x7f", "\x7f", '"\\x7f"'),
    ],
)
def test_values_are_formatted_as_in_go(value: Any, plain: str, syntax: str) -> None:
    """Messages of the API server quote values in these formats, and clients compare messages."""
    assert go_text.plain(value) == plain
    assert go_text.syntax(value) == syntax


def test_types_are_named_as_in_go() -> None:
    """Type errors name the actual type."""
    names = [go_text.type_name(value) for value in ({}, [], "", True, 1, 1.5, None)]
    assert names == ["map[string]interface {}", "[]interface {}", "string", "bool", "int64", "float64", "<nil>"]
