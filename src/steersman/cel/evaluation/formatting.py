"""``'%d of %s'.format([...])``: its clauses, their values, and the checks before it runs."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from steersman.cel.errors import EvaluationError
from steersman.cel.syntax.tree import ListExpr, MapExpr, Node
from steersman.cel.types import Kind
from steersman.cel.values.shapes import LIST_CLASSES, MAP_CLASSES
from steersman.cel.values.times import duration_text, timestamp_text
from steersman.cel.values.values import Duration, Timestamp, TypeValue, Uint, type_name
from steersman.golang.text import float_text, quoted

_DEFAULT_PRECISION = 6
_PRECISION_DIGITS = 4
_SUPERSCRIPT = str.maketrans("0123456789-", "⁰¹²³⁴⁵⁶⁷⁸⁹⁻")
_DIGITS = "0123456789"


@dataclass(frozen=True, slots=True)
class Clause:
    """One ``%…`` of a format string: its letter, its precision if any, and the text before it."""

    verb: str
    precision: int | None
    before: str


class FormatError(EvaluationError):
    """The format string or an argument is wrong; ``argument`` is the place of the argument at fault, if one is."""

    def __init__(self, message: str, argument: int | None = None) -> None:
        super().__init__(message)
        self.argument = argument


_VERBS = "sdfebxXo"


def parse_format(text: str, arguments: int) -> tuple[list[Clause], str]:
    """Split a format string into clauses and the text after the last one; the number of arguments must match."""
    clauses: list[Clause] = []
    before = ""
    place = 0
    while place < len(text):
        if text[place] != "%":
            before += text[place]
            place += 1
        elif text.startswith("%%", place):
            before += "%"
            place += 2
        else:
            if len(clauses) >= arguments and place + 1 < len(text):
                raise FormatError(f"index {len(clauses)} out of range")
            place, clause = _clause(text, place + 1, before)
            clauses.append(clause)
            before = ""
    return clauses, before


def _clause(text: str, place: int, before: str) -> tuple[int, Clause]:
    if place >= len(text):
        raise FormatError("unexpected end of string")
    precision = None
    if text[place] == ".":
        end = place + 1
        while end < len(text) and text[end] in _DIGITS:
            end += 1
        if end >= len(text):
            _unparsable("error while parsing precision: could not find end of precision specifier")
        digits = text[place + 1 : end]
        if not digits:
            _unparsable(
                "error while parsing precision: error while converting precision to integer: "
                'strconv.Atoi: parsing "": invalid syntax'
            )
        if len(digits) > _PRECISION_DIGITS:
            _unparsable(f"error while parsing precision: precision {digits[:_PRECISION_DIGITS]}... is too large")
        precision, place = int(digits), end
    if text[place] not in _VERBS:
        _unparsable(f'unrecognized formatting clause "{text[place]}"')
    return place + 1, Clause(text[place], precision, before)


def _unparsable(reason: str) -> None:
    raise FormatError(f"could not parse formatting clause: {reason}")


def format_string(text: str, arguments: Any) -> str:
    """Format the values of a list."""
    clauses, rest = parse_format(text, len(arguments))
    parts: list[str] = []
    for place, clause in enumerate(clauses):
        if place >= len(arguments):
            raise FormatError(f"index {place} out of range")
        parts += [clause.before, _format(clause, arguments[place])]
    return "".join([*parts, rest])


def _format(clause: Clause, value: object) -> str:
    written = _WRITERS[clause.verb](value, clause)
    if written is None:
        raise FormatError(f"error during formatting: {_COMPLAINTS[clause.verb]}, was given {type_name(value)}")
    return written


_COMPLAINTS = {
    "s": "string clause can only be used on strings, bools, bytes, ints, doubles, maps, lists, types, durations, and "
    "timestamps",
    "d": "decimal clause can only be used on integers",
    "f": "fixed-point clause can only be used on doubles",
    "e": "scientific clause can only be used on doubles",
    "b": "only integers and bools can be formatted as binary",
    "x": "only integers, byte buffers, and strings can be formatted as hex",
    "X": "only integers, byte buffers, and strings can be formatted as hex",
    "o": "octal clause can only be used on integers",
}
_INTEGERS = frozenset({int, Uint})
_SPECIAL = {"NaN": math.nan, "Infinity": math.inf, "-Infinity": -math.inf}


def _string(value: Any, _clause: Clause | None = None) -> str | None:
    if value.__class__ in LIST_CLASSES:
        return "[" + ", ".join(_member(item) for item in value) + "]"
    if value.__class__ in MAP_CLASSES:
        return "{" + ", ".join(sorted(f"{_member(key)}:{_member(item)}" for key, item in value.items())) + "}"
    write = _STRINGS.get(value.__class__)
    return None if write is None else write(value)


_STRINGS: dict[type, Callable[[Any], str]] = {
    str: str,
    bool: lambda value: "true" if value else "false",
    int: str,
    Uint: str,
    float: float_text,
    bytes: lambda value: value.decode(errors="replace"),
    type(None): lambda _: "null",
    Duration: duration_text,
    Timestamp: timestamp_text,
    TypeValue: lambda value: value.name,
}


def _member(value: object) -> str:
    """Write a value as it stands inside a list or map."""
    write = _MEMBERS.get(value.__class__)
    if write is not None:
        return write(value)
    written = _string(value)
    if written is None:
        raise FormatError(f"error during formatting: no formatting function for {type_name(value)}")
    return written


def _member_double(value: float) -> str:
    if math.isnan(value) or math.isinf(value):
        return quoted("NaN" if math.isnan(value) else f"{'+' if value > 0 else '-'}Inf")
    return f"{value:.{_DEFAULT_PRECISION}f}"


_MEMBERS: dict[type, Callable[[Any], str]] = {
    str: quoted,
    bytes: lambda value: f"b{quoted(value.decode(errors='replace'))}",
    float: _member_double,
    Duration: lambda value: f'duration("{duration_text(value)}")',
    Timestamp: lambda value: f'timestamp("{timestamp_text(value)}")',
}


def _decimal(value: object, _clause: Clause) -> str | None:
    return str(int(value)) if value.__class__ in _INTEGERS else None


def _double(value: object) -> float | None:
    if value.__class__ is str:
        return _SPECIAL.get(value)
    return value if value.__class__ is float else None


def _not_finite(number: float) -> str | None:
    if math.isnan(number):
        return "NaN"
    if math.isinf(number):
        return "∞" if number > 0 else "-∞"
    return None


def _precision(clause: Clause) -> int:
    return _DEFAULT_PRECISION if clause.precision is None else clause.precision


def _fixed(value: object, clause: Clause) -> str | None:
    number = _double(value)
    if number is None:
        return None
    return _not_finite(number) or f"{number:,.{_precision(clause)}f}"


def _scientific(value: object, clause: Clause) -> str | None:
    number = _double(value)
    if number is None:
        return None
    if (special := _not_finite(number)) is not None:
        return special
    # The precision is taken for a width, which never pads: the number itself always has six decimals.
    mantissa, exponent = f"{number:.{_DEFAULT_PRECISION}e}".split("e")
    power = f"{int(exponent):03d}" if int(exponent) < 0 else f"{int(exponent):02d}"
    return f"{mantissa}\u00d710{power.translate(_SUPERSCRIPT)}".rjust(_precision(clause))


def _based(code: str) -> Callable[[Any, Clause], str | None]:
    return lambda value, _clause: format(int(value), code) if value.__class__ in _INTEGERS else None


def _binary(value: object, clause: Clause) -> str | None:
    if value.__class__ is bool:
        return "1" if value else "0"
    return _based("b")(value, clause)


def _hex(value: object, clause: Clause) -> str | None:
    if value.__class__ is str or value.__class__ is bytes:
        text = bytes(value, "utf-8").hex() if isinstance(value, str) else bytes(value).hex()
        return text.upper() if clause.verb == "X" else text
    return _based(clause.verb)(value, clause)


_WRITERS: dict[str, Callable[[Any, Clause], str | None]] = {
    "s": _string,
    "d": _decimal,
    "f": _fixed,
    "e": _scientific,
    "b": _binary,
    "x": _hex,
    "X": _hex,
    "o": _based("o"),
}

_STRING_KINDS = frozenset(
    {
        Kind.LIST,
        Kind.MAP,
        Kind.INT,
        Kind.UINT,
        Kind.DOUBLE,
        Kind.BOOL,
        Kind.STRING,
        Kind.TIMESTAMP,
        Kind.BYTES,
        Kind.DURATION,
        Kind.TYPE,
        Kind.NULL,
        Kind.DYN,
    }
)
#: The kinds of arguments that each clause takes, by type.
_KINDS = {
    "s": _STRING_KINDS,
    "d": frozenset({Kind.INT, Kind.UINT, Kind.DYN}),
    "f": frozenset({Kind.DOUBLE, Kind.STRING, Kind.DYN}),
    "e": frozenset({Kind.DOUBLE, Kind.STRING, Kind.DYN}),
    "b": frozenset({Kind.INT, Kind.UINT, Kind.BOOL, Kind.DYN}),
    "x": frozenset({Kind.INT, Kind.UINT, Kind.STRING, Kind.BYTES, Kind.DYN}),
    "X": frozenset({Kind.INT, Kind.UINT, Kind.STRING, Kind.BYTES, Kind.DYN}),
    "o": frozenset({Kind.INT, Kind.UINT, Kind.DYN}),
}


def check_format(call: Node, text: str, arguments: Sequence[Node]) -> tuple[Node, str] | None:
    """Return the node and the message of an error in a format call, from its constant text and argument types."""
    try:
        clauses, _ = parse_format(text, len(arguments))
    except FormatError as error:
        return call, str(error)
    for clause, argument in zip(clauses, arguments, strict=False):
        bad = _first_misfit(clause.verb, argument)
        if bad is not None:
            return bad, f"error during formatting: {_COMPLAINTS[clause.verb]}, was given {bad.type.name}"
    if len(arguments) > len(clauses):
        return call, (f"too many arguments supplied to string.format (expected {len(clauses)}, got {len(arguments)})")
    return None


def _first_misfit(verb: str, argument: Node) -> Node | None:
    if argument.type.kind not in _KINDS[verb]:
        return argument
    if verb != "s":
        return None
    inner: list[Node] = []
    if isinstance(argument, ListExpr):
        inner = argument.elements
    elif isinstance(argument, MapExpr):
        inner = [part for entry in argument.entries for part in (entry.key, entry.value)]
    return next((bad for part in inner if (bad := _first_misfit(verb, part)) is not None), None)
