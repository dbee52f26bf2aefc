"""Quantities (``500m``, ``2Gi``): exact arithmetic and Kubernetes' canonical printing."""

import re
from decimal import ROUND_CEILING, ROUND_UP, Context, Decimal, InvalidOperation, localcontext
from functools import total_ordering
from typing import Literal

_BINARY = {"Ki": 1 << 10, "Mi": 1 << 20, "Gi": 1 << 30, "Ti": 1 << 40, "Pi": 1 << 50, "Ei": 1 << 60}
_DECIMAL = {"n": -9, "u": -6, "m": -3, "": 0, "k": 3, "M": 6, "G": 9, "T": 12, "P": 15, "E": 18}
_DECIMAL_SUFFIX = {exponent: suffix for suffix, exponent in _DECIMAL.items()}
#: As lenient as Kubernetes, which reads ``5.``, ``.5`` and even ``.`` (an empty number is zero).
_FORM = re.compile(r"([+-]?)([0-9]*\.?[0-9]*)([eE][+-]?[0-9]{1,9}|[numkMGTPE]|[KMGTPE]i)?")
_PLAIN = re.compile(r"[+-]?[0-9]+(?:\.[0-9]*)?(?:[numkMGTPE]|[KMGTPE]i)?")
_MAX_LENGTH = _MAX_EXPONENT = 300
#: Wide enough for every text and exponent within these limits; arithmetic never rounds.
_EXACT = Context(prec=1000)
_NANO = Decimal("1e-9")
_LIMIT = Decimal((1 << 63) - 1)

Format = Literal["DecimalSI", "BinarySI", "DecimalExponent"]


@total_ordering
class Quantity:
    """An exact number with a unit suffix; equal amounts are equal however they are written.

    What was read is printed as it was read; the result of arithmetic is printed in canonical form. Precision below
    one nano is rounded up, as Kubernetes does.
    """

    __slots__ = ("_amount", "_text")

    #: The text that was parsed, if there was one.
    _text: str
    #: The amount and its form. ``None`` until first used: most quantities are only stored.
    _amount: tuple[Decimal, Format] | None

    def __init__(self, amount: "str | int | float | Decimal | Quantity", *, form: Format = "DecimalSI") -> None:
        self._text = ""
        if isinstance(amount, str):
            self._text = amount
            self._amount = None if _is_plain(amount) else _parse(amount)
        elif isinstance(amount, Quantity):
            self._text, self._amount = amount._text, amount._amount  # noqa: SLF001 - its own kind
        else:
            self._amount = _rounded(Decimal(str(amount)) if isinstance(amount, float) else Decimal(amount)), form

    @property
    def value(self) -> Decimal:
        """The amount."""
        return self._parsed()[0]

    @property
    def format(self) -> Format:
        """How the amount is printed in canonical form."""
        return self._parsed()[1]

    def _parsed(self) -> tuple[Decimal, Format]:
        if self._amount is None:
            self._amount = _parse(self._text)
        return self._amount

    def canonical(self) -> str:
        """Print with the largest suffix that leaves no fraction, as the API server does."""
        if self.format == "BinarySI" and (text := _binary(self.value)) is not None:
            return text
        return _decimal(self.value, exponent=self.format == "DecimalExponent")

    def __str__(self) -> str:
        return self._text or self.canonical()

    def __repr__(self) -> str:
        return f"Quantity({str(self)!r})"

    def __int__(self) -> int:
        """Return the amount rounded up to a whole number, as ``Quantity.Value()`` does."""
        return int(self.value.to_integral_value(ROUND_CEILING, _EXACT))

    def __float__(self) -> float:
        return float(self.value)

    def __bool__(self) -> bool:
        return bool(self.value)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Quantity) and self.value == other.value

    def __lt__(self, other: object) -> bool:
        return self.value < other.value if isinstance(other, Quantity) else NotImplemented

    def __hash__(self) -> int:
        return hash(self.value)

    def __add__(self, other: "Quantity") -> "Quantity":
        return self._like(_EXACT.add(self.value, other.value), other)

    def __sub__(self, other: "Quantity") -> "Quantity":
        return self._like(_EXACT.subtract(self.value, other.value), other)

    def __mul__(self, factor: int) -> "Quantity":
        return self._like(_EXACT.multiply(self.value, Decimal(factor)), self)

    __rmul__ = __mul__

    def __neg__(self) -> "Quantity":
        return self._like(-self.value, self)

    def _like(self, value: Decimal, other: "Quantity") -> "Quantity":
        # A zero does not influence how the sum is printed.
        return Quantity(value, form=self.format if self.value else other.format)


def _is_plain(text: str) -> bool:
    """Return whether a text is a quantity of the usual form; other texts must be parsed to find out."""
    return len(text) <= _MAX_LENGTH and _PLAIN.fullmatch(text) is not None


def _rounded(value: Decimal) -> Decimal:
    if not value.is_finite():
        raise ValueError(f"not a quantity: {value}")
    try:
        with localcontext(_EXACT):
            rounded = value.quantize(_NANO, ROUND_UP)
    except InvalidOperation:
        raise ValueError("not a quantity: too many digits") from None
    return value if value == rounded else rounded


def _parse(text: str) -> tuple[Decimal, Format]:
    match = _FORM.fullmatch(text) if 0 < len(text) <= _MAX_LENGTH else None
    if match is None:
        raise ValueError(f"not a quantity: {text!r} (write for example '500m', '2', '1.5Gi')")
    sign, digits, suffix = match[1], match[2], match[3] or ""
    number = Decimal(f"{sign}0{digits}")
    form: Format = "DecimalSI"
    with localcontext(_EXACT):
        if suffix in _BINARY:
            number, form = number * _BINARY[suffix], "BinarySI"
        elif suffix in _DECIMAL:
            number = number.scaleb(_DECIMAL[suffix])
        else:
            exponent = int(suffix[1:])
            if abs(exponent) > _MAX_EXPONENT:
                raise ValueError(f"not a quantity: {text!r} (exponent too large)")
            number, form = number.scaleb(exponent), "DecimalExponent"
        rounded = _rounded(number)
    if form != "BinarySI":
        return rounded, form
    # Kubernetes caps binary amounts only, and calls those below one decimal.
    return max(min(rounded, _LIMIT), -_LIMIT), "DecimalSI" if 0 < abs(rounded) < 1 else form


def _binary(value: Decimal) -> str | None:
    if value != value.to_integral_value() or abs(value) < 1024:  # noqa: PLR2004 - below 1Ki there is no binary suffix
        return None
    whole = int(value)
    suffix = ""
    for name, size in _BINARY.items():
        if whole % size:
            break
        suffix = name
    return f"{whole // _BINARY[suffix]}{suffix}" if suffix else str(whole)


def _decimal(value: Decimal, *, exponent: bool) -> str:
    if not value:
        return "0"
    with localcontext(_EXACT):
        _, digits, power = value.normalize().as_tuple()
    power = int(power)
    step = max(power - power % 3, -9)
    if not exponent:
        step = min(step, 18)
    mantissa = int("".join(map(str, digits))) * 10 ** (power - step)
    sign = "-" if value < 0 else ""
    if exponent:
        return f"{sign}{mantissa}e{step}" if step else f"{sign}{mantissa}"
    return f"{sign}{mantissa}{_DECIMAL_SUFFIX[step]}"
