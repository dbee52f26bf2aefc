"""How the API server writes numbers down: JSON from Go keeps no difference between ``1.0``, ``1e0`` and ``1``."""

import math
import struct
from typing import Final

INT64_MIN: Final = -(2**63)
INT64_MAX: Final = 2**63 - 1
#: From here on Go writes a whole number with an exponent.
_EXPONENT: Final = 1e21
#: Integers of this many bits fit into a float.
_FLOAT_BITS: Final = 1023


def settled_number(number: float) -> float:
    """Return a number as it is after one trip through Go's JSON: whole floats as integers, huge integers rounded."""
    if number.__class__ is int:
        if INT64_MIN <= number <= INT64_MAX or number.bit_length() > _FLOAT_BITS:
            return number
        number = float(number)
    if number.is_integer() and abs(number) < _EXPONENT:
        return int(repr_digits(number))
    return number


def repr_digits(number: float) -> str:
    """Return the shortest digits that read as this whole number, filled with zeros, as Go writes it."""
    mantissa, _, exponent = repr(number).partition("e")
    whole, _, fraction = mantissa.partition(".")
    if not exponent:
        return whole
    return whole + fraction.ljust(int(exponent), "0")


def go_float(number: float, *, bits: int = 64) -> str:
    """Return a float as Go's YAML writes it: the shortest digits, with an exponent from a million on."""
    digits = repr(number) if bits == 64 else _shortest_single(number)  # noqa: PLR2004 - or 32
    if (name := _NOT_FINITE.get(digits)) is not None:
        return name
    sign, digits = ("-", digits[1:]) if digits.startswith("-") else ("", digits)
    if not float(digits):
        return f"{sign}0"
    figures, exponent = _scientific(digits)
    if -4 <= exponent < 6:  # noqa: PLR2004 - where Go's %g changes its notation
        return sign + _positional(figures, exponent)
    fraction = f".{figures[1:]}" if len(figures) > 1 else ""
    return f"{sign}{figures[0]}{fraction}e{exponent:+03d}"


_NOT_FINITE: Final = {"inf": ".inf", "-inf": "-.inf", "nan": ".nan"}


def _single(number: float) -> float:
    """Round to a 32-bit float; a number that is too large becomes infinite."""
    try:
        rounded: float = struct.unpack("f", struct.pack("f", number))[0]
    except OverflowError:
        # Since Python 3.14; before, the result was infinite by itself.
        return math.copysign(math.inf, number)
    return rounded


def _shortest_single(number: float) -> str:
    """Return the fewest digits that read as the same 32-bit float."""
    single = _single(number)
    for figures in range(1, 9):
        text = f"{single:.{figures}g}"
        if _single(float(text)) == single:
            return text
    return f"{single:.9g}"


def _scientific(text: str) -> tuple[str, int]:
    """Split the text of a positive float into its digits and the exponent of the first of them."""
    mantissa, _, exponent = text.partition("e")
    whole, _, fraction = mantissa.partition(".")
    figures = (whole + fraction).lstrip("0")
    leading = len(whole + fraction) - len(figures)
    return figures.rstrip("0") or "0", int(exponent or 0) + len(whole) - 1 - leading


def _positional(figures: str, exponent: int) -> str:
    if exponent < 0:
        return "0." + "0" * (-exponent - 1) + figures
    whole = figures[: exponent + 1].ljust(exponent + 1, "0")
    fraction = figures[exponent + 1 :]
    return f"{whole}.{fraction}" if fraction else whole
