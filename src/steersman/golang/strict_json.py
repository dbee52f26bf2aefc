"""Reading the body of a request: its value, the fields that are there twice, and the texts of refusals.

Duplicates are detected at the price of one encoding, and found out by name only if there are any. Unknown fields are
not found here: that needs a schema.
"""

import json
import re
from collections.abc import Collection, Iterable, Iterator
from math import isinf
from typing import Any

import msgspec
from msgspec import Struct

from steersman.errors import DecodeError
from steersman.golang.json_scanner import is_too_deep, json_fault
from steersman.golang.numbers import settled_number
from steersman.json_types import JsonObject

#: What Go's errors call a value of JSON.
JSON_WORDS = {str: "string", bool: "bool", int: "number", float: "number", list: "array", dict: "object"}
_SUMMARY = 30
#: A whole number of so few digits fits into a float.
_SURELY_FINITE = 300
#: Makes every digit a zero and everything else a blank: long numbers are then found at the speed of memory.
_DIGITS = bytes(48 if 48 <= code < 58 else 32 for code in range(256))  # noqa: PLR2004 - "0" to "9", and a blank
_LONG_NUMBER = b"0" * _SURELY_FINITE
#: A number with this many digits may not fit into a 64-bit integer.
_HUGE = b"0" * 19
_encode = msgspec.json.Encoder().encode
_SURROGATE = re.compile("[\ud800-\udfff]")


class Decoded(Struct, frozen=True):
    """The value of a JSON text."""

    value: Any
    #: Paths of duplicate fields; the last one counts.
    duplicates: list[str]
    #: Whether the text has numbers with a fraction or an exponent: those may need `settle_numbers`.
    has_floats: bool
    #: Whether the text has so many digits in a row that they may be an integer beyond 64 bits, which needs it too.
    has_huge: bool


class _Pairs(list[tuple[str, Any]]):
    """An object as it was written."""


def _settled(pairs: Any, path: str, duplicates: list[str]) -> Any:
    """Turn pairs into objects, and record repeated keys."""
    if isinstance(pairs, _Pairs):
        found: JsonObject = {}
        for name, item in pairs:
            here = f"{path}.{name}" if path else name
            if name in found:
                duplicates.append(here)
            found[name] = _settled(item, here, duplicates)
        return found
    if pairs.__class__ is list:
        return [_settled(item, f"{path}[{index}]", duplicates) for index, item in enumerate(pairs)]
    return _SURROGATE.sub("\ufffd", pairs) if pairs.__class__ is str else pairs


def in_document_order(raw: bytes, errors: Collection[str]) -> list[str]:
    """Return the errors of strict decoding in the order in which a decoder of Go structs meets them.

    What is below or beside an unknown field of the same name is not read, so it is not reported.
    """
    pairs = json.loads(raw.decode("utf-8", "replace"), object_pairs_hook=_Pairs)
    return [error for error in dict.fromkeys(_met_errors(pairs, "", errors)) if error in errors]


def _met_errors(pairs: Any, path: str, errors: Collection[str]) -> Iterator[str]:
    if isinstance(pairs, _Pairs):
        seen: set[str] = set()
        for name, item in pairs:
            here = f"{path}.{name}" if path else name
            if (unknown := f'unknown field "{here}"') in errors:
                yield unknown
                continue
            if name in seen:
                yield f'duplicate field "{here}"'
            seen.add(name)
            yield from _met_errors(item, here, errors)
    elif pairs.__class__ is list:
        for index, item in enumerate(pairs):
            yield from _met_errors(item, f"{path}[{index}]", errors)


def _slow(raw: bytes) -> tuple[Any, list[str]]:
    """Decode with everything that Go tolerates: repeated keys, broken UTF-8, lone surrogates."""
    text = raw.decode("utf-8", "replace")
    if fault := json_fault(text):
        raise DecodeError(fault)
    duplicates: list[str] = []
    decoded = json.loads(text, object_pairs_hook=_Pairs, parse_int=_integer, parse_float=_float)
    return _settled(decoded, "", duplicates), duplicates


def _float(text: str) -> float:
    """Read a number; raises `DecodeError` for one that no float can hold."""
    value = float(text)
    if isinf(value):
        raise DecodeError(f"json: cannot unmarshal number {text} into Go value of type float64")
    return value


def _integer(text: str) -> int:
    """Read a whole number; raises `DecodeError` for one that no float can hold."""
    if len(text) > _SURELY_FINITE:
        _float(text)
    return int(text)


class _FloatMetError(Exception):
    """A text has a number with a fraction or an exponent."""


def _meet_float(_text: str) -> float:
    raise _FloatMetError


# Made once: making one takes as long as decoding an object. Few objects have floats, and those are decoded twice.
_decode_without_floats = msgspec.json.Decoder(float_hook=_meet_float).decode
_decode_with_floats = msgspec.json.Decoder(float_hook=_float).decode


def _fast(raw: bytes) -> tuple[Any, bool]:
    """Decode JSON without tolerance; return whether it has floats."""
    try:
        return _decode_without_floats(raw), False
    except _FloatMetError:
        return _decode_with_floats(raw), True


def decode_json(raw: bytes) -> Decoded:
    """Decode a JSON text; raises `DecodeError` with the text of the server's own scanner."""
    if is_too_deep(raw):
        raise DecodeError("exceeded max depth")
    digits = raw.translate(_DIGITS)
    has_huge = _HUGE in digits
    duplicates: list[str] = []
    try:
        try:
            value, has_floats = _fast(raw)
            is_sure = raw.count(b'"') == _encode(value).count(b'"') and not (has_huge and _LONG_NUMBER in digits)
        except (msgspec.DecodeError, UnicodeDecodeError):
            value, has_floats, is_sure = None, True, False
        if not is_sure:
            value, duplicates = _slow(raw)
    except RecursionError:
        raise DecodeError("exceeded max depth") from None
    return Decoded(value, duplicates, has_floats, has_huge)


def settle_numbers(value: Any) -> Any:
    """Write numbers as the server stores them: whole floats as integers, integers beyond int64 as floats.

    Containers are changed in place. To be called after validation: until then `1.0` and `1` are two things.
    """
    if value.__class__ is dict:
        for name, item in value.items():
            if item.__class__ is not str:
                value[name] = settle_numbers(item)
    elif value.__class__ is list:
        value[:] = [settle_numbers(item) for item in value]
    elif value.__class__ is int or value.__class__ is float:
        return settled_number(value)
    return value


def _summary(raw: bytes) -> str:
    if not raw:
        return "<empty>"
    tail = " ..." if len(raw) > _SUMMARY else ""
    head = raw[:_SUMMARY]
    return (head.decode("utf-8", "replace") if raw[:1] == b"{" else head.hex()) + tail


def unrecognized_message(raw: bytes, kind: str, why: str) -> str:
    """Return the message about a body in which no kind of object can be made out."""
    return f"the object provided is unrecognized (must be of type {kind}): {why} ({_summary(raw)})"


def not_json_message(raw: bytes, kind: str, fault: str) -> str:
    """Return the message about a body that is not JSON."""
    return unrecognized_message(raw, kind, f"couldn't get version/kind; json parse error: {fault}")


def not_an_object_message(raw: bytes, kind: str, json_word: str) -> str:
    """Return the message about a body that is JSON, but no object."""
    wanted = r'struct { APIVersion string "json:\"apiVersion,omitempty\""; Kind string "json:\"kind,omitempty\"" }'
    return not_json_message(raw, kind, f"json: cannot unmarshal {json_word} into Go value of type {wanted}")


def cannot_handle_message(kind: str, version: str, why: str) -> str:
    """Return the message of the 400 answer about an object that does not decode."""
    return f'{kind} in version "{version}" cannot be handled as a {kind}: {why}'


def strict_message(faults: Iterable[str]) -> str:
    """Return the reason why strict decoding refuses an object."""
    return f"strict decoding error: {', '.join(faults)}"


#: An error about a number that is not an integer; Go quotes it as it was written.
_NUMBER_ERROR = re.compile(
    r"(json: cannot unmarshal number )(\S+)( into Go struct field \S*?)(\w+)( of type .*)", re.DOTALL
)


def as_written(message: str, raw: bytes) -> str:
    """Return a decoder's error with the number as it was written in the document: ``1.0``, not ``1``."""
    error = _NUMBER_ERROR.fullmatch(message)
    if error is None:
        return message
    start, number, where, key, end = error.groups()
    for found in re.finditer(rf'"{key}"\s*:\s*(-?\d[-+.\deE]*)'.encode(), raw):
        text = found[1].decode()
        if float(text) == float(number):
            return f"{start}{text}{where}{key}{end}"
    return message
