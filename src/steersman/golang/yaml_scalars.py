"""What a scalar of YAML stands for, as Go's YAML library and therefore Kubernetes reads it.

This is neither YAML 1.1 nor 1.2, and not what PyYAML reads. ``y``, ``yes`` and ``on`` are true, ``~`` is null;
``0x1F``, ``0o17``, ``017``, ``0b11`` and ``1_000`` are integers; ``08`` and ``1e3`` are floats that happen to be whole;
``22:22`` and ``2026-01-01`` are strings, and so is a number that neither a 64-bit integer nor a float can hold.

Numbers come out as they are after the conversion to JSON: ``1e3`` is the integer 1000.
"""

import binascii
import re
from base64 import b64decode
from math import isinf
from typing import Any, Final

from steersman.golang.numbers import INT64_MAX, INT64_MIN, go_float, settled_number

_UINT64_MAX: Final = 2**64 - 1
#: The longest text of a 64-bit integer: a sign, a prefix and 64 binary digits. Longer ones may have leading zeros.
_LONGEST_INTEGER: Final = 67
#: An integer of fewer digits fits into 64 bits.
_SURELY_SMALL: Final = 19
_PREFIX: Final = "tag:yaml.org,2002:"
STR_TAG: Final = f"{_PREFIX}str"
MERGE_TAG: Final = f"{_PREFIX}merge"
_INT, _FLOAT, _BOOL, _NULL, _STR, _TIMESTAMP, _BINARY = "int", "float", "bool", "null", "str", "timestamp", "binary"
#: Types that a tag can ask for; with any other tag a scalar is the string that is written there.
_TYPES: Final = frozenset({_INT, _FLOAT, _BOOL, _NULL, _STR, _TIMESTAMP})

_INFINITE: Final = float("inf")
_WORDS: Final[dict[str, tuple[str, Any]]] = {
    **dict.fromkeys(("y", "Y", "yes", "Yes", "YES", "true", "True", "TRUE", "on", "On", "ON"), (_BOOL, True)),
    **dict.fromkeys(("n", "N", "no", "No", "NO", "false", "False", "FALSE", "off", "Off", "OFF"), (_BOOL, False)),
    **dict.fromkeys(("", "~", "null", "Null", "NULL"), (_NULL, None)),
    **dict.fromkeys((".nan", ".NaN", ".NAN"), (_FLOAT, float("nan"))),
    **dict.fromkeys((".inf", ".Inf", ".INF", "+.inf", "+.Inf", "+.INF"), (_FLOAT, _INFINITE)),
    **dict.fromkeys(("-.inf", "-.Inf", "-.INF"), (_FLOAT, -_INFINITE)),
}
#: First characters of scalars that may be something else than a string.
_TELLING: Final = frozenset("+-.0123456789yYnNtTfFoO~")
_NUMERIC: Final = frozenset("+-0123456789")
_DECIMAL = re.compile(r"[-+]?(?:0[0-7]*|[1-9][0-9]*)")
_BASED = re.compile(r"([-+]?)0([xX][0-9a-fA-F]+|[oO][0-7]+|[bB][01]+)")
_BINARY_DIGITS = re.compile(r"0b[-+]?[01]+")
_FRACTION = re.compile(r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?")
_POINTED = re.compile(r"\.[0-9]+(?:_[0-9]+)*(?:[eE][-+]?[0-9]+(?:_[0-9]+)*)?")
_PADDED = re.compile(r"([-+]?0[xXoObB])0*([0-9a-fA-F]+)|([-+]?0)0*([0-9]+)")
_SEXAGESIMAL = re.compile(r"[-+]?[0-9][0-9_]*(?::[0-5]?[0-9])+(?:\.[0-9_]*)?")
_BASES: Final = {"x": 16, "o": 8, "b": 2}
_DATE = re.compile(
    r"([0-9]{4})-([0-9]{1,2})-([0-9]{1,2})"
    r"(?:[Tt]([0-9]{1,2}):([0-9]{1,2}):([0-9]{1,2})(?:[.,][0-9]+)?(?:Z|[-+]([0-9]{2}):([0-9]{2}))"
    r"| ([0-9]{1,2}):([0-9]{1,2}):([0-9]{1,2})(?:[.,][0-9]+)?)?"
)
_DAYS: Final = (31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31)
_ESCAPED_BYTE = re.compile("[\udc80-\udcff]")


class ScalarError(ValueError):
    """A scalar does not fit its tag; the message is Go's."""


def plain_value(text: str) -> Any:
    """Return what an unquoted scalar without a tag stands for."""
    if text and text[0] not in _TELLING:
        return text
    if len(text) < _SURELY_SMALL and text.isdecimal() and text.isascii() and text[0] != "0":
        return int(text)
    return _settled(_resolved(text)[1])


def key_text(text: str, value: Any) -> str:
    """Return how a key that is not a string becomes one; raises ``ScalarError`` where JSON has no key like it."""
    if value.__class__ is bool:
        return "true" if value else "false"
    _, number = _resolved(text)
    if number.__class__ is float:
        return go_float(number, bits=32)
    if number is None:
        raise ScalarError("unsupported map key of type: %!s(<nil>), key: <nil>")
    if number > INT64_MAX:
        raise ScalarError(f"unsupported map key of type: uint64, key: {number:#x}")
    return str(number)


def is_plain_string(text: str) -> bool:
    """Return whether a string can be written without quotes: no known reader takes it for another type."""
    if text and text[0] not in _TELLING and text not in ("=", "<<"):
        return True
    kind, _ = _resolved(text)
    return kind == _STR and text not in ("=", "<<") and not _is_time(text) and not _SEXAGESIMAL.fullmatch(text)


def tagged_value(tag: str, text: str) -> Any:
    """Return what a scalar with an explicit tag stands for; raises ``ScalarError`` if the two do not fit."""
    kind = tag.removeprefix(_PREFIX) if tag.startswith(_PREFIX) else ""
    if kind == _BINARY:
        return _binary(text)
    if kind not in _TYPES or kind == _STR:
        return text
    found, value = _resolved(text)
    if found == kind:
        return _settled(value)
    if kind == _FLOAT and found == _INT and value <= INT64_MAX:
        return _settled(float(value))
    if kind == _TIMESTAMP and _is_time(text):
        return text
    raise ScalarError(f"cannot decode !!{found} `{text}` as a !!{kind}")


def _resolved(text: str) -> tuple[str, Any]:
    """Return the type and the value of a scalar, from its text alone."""
    if (word := _WORDS.get(text)) is not None:
        return word
    value: float | None = None
    if text[0] == ".":
        value = _float(text) if _POINTED.fullmatch(text) else None
    elif text[0] in _NUMERIC:
        digits = text.replace("_", "")
        whole = _integer(digits)
        if whole is not None:
            return _INT, whole
        value = _float(digits) if _FRACTION.fullmatch(digits) else None
    return (_STR, text) if value is None else (_FLOAT, value)


def _settled(value: Any) -> Any:
    return settled_number(value) if value.__class__ is float or value.__class__ is int else value


def _integer(digits: str) -> int | None:
    """Read a 64-bit integer, signed or unsigned; ``None`` for anything else."""
    if len(digits) > _LONGEST_INTEGER:
        digits = _without_leading_zeros(digits)
        if len(digits) > _LONGEST_INTEGER:
            return None
    value: int | None = None
    if _DECIMAL.fullmatch(digits):
        is_octal = digits.lstrip("+-").startswith("0")
        value = int(digits, 8 if is_octal else 10)
    elif match := _BASED.fullmatch(digits):
        value = int(match[1] + match[2][1:], _BASES[match[2][0].lower()])
    elif _BINARY_DIGITS.fullmatch(digits):
        # Go strips the prefix and reads what is left, sign and all.
        value = int(digits[2:], 2)  # noqa: FURB166 - base 0 does not take a sign after the prefix
    if value is None or not INT64_MIN <= value <= _UINT64_MAX or (value > INT64_MAX and "+" in digits):
        return None
    return value


def _without_leading_zeros(digits: str) -> str:
    """Remove the padding of an integer: ``0x000…01`` is a small number."""
    match = _PADDED.fullmatch(digits)
    return digits if match is None else "".join(part for part in match.groups() if part)


def _float(text: str) -> float | None:
    value = float(text)
    return None if isinf(value) else value


def _is_time(text: str) -> bool:
    """Return whether Go would parse a scalar as a time; the value stays the string."""
    match = _DATE.fullmatch(text)
    if match is None:
        return False
    year, month, day, *clock = (int(part) if part else 0 for part in match.groups())
    is_leap = year % 4 == 0 and (year % 100 != 0 or year % 400 == 0)
    if not 1 <= month <= len(_DAYS) or not 1 <= day <= _DAYS[month - 1] or ((month, day) == (2, 29) and not is_leap):
        return False
    limits = (23, 59, 59, 24, 60, 23, 59, 59)
    return all(part <= limit for part, limit in zip(clock, limits, strict=True))


def _binary(text: str) -> str:
    """Decode base64 and read it as UTF-8; each invalid byte becomes U+FFFD, as in Go's JSON."""
    encoded = text.replace("\n", "").replace("\r", "")
    try:
        # Python alone would take a superfluous "=".
        data = b64decode(encoded if len(encoded) % 4 == 0 else "=", validate=True)
    except (binascii.Error, ValueError):
        raise ScalarError("!!binary value contains invalid base64 data") from None
    return _ESCAPED_BYTE.sub("\ufffd", data.decode("utf-8", "surrogateescape"))
