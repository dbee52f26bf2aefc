"""Quantities in rules: ``quantity('1.5Gi')`` and its arithmetic.

An amount is a whole number times a power of ten, as Kubernetes holds it: whether ``asInteger()`` works depends on how
the amount came about (``1000m`` is not an integer here), not only on how much it is.
"""

import re
from dataclasses import dataclass
from functools import lru_cache
from typing import ClassVar

from steersman.cel.checking.overloads import function, member
from steersman.cel.errors import EvaluationError
from steersman.cel.types import BOOL, DOUBLE, INT, QUANTITY, STRING
from steersman.cel.values.values import INT_MAX, INT_MIN, Opaque

_FORM = re.compile(r"([+-]?)0*([0-9]*)(\.([0-9]*))?([eEinumkKMGTP]*[-+]?[0-9]*)")
_WRONG = "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"
_DECIMAL = {"n": -9, "u": -6, "m": -3, "": 0, "k": 3, "M": 6, "G": 9, "T": 12, "P": 15, "E": 18}
_BINARY = {"Ki": 10, "Mi": 20, "Gi": 30, "Ti": 40, "Pi": 50, "Ei": 60}
_EXPONENT = re.compile(r"[eE]([+-]?[0-9]{1,10})")
_INT32 = 1 << 31
_NANO = -9
#: More decimal digits than this do not surely fit into 64 bits.
_FAST_DIGITS = 18
_FAST_BINARY_DIGITS = 15
#: Powers of ten farther apart than this are not added: no real amount is so large.
_WIDEST = 1000


@dataclass(frozen=True, slots=True)
class Amount(Opaque):
    """``digits`` times ten to the power of ``scale``; ``is_small`` when Kubernetes holds it in 64 bits."""

    digits: int
    scale: int
    is_small: bool

    type_name: ClassVar[str] = "kubernetes.Quantity"

    def equals(self, other: object) -> bool:
        """Return whether two amounts are equal, in any representation."""
        if not isinstance(other, Amount):
            return Opaque.equals(self, other)
        return _compare(self, other) == 0


@lru_cache(maxsize=4096)
def parse_amount(text: str) -> Amount:
    """Read a quantity as Kubernetes does; raises with its words."""
    match = _FORM.fullmatch(text)
    if not text or match is None:
        raise EvaluationError(_WRONG)
    sign = -1 if match[1] == "-" else 1
    number, fraction, suffix = match[2] or "0", match[4] or "", match[5]
    if suffix in _BINARY:
        return _binary(sign, number, fraction, _BINARY[suffix])
    exponent = _DECIMAL.get(suffix)
    if exponent is None:
        exponent = _exponent(suffix)
    scale = exponent - len(fraction)
    digits = sign * int(number + fraction)
    small = len(number) + len(fraction) <= _FAST_DIGITS and scale >= _NANO
    if small:
        return Amount(digits, scale, is_small=True)
    if not re.search(r"[0-9]", text[: match.end(4) if match[3] else match.end(2)]):
        raise EvaluationError("unable to parse numeric part of quantity")
    return _rounded(digits, scale)


def _exponent(suffix: str) -> int:
    match = _EXPONENT.fullmatch(suffix)
    if match is None or not -_INT32 <= int(match[1]) < _INT32:
        raise EvaluationError("unable to parse quantity's suffix")
    return int(match[1])


def _binary(sign: int, number: str, fraction: str, power: int) -> Amount:
    digits = sign * int(number + fraction) << power
    precision = _FAST_BINARY_DIGITS - len(number) - int(power * 3 / 10) - 1
    if not fraction and precision >= 0:
        return Amount(digits, 0, is_small=True)
    limited = _rounded(digits, -len(fraction))
    if _compare(limited, _LARGEST) > 0:
        return _LARGEST
    return limited if _compare(limited, _SMALLEST) >= 0 else _SMALLEST


_LARGEST = Amount(INT_MAX, 0, is_small=False)
_SMALLEST = Amount(-INT_MAX, 0, is_small=False)


def _rounded(digits: int, scale: int) -> Amount:
    """Return the amount rounded away from zero to whole nanos."""
    if scale >= _NANO:
        return Amount(digits, scale, is_small=False)
    if _NANO - scale > _WIDEST + len(str(abs(digits))):
        whole, rest = 0, digits
    else:
        whole, rest = divmod(abs(digits), 10 ** (_NANO - scale))
    rounded = whole + (1 if rest else 0)
    return Amount(-rounded if digits < 0 else rounded, _NANO, is_small=False)


def _aligned(left: Amount, right: Amount) -> tuple[int, int, int]:
    """Return two amounts scaled to the same power of ten."""
    scale = min(left.scale, right.scale)
    if max(left.scale, right.scale) - scale > _WIDEST:
        raise EvaluationError("quantity out of range")
    return left.digits * 10 ** (left.scale - scale), right.digits * 10 ** (right.scale - scale), scale


def _compare(left: Amount, right: Amount) -> int:
    signs = (_sign(left), _sign(right))
    if signs[0] != signs[1] or signs[0] == 0:
        return (signs[0] > signs[1]) - (signs[0] < signs[1])
    magnitudes = [len(str(abs(amount.digits))) + amount.scale for amount in (left, right)]
    if magnitudes[0] != magnitudes[1]:
        return signs[0] if magnitudes[0] > magnitudes[1] else -signs[0]
    scale = min(left.scale, right.scale)
    first, second = (amount.digits * int(10 ** (amount.scale - scale)) for amount in (left, right))
    return (first > second) - (first < second)


def _sign(amount: Amount) -> int:
    return (amount.digits > 0) - (amount.digits < 0)


def _add(left: Amount, right: Amount) -> Amount:
    if left.is_small and right.is_small:
        if right.digits == 0:
            return left
        if left.digits == 0:
            return right
    first, second, scale = _aligned(left, right)
    small = left.is_small and right.is_small and all(INT_MIN <= part <= INT_MAX for part in (first, second))
    return Amount(first + second, scale, is_small=small and INT_MIN <= first + second <= INT_MAX)


def _subtract(left: Amount, right: Amount) -> Amount:
    return _add(left, Amount(-right.digits, right.scale, right.is_small))


def _whole(number: int) -> Amount:
    return Amount(number, 0, is_small=True)


def _integer(amount: Amount) -> int | None:
    if not amount.is_small or not 0 <= amount.scale <= _FAST_DIGITS:
        return 0 if amount.is_small and amount.digits == 0 and amount.scale > 0 else None
    number = amount.digits * 10**amount.scale
    return number if INT_MIN <= number <= INT_MAX else None


def _as_integer(amount: Amount) -> int:
    number = _integer(amount)
    if number is None:
        raise EvaluationError("cannot convert value to integer")
    return number


def _as_float(amount: Amount) -> float:
    base = float(amount.digits) if abs(amount.digits) < 10**308 else float("inf")
    try:
        return base * 10.0**amount.scale if amount.scale else base
    except OverflowError:
        return float("inf") if base else 0.0


def _is_quantity(text: str) -> bool:
    try:
        parse_amount(text)
    except EvaluationError:
        return False
    return True


_TWO = (QUANTITY, QUANTITY)

OVERLOADS = [
    function("quantity", "string_to_quantity", (STRING,), QUANTITY, parse_amount),
    function("isQuantity", "is_quantity_string", (STRING,), BOOL, _is_quantity),
    function("sign", "quantity_sign", (QUANTITY,), INT, _sign),
    member("isGreaterThan", "quantity_is_greater_than", _TWO, BOOL, lambda a, b: _compare(a, b) > 0),
    member("isLessThan", "quantity_is_less_than", _TWO, BOOL, lambda a, b: _compare(a, b) < 0),
    member("compareTo", "quantity_compare_to", _TWO, INT, _compare),
    member("asApproximateFloat", "quantity_get_float", (QUANTITY,), DOUBLE, _as_float),
    member("asInteger", "quantity_get_int", (QUANTITY,), INT, _as_integer),
    member("isInteger", "quantity_is_integer", (QUANTITY,), BOOL, lambda amount: _integer(amount) is not None),
    member("add", "quantity_add", _TWO, QUANTITY, _add),
    member("add", "quantity_add_int", (QUANTITY, INT), QUANTITY, lambda a, n: _add(a, _whole(n))),
    member("sub", "quantity_sub", _TWO, QUANTITY, _subtract),
    member("sub", "quantity_sub_int", (QUANTITY, INT), QUANTITY, lambda a, n: _subtract(a, _whole(n))),
]
