"""Hostile input: bounded time, clear errors, never a crash."""

import time
from typing import Any

import pytest

from steersman.errors import DecodeError
from steersman.golang.strict_json import decode_json
from steersman.structural.compiled import compile_schema
from steersman.structural.crd.validation import validate_crd
from steersman.validation.formats import string_format

#: Generous on a loaded machine; without protection these inputs take minutes or forever.
LIMIT = 5.0


def within_limit(started: float) -> bool:
    """Return whether little CPU time was used; other programs do not count."""
    return time.process_time() - started < LIMIT


def nested(depth: int, inner: Any = 1) -> Any:
    """Return nested objects."""
    for _ in range(depth):
        inner = {"a": inner}
    return inner


@pytest.mark.parametrize(
    "opening", [b'{"a":', b'{"a":1,"a":', b"[", b'["}]",'], ids=["object", "twice", "list", "text"]
)
def test_json_of_more_than_ten_thousand_levels_is_rejected_as_in_go(opening: bytes) -> None:
    """Python's stack may be smaller, and since 3.14 also larger: neither may cause a crash."""
    closing = b"}" if opening.startswith(b"{") else b"]"
    with pytest.raises(DecodeError, match="exceeded max depth"):
        decode_json(opening * 10_001 + b"1" + closing * 10_001)


def test_many_brackets_side_by_side_or_in_texts_are_not_deep() -> None:
    """A long list of objects is common, and so is a text full of brackets and escaped quotes."""
    assert len(decode_json(b"[" + b'{"a":[]},' * 20_000 + b"{}]").value) == 20_001
    text = r"\"[{\\" * 20_000  # fmt: skip
    assert decode_json(f'{{"a":"{text}"}}'.encode()).value == {"a": '"[{\\' * 20_000}


def test_broken_json_of_a_million_brackets_is_rejected_quickly() -> None:
    """The scanner that words the error must be neither recursive nor quadratic."""
    started = time.process_time()
    with pytest.raises(DecodeError):
        decode_json(b"[" * 1_000_000)
    assert within_limit(started)


def test_a_deep_value_under_a_preserving_schema_is_harmless() -> None:
    """Values that the schema does not describe are not walked, at any depth."""
    schema = compile_schema({"type": "object", "x-kubernetes-preserve-unknown-fields": True})
    value = nested(5_000)
    assert schema.prune(value) == []
    schema.default(value)
    assert not schema.validate(value).errors


def test_a_deep_value_that_must_be_compared_is_rejected_clearly() -> None:
    """Comparing the items of a set walks them completely: too deep is an error."""
    items = {"type": "object", "x-kubernetes-map-type": "atomic", "x-kubernetes-preserve-unknown-fields": True}
    sets = {"type": "array", "x-kubernetes-list-type": "set", "items": items}
    schema = compile_schema({"type": "object", "properties": {"spec": sets}})
    with pytest.raises(DecodeError, match="nests too deeply"):
        schema.validate({"spec": [nested(5_000), nested(5_000)]})


def test_a_schema_of_ten_thousand_levels_is_rejected_clearly() -> None:
    """Both when compiling it and when validating a CRD with it."""
    schema: dict[str, Any] = {"type": "string"}
    for _ in range(10_000):
        schema = {"type": "object", "properties": {"a": schema}}
    with pytest.raises(DecodeError, match="nests deeper"):
        compile_schema(schema)
    names = {"plural": "gadgets", "kind": "Gadget"}
    versions = [{"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}}]
    spec = {"group": "demo.dev", "scope": "Namespaced", "names": names, "versions": versions}
    with pytest.raises(DecodeError, match="nests too deeply"):
        validate_crd({"metadata": {"name": "gadgets.demo.dev"}, "spec": spec})


@pytest.mark.parametrize("pattern", ["^(a+)+$", "^(a|a)*$", "(x+x+)+y", "^(([a-z])+.)+[A-Z]([a-z])+$"])
def test_patterns_that_are_slow_in_backtracking_engines_are_linear(pattern: str) -> None:
    """The pattern comes from the author of a CRD, the text from the author of an object."""
    schema = compile_schema({"type": "string", "pattern": pattern}, is_root=False)
    started = time.process_time()
    assert schema.value_errors("a" * 100_000 + "!")
    assert within_limit(started)


@pytest.mark.parametrize("pattern", [r"(?=a)", r"(a)\1", "[", "a{1001}", "(?P<x"])
def test_patterns_that_are_not_re2_are_rejected(pattern: str) -> None:
    """Lookaround and back-references would need an engine that can be attacked."""
    with pytest.raises(DecodeError):
        compile_schema({"type": "string", "pattern": pattern}, is_root=False)


def test_strings_of_a_megabyte_are_checked_in_time() -> None:
    """Length, pattern, enum and every format, on the largest text that fits into a request."""
    started = time.process_time()
    text = "a" * 1_000_000
    rules = {"type": "string", "maxLength": 10, "pattern": "^b", "enum": ["x"]}
    assert compile_schema(rules, is_root=False).value_errors(text)
    for name in ("uri", "email", "hostname", "ipv4", "ipv6", "cidr", "mac", "uuid", "isbn", "creditcard", "byte"):
        check = string_format(name)
        assert check is not None
        check(text)
        check("1" * 1_000_000)
        check("a@" * 500_000)
    for name in ("duration", "date-time", "date", "rgbcolor", "hexcolor", "ssn", "bsonobjectid", "k8s-long-name"):
        check = string_format(name)
        assert check is not None
        check("1h" * 500_000)
        check("a." * 500_000)
    assert within_limit(started)


def test_a_set_of_a_hundred_thousand_items_is_checked_in_time() -> None:
    """Uniqueness must not be quadratic, even if there is a duplicate."""
    schema = compile_schema({"type": "array", "x-kubernetes-list-type": "set", "items": {"type": "string"}})
    started = time.process_time()
    (error,) = schema.validate([*map(str, range(100_000)), "0"]).errors
    assert error.field == "[100000]"
    assert within_limit(started)
