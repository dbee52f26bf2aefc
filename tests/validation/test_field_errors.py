"""Error messages are those of Kubernetes."""

from typing import Any

import pytest

from steersman.golang.text import float_text, json_number, json_text, quoted
from steersman.validation.field_errors import (
    OMITTED,
    ErrorType,
    FieldError,
    duplicate,
    forbidden,
    internal,
    invalid,
    invalid_message,
    not_supported,
    required,
    too_long,
    too_many,
)


@pytest.mark.parametrize(
    ("error", "reason", "message"),
    [
        (required("a"), "FieldValueRequired", "Required value"),
        (required("a", "why"), "FieldValueRequired", "Required value: why"),
        (invalid("a", "x", "why"), "FieldValueInvalid", 'Invalid value: "x": why'),
        (invalid("a", None, "why"), "FieldValueInvalid", "Invalid value: null: why"),
        (invalid("a", 1.5, "why"), "FieldValueInvalid", "Invalid value: 1.5: why"),
        (invalid("a", {"b": [1, True]}, "why"), "FieldValueInvalid", 'Invalid value: {"b":[1,true]}: why'),
        (FieldError(ErrorType.INVALID, "a", OMITTED, "why"), "FieldValueInvalid", "Invalid value: why"),
        (duplicate("a", "x"), "FieldValueDuplicate", 'Duplicate value: "x"'),
        (forbidden("a", "why"), "FieldValueForbidden", "Forbidden: why"),
        (
            not_supported("a", "x", ["y", "z"]),
            "FieldValueNotSupported",
            'Unsupported value: "x": supported values: "y", "z"',
        ),
        (too_long("a", 1), "FieldValueTooLong", "Too long: may not be more than 1 byte"),
        (too_many("a", 3, 2), "FieldValueTooMany", "Too many: 3: must have at most 2 items"),
        (internal("a", "oops"), "InternalError", "Internal error: oops"),
    ],
)
def test_an_error_has_its_reason_and_its_message(error: FieldError, reason: str, message: str) -> None:
    """Clients show these texts to users, and some parse them."""
    assert (error.cause.reason, error.cause.message, error.cause.field) == (reason, message, "a")


def test_a_message_names_the_object_and_lists_each_error_once() -> None:
    """One error stands alone, several in brackets; the same text is not repeated, though its cause is."""
    error = required("spec.a")
    assert invalid_message([error], kind="Pod", name="p") == 'Pod "p" is invalid: spec.a: Required value'
    both = invalid_message([error, error, required("b")], kind="Gadget", group="demo.dev", name="g")
    assert both == 'Gadget.demo.dev "g" is invalid: [spec.a: Required value, b: Required value]'


@pytest.mark.parametrize(
    ("text", "printed"),
    [
        ("a", '"a"'),
        ('a"b\\', '"a\\"b\\\\"'),
        ("é\n\t", '"é\\n\\t"'),
        ("\x00\x7f", '"\\x00\\x7f"'),
        ("\u00ad", '"\\u00ad"'),
    ],
)
def test_strings_are_quoted_as_in_go(text: str, printed: str) -> None:
    """Unprintable characters are escaped; other scripts are not."""
    assert quoted(text) == printed


@pytest.mark.parametrize(
    ("number", "plain", "in_json"),
    [
        (0.0, "0", "0"),
        (1.0, "1", "1"),
        (100000.0, "100000", "100000"),
        (1e6, "1e+06", "1000000"),
        (123456789.0, "1.23456789e+08", "123456789"),
        (1e21, "1e+21", "1e+21"),
        (0.0001, "0.0001", "0.0001"),
        (0.00001, "1e-05", "0.00001"),
        (1e-7, "1e-07", "1e-7"),
        (-2.5, "-2.5", "-2.5"),
    ],
)
def test_numbers_are_formatted_as_in_go(number: float, plain: str, in_json: str) -> None:
    """Messages and JSON use an exponent from different sizes on."""
    assert (float_text(number), json_number(number)) == (plain, in_json)


@pytest.mark.parametrize(
    ("value", "text"),
    [({"b": 1, "a": None}, '{"a":null,"b":1}'), ("<&>", '"\\u003c\\u0026\\u003e"'), ([1.0, "x"], '[1,"x"]')],
)
def test_json_in_messages_is_sorted_and_escaped(value: Any, text: str) -> None:
    """As Go's encoder does by default."""
    assert json_text(value) == text
