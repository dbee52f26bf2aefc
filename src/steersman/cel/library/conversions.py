"""Conversions between types: ``int('5')``, ``string(1.5)``, ``timestamp('2024-01-01T00:00:00Z')``."""

import math
import re
from collections.abc import Callable
from typing import Any

from steersman.cel.checking.overloads import Overload, function
from steersman.cel.errors import EvaluationError
from steersman.cel.types import (
    BOOL,
    BYTES,
    DOUBLE,
    DURATION,
    DYN,
    INT,
    STRING,
    TIMESTAMP,
    UINT,
    CelType,
    param,
    type_of,
)
from steersman.cel.values.times import (
    SECOND,
    check_timestamp,
    duration_text,
    parse_duration,
    parse_timestamp,
    timestamp_text,
)
from steersman.cel.values.values import (
    INT_MAX,
    INT_MIN,
    UINT_MAX,
    Duration,
    Timestamp,
    TypeValue,
    Uint,
    check_int,
    check_uint,
    type_name,
)
from steersman.golang.text import float_text

_INT = re.compile(r"[+-]?[0-9]+")
_UINT = re.compile(r"[0-9]+")
_DOUBLE = re.compile(
    r"[+-]?(?:(?:[0-9](?:_?[0-9])*\.?|(?:[0-9](?:_?[0-9])*)?\.[0-9](?:_?[0-9])*)(?:[eE][+-]?[0-9](?:_?[0-9])*)?"
    r"|[iI][nN][fF](?:[iI][nN][iI][tT][yY])?|[nN][aA][nN])"
)
_HEX_DOUBLE = re.compile(r"[+-]?0[xX](?:[0-9a-fA-F]+\.?[0-9a-fA-F]*|\.[0-9a-fA-F]+)[pP][+-]?[0-9]+")
_BOOLS = {
    **dict.fromkeys(("1", "t", "T", "true", "TRUE", "True"), True),
    **dict.fromkeys(("0", "f", "F", "false", "FALSE", "False"), False),
}
#: No 64-bit number has more digits.
_MOST_DIGITS = 20


def _impossible(target: str) -> EvaluationError:
    return EvaluationError(f"type conversion error from 'string' to '{target}'")


def _digits(text: str, form: re.Pattern[str], target: str) -> int:
    if not form.fullmatch(text) or len(text.lstrip("+-").lstrip("0")) > _MOST_DIGITS:
        raise _impossible(target)
    return int(text)


def _string_to_int(text: str) -> int:
    number = _digits(text, _INT, "int")
    if not INT_MIN <= number <= INT_MAX:
        raise _impossible("int")
    return number


def _string_to_uint(text: str) -> Uint:
    number = _digits(text, _UINT, "uint")
    if number > UINT_MAX:
        raise _impossible("uint")
    return Uint(number)


def _string_to_double(text: str) -> float:
    if _HEX_DOUBLE.fullmatch(text):
        return float.fromhex(text)
    if not _DOUBLE.fullmatch(text):
        raise _impossible("double")
    number = float(text)
    if math.isinf(number) and text[-1] in "0123456789.":
        raise _impossible("double")
    return number


def _string_to_bool(text: str) -> bool:
    if text not in _BOOLS:
        raise _impossible("bool")
    return _BOOLS[text]


def _string_to_duration(text: str) -> Duration:
    parsed = parse_duration(text)
    if parsed is None:
        raise _impossible("google.protobuf.Duration")
    return parsed


def _string_to_timestamp(text: str) -> Timestamp:
    parsed = parse_timestamp(text)
    if parsed is None:
        raise _impossible("google.protobuf.Timestamp")
    return parsed


def _double_to_int(number: float) -> int:
    if math.isnan(number) or not INT_MIN < number < INT_MAX:
        raise EvaluationError("integer overflow")
    return int(number)


def _double_to_uint(number: float) -> Uint:
    if math.isnan(number) or not 0 <= number < UINT_MAX:
        raise EvaluationError("unsigned integer overflow")
    return Uint(int(number))


def _bytes_to_string(raw: bytes) -> str:
    try:
        return raw.decode()
    except UnicodeDecodeError:
        raise EvaluationError("invalid UTF-8 in bytes, cannot convert to string") from None


def _same(value: object) -> object:
    return value


#: Every conversion: target type, source type, function. Overloads are tried in this order.
_TABLE: list[tuple[str, CelType, str, CelType, Callable[[Any], Any]]] = [
    ("bool", BOOL, "bool_to_bool", BOOL, _same),
    ("bool", BOOL, "string_to_bool", STRING, _string_to_bool),
    ("bytes", BYTES, "bytes_to_bytes", BYTES, _same),
    ("bytes", BYTES, "string_to_bytes", STRING, str.encode),
    ("double", DOUBLE, "double_to_double", DOUBLE, _same),
    ("double", DOUBLE, "int64_to_double", INT, float),
    ("double", DOUBLE, "string_to_double", STRING, _string_to_double),
    ("double", DOUBLE, "uint64_to_double", UINT, float),
    ("duration", DURATION, "duration_to_duration", DURATION, _same),
    ("duration", DURATION, "int64_to_duration", INT, Duration),
    ("duration", DURATION, "string_to_duration", STRING, _string_to_duration),
    ("int", INT, "int64_to_int64", INT, _same),
    ("int", INT, "double_to_int64", DOUBLE, _double_to_int),
    ("int", INT, "duration_to_int64", DURATION, lambda span: span.nanos),
    ("int", INT, "string_to_int64", STRING, _string_to_int),
    ("int", INT, "timestamp_to_int64", TIMESTAMP, lambda moment: moment.nanos // SECOND),
    ("int", INT, "uint64_to_int64", UINT, lambda number: check_int(int(number))),
    ("string", STRING, "string_to_string", STRING, _same),
    ("string", STRING, "bool_to_string", BOOL, lambda value: "true" if value else "false"),
    ("string", STRING, "bytes_to_string", BYTES, _bytes_to_string),
    ("string", STRING, "double_to_string", DOUBLE, float_text),
    ("string", STRING, "duration_to_string", DURATION, duration_text),
    ("string", STRING, "int64_to_string", INT, str),
    ("string", STRING, "timestamp_to_string", TIMESTAMP, timestamp_text),
    ("string", STRING, "uint64_to_string", UINT, str),
    ("timestamp", TIMESTAMP, "timestamp_to_timestamp", TIMESTAMP, _same),
    ("timestamp", TIMESTAMP, "int64_to_timestamp", INT, lambda seconds: check_timestamp(seconds * SECOND)),
    ("timestamp", TIMESTAMP, "string_to_timestamp", STRING, _string_to_timestamp),
    ("uint", UINT, "uint64_to_uint64", UINT, _same),
    ("uint", UINT, "double_to_uint64", DOUBLE, _double_to_uint),
    ("uint", UINT, "int64_to_uint64", INT, check_uint),
    ("uint", UINT, "string_to_uint64", STRING, _string_to_uint),
]

#: Conversions of constants are carried out when the expression is compiled.
FOLDED = frozenset(name for name, *_ in _TABLE)

_A = param("A")

OVERLOADS: list[Overload] = [
    *(function(name, overload_id, (source,), target, run) for name, target, overload_id, source, run in _TABLE),
    function("dyn", "to_dyn", (_A,), DYN, _same),
    function("type", "type", (_A,), type_of(_A), lambda value: TypeValue(type_name(value))),
]
