"""The JSON types that a node takes, and the errors about others.

The rules are those of the OpenAPI library inside Kubernetes, with its corners: a node with a `format` takes any string
or list as far as types go, and its error names the format, not the type.
"""

from collections.abc import Callable
from typing import Final

from steersman.golang.numbers import INT64_MAX, INT64_MIN
from steersman.structural.checks.relative_errors import Check, RelativeError
from steersman.structural.schema import Structural
from steersman.validation.field_errors import ErrorType

NULL: Final = type(None)
#: Classes of Python values and the JSON types that they are.
JSON_TYPES: Final = {
    str: "string",
    int: "integer",
    float: "number",
    bool: "boolean",
    dict: "object",
    list: "array",
    NULL: "null",
}
#: What Go calls the format of a number that it decoded.
_NUMBER_FORMATS = {int: "int64", float: "float64"}

_EXACT_FLOAT: Final = float(2**53 - 1)


def is_json_integer(number: float) -> bool:
    """Return whether a float counts as an integer: whole, and small enough to be exact."""
    return -_EXACT_FLOAT <= number <= _EXACT_FLOAT and number == int(number)


def _always(type_: ErrorType, value: str, detail: str) -> Check:
    return lambda _: [RelativeError(type_, value, detail)]


def _refusal(wanted: str, got: str) -> Check:
    return _always(ErrorType.TYPE_INVALID, got, f'must be of type {wanted}: "{got}"')


def _is_numeric(node: Structural) -> bool:
    return "integer" in node.types or "number" in node.types


def _of_null(node: Structural) -> Check | None:
    return None if node.nullable else _refusal(",".join(node.types), "null")


def _of_text_or_list(json_type: str) -> Callable[[Structural], Check | None]:
    def check(node: Structural) -> Check | None:
        if json_type in node.types or (node.format and not _is_numeric(node)):
            return None
        return _refusal(",".join(node.types), json_type)

    return check


def _of_plain(json_type: str) -> Callable[[Structural], Check | None]:
    def check(node: Structural) -> Check | None:
        if json_type in node.types:
            return None
        if node.format:
            return _refusal(node.format, "")
        return _refusal(",".join(node.types), json_type)

    return check


def _number_refusal(node: Structural, cls: type) -> Check:
    if node.format:
        return _refusal(node.format, _NUMBER_FORMATS[cls])
    return _refusal(",".join(node.types), JSON_TYPES[cls])


def _of_float(node: Structural) -> Check | None:
    if "number" in node.types:
        return None
    refuse = _number_refusal(node, float)
    if "integer" not in node.types:
        return refuse
    return lambda value: None if is_json_integer(value) else refuse(value)


def _of_int(node: Structural) -> Check | None:
    """Return the check of integers; one that does not fit into int64 is a float to the server."""
    if "number" in node.types:
        return None
    if "integer" not in node.types:
        return _number_refusal(node, int)
    refuse = _number_refusal(node, float)
    return lambda value: None if INT64_MIN <= value <= INT64_MAX else refuse(value)


_BY_CLASS: dict[type, Callable[[Structural], Check | None]] = {
    NULL: _of_null,
    str: _of_text_or_list("string"),
    list: _of_text_or_list("array"),
    dict: _of_plain("object"),
    bool: _of_plain("boolean"),
    int: _of_int,
    float: _of_float,
}


def type_check(node: Structural, cls: type) -> Check | None:
    """Build the check that values of a Python class have the type of a node; nothing if they always have."""
    return _BY_CLASS[cls](node) if node.types else None
