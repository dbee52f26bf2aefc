"""Bodies of requests: duplicates, what Go tolerates, and the messages for what it rejects."""

from typing import Any

import pytest

from steersman.errors import DecodeError
from steersman.golang.strict_json import as_written, decode_json, settle_numbers


def test_duplicate_fields_are_reported_at_any_place() -> None:
    """The last one counts; each is reported with its whole path."""
    decoded = decode_json(b'{"a":1,"b":[{"c":1,"c":2}],"a":{"d":1,"d":1}}')
    assert decoded.value == {"a": {"d": 1}, "b": [{"c": 2}]}
    assert decoded.duplicates == ["b[0].c", "a", "a.d"]


def test_escaped_quotes_are_not_duplicates() -> None:
    """The fast check counts quotes; a text that contains one must not be reported."""
    decoded = decode_json(b'{"a":"\\u0022","b":"\\""}')
    assert (decoded.value, decoded.duplicates) == ({"a": '"', "b": '"'}, [])


def test_broken_unicode_is_replaced() -> None:
    """Invalid UTF-8 and lone surrogates are accepted, and become the replacement character."""
    assert decode_json(b'{"a":"\xff","b":"\\ud800"}').value == {"a": "\ufffd", "b": "\ufffd"}


@pytest.mark.parametrize(
    ("raw", "text"),
    [
        (b'{"a":01}', "invalid character '1' after object key:value pair"),
        (b'{"a":tru}', "invalid character '}' in literal true (expecting 'e')"),
        (b'["a" "b"]', "invalid character '\"' after array element"),
        (b'{"a"}', "invalid character '}' after object key"),
        (b'{"a":"\\x"}', "invalid character 'x' in string escape code"),
        (b'{"a":"\\u12g4"}', "invalid character 'g' in \\u hexadecimal character escape"),
        (b'{"a":-}', "invalid character '}' in numeric literal"),
        (b'{"a":1.}', "invalid character '}' after decimal point in numeric literal"),
        (b'{"a":1ex}', "invalid character 'x' in exponent of numeric literal"),
        (b'{"a":', "unexpected end of JSON input"),
        (b"", "unexpected end of JSON input"),
        (b"1 2", "invalid character '2' after top-level value"),
    ],
)
def test_invalid_json_has_the_message_of_go(raw: bytes, text: str) -> None:
    """Kubectl shows it."""
    with pytest.raises(DecodeError) as refused:
        decode_json(raw)
    assert str(refused.value) == text


@pytest.mark.parametrize(
    ("value", "stored"),
    [
        (1.0, 1),
        (1.5, 1.5),
        (1e2, 100),
        (1e21, 1e21),
        (2**63, 9223372036854776000),
        (2**63 - 1, 2**63 - 1),
        ([1.0, {"a": 2.0}], [1, {"a": 2}]),
        (True, True),
    ],
)
def test_numbers_are_stored_as_the_server_writes_them(value: Any, stored: Any) -> None:
    """A whole float is an integer in Go, so it must be written as one."""
    settled = settle_numbers(value)
    assert settled == stored
    assert type(settled) is type(stored)


def test_a_float_at_any_place_is_reported() -> None:
    """Numbers with a fraction are normalised before they are stored, so none may be missed."""
    plain, floats = decode_json(b'{"a":[1,{"b":"2.5"}]}'), decode_json(b'{"a":[1,{"b":2.5}],"c":1e3}')
    assert (plain.has_floats, floats.has_floats) == (False, True)
    assert floats.value == {"a": [1, {"b": 2.5}], "c": 1000.0}


def test_integers_beyond_64_bits_are_reported() -> None:
    """They become floats before they are stored; nineteen digits may be such a number, eighteen never are."""
    assert decode_json(b'{"a":9223372036854775808}').has_huge
    assert not decode_json(b'{"a":999999999999999999,"b":123}').has_huge


@pytest.mark.parametrize("text", ["1.0", "1e0", "10E-1"])
def test_an_error_quotes_a_number_as_it_was_written(text: str) -> None:
    """Clients search their documents for it; Go's decoder has the text."""
    message = "json: cannot unmarshal number 1 into Go struct field DeploymentSpec.spec.replicas of type int32"
    raw = f'{{"spec": {{"minReadySeconds": 2, "replicas" : {text}}}}}'.encode()
    assert as_written(message, raw) == message.replace("number 1 ", f"number {text} ")
    assert as_written(message, b"{}") == message
    assert as_written("another error", raw) == "another error"
