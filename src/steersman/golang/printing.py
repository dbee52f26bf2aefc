"""JSON values as Go's ``fmt`` prints them: several of the API server's messages quote values this way."""

from collections.abc import Callable
from typing import Any, Final

import msgspec

_SCIENTIFIC_FROM: Final = 21
_SCIENTIFIC_BELOW: Final = -4


def plain(value: Any) -> str:
    """Print as ``%v`` does: ``map[a:1 b:[x y]]``."""
    return _PLAIN[value.__class__](value)


def syntax(value: Any) -> str:
    """Print as ``%#v`` does: ``map[string]interface {}{"a":1}``."""
    return _SYNTAX[value.__class__](value)


def type_name(value: Any) -> str:
    """Print as ``%T`` does: ``map[string]interface {}``."""
    return _TYPE_NAMES[value.__class__]


def quoted(text: str) -> str:
    """Print a string as ``%q`` does, near enough: JSON's escapes are Go's for all but control characters."""
    return msgspec.json.encode(text).decode()


def _number(value: float) -> str:
    """Print a float: as short as it can be told apart, scientific where it is very large or small."""
    if value == 0:
        return "0"
    exponent = int(f"{value:e}".rpartition("e")[2])
    digits = repr(value)
    if _SCIENTIFIC_BELOW <= exponent < _SCIENTIFIC_FROM:
        return f"{int(value)}" if value.is_integer() else digits
    mantissa = digits.partition("e")[0] if "e" in digits else f"{value / 10**exponent!r}"
    return f"{mantissa.removesuffix('.0')}e{exponent:+03d}"


_PLAIN: Final[dict[type, Callable[[Any], str]]] = {
    dict: lambda value: f"map[{' '.join(f'{key}:{plain(value[key])}' for key in sorted(value))}]",
    list: lambda value: f"[{' '.join(map(plain, value))}]",
    str: str,
    bool: lambda value: "true" if value else "false",
    int: str,
    float: _number,
    type(None): lambda _: "<nil>",
}

_SYNTAX: Final[dict[type, Callable[[Any], str]]] = {
    dict: lambda value: (
        f"map[string]interface {{}}{{{', '.join(f'{quoted(key)}:{syntax(value[key])}' for key in sorted(value))}}}"
    ),
    list: lambda value: f"[]interface {{}}{{{', '.join(map(syntax, value))}}}",
    str: quoted,
    bool: lambda value: "true" if value else "false",
    int: str,
    float: _number,
    type(None): lambda _: "interface {}(nil)",
}

_TYPE_NAMES: Final[dict[type, str]] = {
    dict: "map[string]interface {}",
    list: "[]interface {}",
    str: "string",
    bool: "bool",
    int: "int64",
    float: "float64",
    type(None): "<nil>",
}
