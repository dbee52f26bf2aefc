"""The checks of single values: enums, numbers, texts. Each is built once from a node and then called with values."""

import math
import struct
from collections.abc import Callable

import re2

from steersman.errors import DecodeError
from steersman.golang.numbers import INT64_MAX, INT64_MIN
from steersman.golang.text import float_text, json_text
from steersman.structural.checks.relative_errors import Check, MessageStyle, RelativeError
from steersman.structural.schema import Structural
from steersman.validation.field_errors import ErrorType, not_supported, too_long
from steersman.validation.formats import is_known_format, string_format

_FORMAT_RANGES = {
    "int32": (-(2**31), 2**31 - 1),
    "uint32": (0, 2**32 - 1),
    "uint64": (0, 2**64 - 1),
}
_RELATIVE_ERROR = 1e-9
#: Beyond this, a whole float cannot be distinguished from its neighbours.
_MOST_EXACT = 2**53 - 1


#: RE2's message for an invalid pattern, and Go's.
_GO_FAULTS = {
    "missing ]": "missing closing ]",
    "missing )": "missing closing )",
    "no argument for repetition operator": "missing argument to repetition operator",
    "bad repetition operator": "invalid nested repetition operator",
    "invalid repetition size": "invalid repeat count",
    "invalid perl operator": "invalid or unsupported Perl syntax",
    "trailing \\": "trailing backslash at end of expression",
}


def pattern_fault(pattern: str) -> str:
    """Return Go's message about an invalid pattern; empty if it is valid."""
    try:
        compile_pattern(pattern)
    except DecodeError as error:
        what, _, fragment = str(error).partition(": ")
        return f"error parsing regexp: {_GO_FAULTS.get(what, what)}: `{fragment}`"
    return ""


def compile_pattern(pattern: str) -> Callable[[str], bool]:
    """Compile a pattern of a schema: RE2, linear in time and bounded in memory, searched for anywhere in the text."""
    options = re2.Options()
    options.log_errors = False
    options.never_capture = True
    try:
        search = re2.compile(pattern, options).search
    except re2.error as error:
        text = error.args[0]
        raise DecodeError(text.decode() if isinstance(text, bytes) else str(text)) from None
    # A set of one pattern is five times faster, but may give up on huge patterns: only a match is certain.
    quick = re2.Set.SearchSet(options)
    quick.Add(pattern)
    quick.Compile()
    match = quick.Match
    return lambda text: bool(match(text)) or search(text) is not None


def _as_integer(number: float) -> int | None:
    return int(number) if INT64_MIN <= number <= INT64_MAX else None


def enum_check(node: Structural) -> Check | None:
    """Check that a value is one of an enum; null in an enum matches nothing, as on the server."""
    allowed = node.schema.get("enum")
    if not allowed:
        return None
    words = [value if value.__class__ is str else json_text(value) for value in allowed]
    # 1 and True are one key to Python, but never one value to JSON.
    plain = {(value.__class__ is bool, value) for value in allowed if value.__class__ not in (dict, list, type(None))}
    nested = [value for value in allowed if value.__class__ in (dict, list)]
    # Go compares after conversion: a fraction is cut off before it meets an integer.
    integers = {value for value in allowed if value.__class__ is int}

    def check(value: object) -> list[RelativeError] | None:
        if value in nested if value.__class__ in (dict, list) else (value.__class__ is bool, value) in plain:
            return None
        if value.__class__ is float and _as_integer(value) in integers:
            return None
        error = not_supported("", value, words)
        return [RelativeError(ErrorType.NOT_SUPPORTED, value, error.detail, MessageStyle.BESIDE)]

    return check


def _length_checks(node: Structural) -> list[Check]:
    checks: list[Check] = []
    longest, shortest = node.schema.get("maxLength"), node.schema.get("minLength")
    if longest is not None:
        detail = too_long("", longest).detail
        checks.append(
            lambda value: (
                [RelativeError(ErrorType.TOO_LONG, value, detail, MessageStyle.BESIDE)]
                if len(value) > longest
                else None
            )
        )
    if shortest:
        text = f"should be at least {shortest} chars long"
        checks.append(lambda value: [RelativeError(ErrorType.INVALID, value, text)] if len(value) < shortest else None)
    return checks


def text_check(node: Structural) -> Check | None:
    """Return the check of length and pattern of a text; only the first broken rule is reported."""
    checks = _length_checks(node)
    pattern = node.schema.get("pattern")
    if pattern:
        search = compile_pattern(pattern)
        detail = f"should match '{pattern}'"
        checks.append(lambda value: None if search(value) else [RelativeError(ErrorType.INVALID, value, detail)])
    return first_of(checks)


def format_check(node: Structural) -> Check | None:
    """Check the format of a text."""
    name = node.schema.get("format") or ""
    is_format = string_format(name) if name else None
    if is_format is None:
        return None

    def check(value: str) -> list[RelativeError] | None:
        if is_format(value):
            return None
        return [RelativeError(ErrorType.TYPE_INVALID, value, f"must be of type {name}: {json_text(value)}")]

    return check


def first_of(checks: list[Check]) -> Check | None:
    """Return a check that reports the errors of the first failing check."""
    if len(checks) <= 1:
        return checks[0] if checks else None

    def check(value: object) -> list[RelativeError] | None:
        for part in checks:
            if found := part(value):
                return found
        return None

    return check


def all_of(checks: list[Check]) -> Check | None:
    """Return a check that reports the errors of all failing checks."""
    if len(checks) <= 1:
        return checks[0] if checks else None
    first, *others = checks
    rest = all_of(others) or first

    def check(value: object) -> list[RelativeError] | None:
        found, more = first(value), rest(value)
        if not more:
            return found
        return [*found, *more] if found else more

    return check


def quick_text(node: Structural, slow: Check) -> Check:
    """Return the checks of a text with a single fast test in front, where one covers all its rules."""
    schema = node.schema
    if schema.get("pattern") or string_format(schema.get("format") or ""):
        return slow
    low, high = schema.get("minLength") or 0, schema.get("maxLength")
    if schema.get("enum"):
        allowed = frozenset(value for value in schema["enum"] if value.__class__ is str)
        return slow if low or high is not None else lambda value: None if value in allowed else slow(value)
    if high is None:
        return lambda value: None if len(value) >= low else slow(value)
    return lambda value: None if low <= len(value) <= high else slow(value)


def quick_integer(node: Structural, slow: Check) -> Check:
    """Return the checks of an int with a single fast test in front, where its rules are a range of integers."""
    schema = node.schema
    limits = [schema[key] for key in ("minimum", "maximum") if schema.get(key) is not None]
    if schema.get("enum") or schema.get("multipleOf") or any(limit != int(limit) for limit in limits):
        return slow
    low, high = _FORMAT_RANGES.get(schema.get("format") or "", (INT64_MIN, INT64_MAX))
    if schema.get("minimum") is not None:
        low = max(low, int(schema["minimum"]) + bool(schema.get("exclusiveMinimum")))
    if schema.get("maximum") is not None:
        high = min(high, int(schema["maximum"]) - bool(schema.get("exclusiveMaximum")))
    return lambda value: None if low <= value <= high else slow(value)


#: Returns whether a number does not fit a numeric type.
Misfit = Callable[[float], bool]


def _misfit(type_name: str, format_name: str) -> Misfit:
    if type_name == "integer":
        low, high = _FORMAT_RANGES.get(format_name, (INT64_MIN, INT64_MAX))
        return lambda number: not low <= number <= high or number != int(number)
    if format_name in ("float", "float32"):
        return _overflows_float32
    return lambda _: False


def _overflows_float32(number: float) -> bool:
    try:
        return math.isinf(struct.unpack("f", struct.pack("f", number))[0])
    except OverflowError:
        return True


def _is_whole(number: float) -> bool:
    if abs(number) > _MOST_EXACT:
        return False
    nearest = round(number)
    return number == nearest or abs(number - nearest) / (abs(number) + abs(nearest)) < _RELATIVE_ERROR


def _keeps_multiple(factor: float) -> Callable[[float], bool]:
    if factor.__class__ is int:
        # A factor of nothing is a factor of everything: dividing by it would end the server's request.
        return lambda value: (
            factor == 0 or (value % factor == 0 if value.__class__ is int else _is_whole(value / factor))
        )
    return lambda value: factor == 0 or _is_whole(1 / factor * value if factor < 1 else value / factor)


def _keeps_maximum(limit: float, *, exclusive: bool) -> Callable[[float], bool]:
    return (lambda value: value < limit) if exclusive else (lambda value: value <= limit)


def _keeps_minimum(limit: float, *, exclusive: bool) -> Callable[[float], bool]:
    return (lambda value: value > limit) if exclusive else (lambda value: value >= limit)


def _limit_check(keeps: Callable[[float], bool], detail: str) -> Check:
    return lambda value: None if keeps(value) else [RelativeError(ErrorType.INVALID, value, detail)]


def _always(value: object, detail: str, style: MessageStyle) -> Check:
    return lambda _: [RelativeError(ErrorType.INVALID, value, detail, style)]


class _NumberChecks:
    """Builds the checks of a number of one class, with the corners of the OpenAPI library inside Kubernetes.

    An int is compared with the whole part of a limit, unless the limit itself does not fit the type: then that is
    complained about for every value, and the comparison is one of floats.
    """

    def __init__(self, node: Structural, cls: type) -> None:
        self._schema = node.schema
        self._cls = cls
        type_name = node.types[0] if len(node.types) == 1 else ""
        format_name = self._schema.get("format") or ""
        kind = f"with format {format_name}" if is_known_format(format_name, type_name) else "(default format)"
        self._misfit_text = f"{{}} value must be of type {type_name} {kind} in \0"
        self._misfit = _misfit(type_name, format_name)
        self._fits_always = type_name != "integer" and format_name not in ("float", "float32")

    def _of_limit(self, key: str, what: str, check: Callable[[float, str], Check]) -> list[Check]:
        limit = self._schema.get(key)
        if limit is None:
            return []
        if self._misfit(limit):
            complaint = _always("", self._misfit_text.format(what), MessageStyle.ANYWHERE)
            return [complaint, check(float(limit), float_text(limit))]
        whole = int(limit)
        return [check(whole, str(whole)) if self._cls is int else check(float(limit), float_text(limit))]

    def _multiple(self, factor: float, shown: str) -> Check:
        if factor < 0:
            text = f"factor MultipleOf declared for \0 must be positive: {shown}"
            return _always(factor, text, MessageStyle.BESIDE)
        return _limit_check(_keeps_multiple(factor), f"should be a multiple of {shown}")

    def _maximum(self, limit: float, shown: str) -> Check:
        exclusive = bool(self._schema.get("exclusiveMaximum"))
        text = f"should be less than {'' if exclusive else 'or equal to '}{shown}"
        return _limit_check(_keeps_maximum(limit, exclusive=exclusive), text)

    def _minimum(self, limit: float, shown: str) -> Check:
        exclusive = bool(self._schema.get("exclusiveMinimum"))
        text = f"should be greater than {'' if exclusive else 'or equal to '}{shown}"
        return _limit_check(_keeps_minimum(limit, exclusive=exclusive), text)

    def build(self) -> Check | None:
        """Return all checks as one."""
        checks = [
            *self._of_limit("multipleOf", "MultipleOf", self._multiple),
            *self._of_limit("maximum", "Maximum boundary", self._maximum),
            *self._of_limit("minimum", "Minimum boundary", self._minimum),
        ]
        if not self._fits_always:
            text, misfit = self._misfit_text.format("Checked"), self._misfit
            checks.append(
                lambda value: (
                    [RelativeError(ErrorType.INVALID, "", text, MessageStyle.ANYWHERE)] if misfit(value) else None
                )
            )
        return all_of(checks)


def number_check(node: Structural, cls: type) -> Check | None:
    """Check range, bounds and factor of a number; the range only where the node has a single type."""
    return _NumberChecks(node, cls).build()
