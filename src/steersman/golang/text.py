"""Values as Go prints them: the verbs of ``fmt`` and the JSON encoder.

Messages of Kubernetes quote values in these forms, and clients compare and parse the messages, so the texts are
reproduced byte for byte. Nothing here is used to encode objects.

`plain` is ``%v`` (``map[a:1 b:[x y]]``, ``1e+06``), `syntax` is ``%#v`` (``map[string]interface {}{"a":1}``),
`type_name` is ``%T``, `quoted` is ``%q``, and `json_text` is the JSON encoder, which writes 1e6 as ``1000000``.
"""

import json
import math
from collections.abc import Callable
from typing import Any, Final

from steersman.json_types import JsonObject

#: Characters with a short escape in Go's string literals.
ESCAPES: Final = {
    "\a": "\\a",
    "\b": "\\b",
    "\f": "\\f",
    "\n": "\\n",
    "\r": "\\r",
    "\t": "\\t",
    "\v": "\\v",
    '"': '\\"',
    "\\": "\\\\",
}
_HTML = str.maketrans({"<": "\\u003c", ">": "\\u003e", "&": "\\u0026", "\u2028": "\\u2028", "\u2029": "\\u2029"})

#: A number whose decimal exponent is outside of these limits is written with an exponent: by ``%v``, by the encoder.
_PLAIN_V = (-4, 6)
_PLAIN_JSON = (-6, 21)

_BYTE = 0x80
_BMP = 0x10000


def _escaped(char: str) -> str:
    code = ord(char)
    if code < _BYTE:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code < _BMP else f"\\U{code:08x}"


def quoted(text: str) -> str:
    """Return a string as ``%q`` prints it."""
    if text.isprintable() and '"' not in text and "\\" not in text:
        return f'"{text}"'
    return '"' + "".join(ESCAPES.get(c) or (c if c.isprintable() else _escaped(c)) for c in text) + '"'


def _digits(number: float) -> tuple[str, str, int]:
    """Return sign, shortest digits and decimal exponent of a finite number that is not zero."""
    mantissa, _, exponent = f"{number!r}".lower().partition("e")
    sign = "-" if mantissa.startswith("-") else ""
    whole, _, fraction = mantissa.lstrip("-").partition(".")
    point = len(whole) + int(exponent or 0)
    digits = whole + fraction
    stripped = digits.lstrip("0")
    point -= len(digits) - len(stripped)
    return sign, stripped.rstrip("0") or "0", point - 1


def _number_text(number: float, plain: tuple[int, int], exponent_digits: int) -> str:
    if number == 0:
        return "-0" if math.copysign(1, number) < 0 else "0"
    sign, digits, exponent = _digits(number)
    if plain[0] <= exponent < plain[1]:
        if exponent < 0:
            return f"{sign}0.{'0' * (-exponent - 1)}{digits}"
        digits = digits.ljust(exponent + 1, "0")
        fraction = digits[exponent + 1 :]
        return f"{sign}{digits[: exponent + 1]}{'.' + fraction if fraction else ''}"
    mantissa = digits[0] + ("." + digits[1:] if len(digits) > 1 else "")
    return f"{sign}{mantissa}e{'-' if exponent < 0 else '+'}{abs(exponent):0{exponent_digits}d}"


def float_text(number: float) -> str:
    """Return a float as ``%v`` prints it."""
    if math.isinf(number):
        return "+Inf" if number > 0 else "-Inf"
    if math.isnan(number):
        return "NaN"
    return _number_text(number, _PLAIN_V, 2)


def json_number(number: float) -> str:
    """Return a float as Go's JSON encoder writes it."""
    return _number_text(number, _PLAIN_JSON, 1)


#: ``json.dumps`` creates an encoder for each call with a setting, which takes longer than the string.
_encode_string = json.JSONEncoder(ensure_ascii=False).encode


def json_string(text: str) -> str:
    """Return a string as Go's JSON encoder writes it: HTML characters are escaped."""
    return _encode_string(text).translate(_HTML)


class GoStruct(JsonObject):
    """An object that is printed in the order of its fields, as Go prints structs; plain objects are sorted."""


def _json_struct(value: JsonObject) -> str:
    return "{" + ",".join(f"{json_string(key)}:{json_text(item)}" for key, item in value.items()) + "}"


def _json_object(value: JsonObject) -> str:
    return "{" + ",".join(f"{json_string(key)}:{json_text(value[key])}" for key in sorted(value)) + "}"


_JSON_BY_CLASS: dict[type, Callable[[Any], str]] = {
    str: json_string,
    bool: lambda value: "true" if value else "false",
    int: str,
    float: json_number,
    type(None): lambda _: "null",
    dict: _json_object,
    GoStruct: _json_struct,
    list: lambda value: "[" + ",".join(json_text(item) for item in value) + "]",
    tuple: lambda value: "[" + ",".join(json_text(item) for item in value) + "]",
}


def json_text(value: Any) -> str:
    """Return a value as Go's JSON encoder writes it: no blanks, keys of maps sorted, HTML characters escaped."""
    write = _JSON_BY_CLASS.get(value.__class__)
    if write is None:
        write = next(write for kind, write in _JSON_BY_CLASS.items() if isinstance(value, kind))
    return write(value)


def plain(value: Any) -> str:
    """Return a JSON value as ``%v`` prints it."""
    return _PLAIN[value.__class__](value)


def syntax(value: Any, map_type: str = "map[string]interface {}") -> str:
    """Return a JSON value inside of another value as ``%#v`` prints it; ``map_type`` is the type of objects."""
    if value.__class__ is dict:
        pairs = ", ".join(f"{quoted(key)}:{syntax(value[key], map_type)}" for key in sorted(value))
        return f"{map_type}{{{pairs}}}"
    if value.__class__ is list:
        return f"[]interface {{}}{{{', '.join(syntax(item, map_type) for item in value)}}}"
    if value.__class__ is str:
        return quoted(value)
    return plain(value) if value is not None else "interface {}(nil)"


def type_name(value: Any) -> str:
    """Return the type of a JSON value as ``%T`` prints it."""
    return _TYPE_NAMES[value.__class__]


_PLAIN: Final[dict[type, Callable[[Any], str]]] = {
    dict: lambda value: f"map[{' '.join(f'{key}:{plain(value[key])}' for key in sorted(value))}]",
    list: lambda value: f"[{' '.join(map(plain, value))}]",
    str: str,
    bool: lambda value: "true" if value else "false",
    int: str,
    float: float_text,
    type(None): lambda _: "<nil>",
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
