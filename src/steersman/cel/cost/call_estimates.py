"""What a call may cost by estimate, and how large its result may be, function by function."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

from steersman.cel.cost.factors import LIST_CREATE, NAMED_FORMAT_NAME, NAMED_FORMAT_REGEX, REGEX, TRAVERSAL
from steersman.cel.cost.ranges import LIMIT, ONE, UNKNOWN, ZERO, Estimate, exactly
from steersman.cel.syntax.tree import Literal, Node
from steersman.cel.types import CIDR, IP, NAMED_FORMAT, QUANTITY, SEMVER, URL, CelType, Kind


class Sized(Protocol):
    """An operand of a call: its expression, its type, its path from the root, and its size if known."""

    @property
    def node(self) -> Node | None: ...  # noqa: D102 - fields, named above
    @property
    def type(self) -> CelType: ...  # noqa: D102 - same
    @property
    def path(self) -> tuple[str, ...]: ...  # noqa: D102 - same
    @property
    def known_size(self) -> Estimate | None: ...  # noqa: D102 - same

    def size(self) -> Estimate:
        """Return the size, as known or from the schema."""
        ...

    def element(self) -> "Sized | None":
        """Return the elements as an operand, if this is a list or has parameters."""
        ...


@dataclass(frozen=True, slots=True)
class CallEstimate:
    """What the call itself costs, without its arguments, and how large the result is."""

    cost: Estimate
    result: Estimate | None = None


Estimator = Callable[[Sequence[Sized]], CallEstimate | None]

_TEXT = frozenset({Kind.STRING, Kind.BYTES})


def _traversal(operands: Sequence[Sized]) -> CallEstimate | None:
    """Return the cost of visiting every element, and every character of elements that are strings."""
    target = operands[0]
    element = target.element()
    if element is None:
        return CallEstimate(target.size().scaled(TRAVERSAL))
    cost = ONE
    if element.type.kind in _TEXT:
        cost = cost.plus(element.size().scaled(TRAVERSAL))
    return CallEstimate(target.size().times(cost))


def _read_text(operands: Sequence[Sized]) -> CallEstimate | None:
    return CallEstimate(operands[0].size().scaled(TRAVERSAL))


def _read_text_twice(operands: Sequence[Sized]) -> CallEstimate | None:
    return CallEstimate(operands[0].size().scaled(2 * TRAVERSAL))


def _same_size(operands: Sequence[Sized]) -> CallEstimate | None:
    size = operands[0].size()
    return CallEstimate(size.scaled(TRAVERSAL), size)


def _nominal(_operands: Sequence[Sized]) -> CallEstimate | None:
    return CallEstimate(ONE)


def _replace(operands: Sequence[Sized]) -> CallEstimate | None:
    size, old, new = (operand.size() for operand in operands[:3])
    least_count, least_kept = _replacements(size.least, old.most, shrinks=old.most > new.least)
    if old.least == 0:
        most_count, most_kept = min(size.most + 1, LIMIT), size.most
    elif new.most <= old.least:
        most_count, most_kept = 0, size.most
    else:
        most_count, most_kept = math.ceil(size.most / old.least), 0
    result = Estimate(least_count, most_count).times(new).plus(Estimate(least_kept, most_kept))
    return CallEstimate(size.scaled(2 * TRAVERSAL), result)


def _replacements(size: int, old: int, *, shrinks: bool) -> tuple[int, int]:
    """Return the minimum number of replacements of the longest part, and how much of the text is kept."""
    if old == 0:
        return min(size + 1, LIMIT), size
    return (math.ceil(size / old), 0) if shrinks else (0, size)


def _split(operands: Sequence[Sized]) -> CallEstimate | None:
    size = operands[0].size()
    most = size.most
    if len(operands) > 2:  # noqa: PLR2004 - text, separator, count
        node = operands[2].node
        if isinstance(node, Literal):
            most = node.value % (LIMIT + 1)
    return CallEstimate(size.scaled(2 * TRAVERSAL), Estimate(0, most))


def _join(operands: Sequence[Sized]) -> CallEstimate | None:
    parts = operands[0].size()
    element = operands[0].element()
    size = ZERO if element is None else parts.times(element.size())
    if len(operands) > 1:
        gaps = Estimate(max(parts.least - 1, 0), max(parts.most - 1, 0))
        size = size.plus(operands[1].size().times(gaps))
    return CallEstimate(size.scaled(TRAVERSAL), size)


def _search_cost(text: Estimate, pattern: Estimate) -> Estimate:
    return text.plus(ONE).scaled(TRAVERSAL).times(pattern.scaled(REGEX))


def _find(operands: Sequence[Sized]) -> CallEstimate | None:
    text = operands[0].size()
    return CallEstimate(_search_cost(text, operands[1].size()), Estimate(0, text.most))


_ADDRESS = Estimate(4, 16)


def _contains_ip(operands: Sequence[Sized]) -> CallEstimate | None:
    cost = _ADDRESS.plus(_ADDRESS).scaled(TRAVERSAL)
    return CallEstimate(cost.plus(_parsed(operands[1])))


def _contains_cidr(operands: Sequence[Sized]) -> CallEstimate | None:
    cost = _ADDRESS.plus(_ADDRESS).scaled(TRAVERSAL).plus(_ADDRESS.scaled(TRAVERSAL)).plus(ONE)
    return CallEstimate(cost.plus(_parsed(operands[1])))


def _parsed(operand: Sized) -> Estimate:
    """Return the cost of reading an operand that may still be text."""
    return operand.size().scaled(TRAVERSAL) if operand.type.kind is Kind.STRING else ZERO


def _validate(operands: Sequence[Sized]) -> CallEstimate | None:
    return CallEstimate(operands[1].size().scaled(TRAVERSAL).scaled(NAMED_FORMAT_REGEX * REGEX))


_CHEAP_EQUALITY = frozenset({IP, CIDR, QUANTITY, SEMVER})


def _equals(operands: Sequence[Sized]) -> CallEstimate | None:
    left, right = operands
    if left.type != right.type:
        return None
    if left.type in _CHEAP_EQUALITY:
        return CallEstimate(ONE)
    if left.type == NAMED_FORMAT:
        return CallEstimate(Estimate(1, NAMED_FORMAT_NAME).scaled(TRAVERSAL))
    if left.type == URL:
        most = right.known_size.most if right.known_size is not None else 1
        return CallEstimate(Estimate(1, most).scaled(TRAVERSAL))
    return None


#: By the name of the function; these come before everything else but the lists and sets below.
BY_FUNCTION: dict[str, Estimator] = {
    **dict.fromkeys(("isSorted", "sum", "max", "min", "indexOf", "lastIndexOf"), _traversal),
    **dict.fromkeys(("lowerAscii", "upperAscii", "substring", "trim", "url"), _same_size),
    **dict.fromkeys(("cidr", "isIP", "isCIDR", "quantity", "isQuantity", "semver", "isSemver"), _read_text),
    **dict.fromkeys(("find", "findAll"), _find),
    **dict.fromkeys(
        (
            *("masked", "prefixLength", "family", "isUnspecified", "isLoopback", "isLinkLocalMulticast"),
            *("isLinkLocalUnicast", "isGlobalUnicast", "format.named", "sign", "asInteger", "isInteger"),
            *("asApproximateFloat", "isGreaterThan", "isLessThan", "compareTo", "add", "sub", "major", "minor"),
            *("patch", "getScheme", "getHostname", "getHost", "getPort", "getEscapedPath", "getQuery"),
        ),
        _nominal,
    ),
    "ip.isCanonical": _read_text_twice,
    "replace": _replace,
    "split": _split,
    "join": _join,
    "containsIP": _contains_ip,
    "containsCIDR": _contains_cidr,
    "validate": _validate,
    "_==_": _equals,
}


def _new_list(factor: float, size: Estimate) -> CallEstimate:
    return CallEstimate(size.scaled(factor).plus(ONE).plus(exactly(LIST_CREATE)), size)


def _constant(operand: Sized, default: int) -> int:
    node = operand.node
    if isinstance(node, Literal) and node.value.__class__ is int:
        return max(node.value, 0)
    return default


def _slice(operands: Sequence[Sized]) -> CallEstimate | None:
    end = _constant(operands[2], operands[0].size().most)
    return _new_list(1, exactly((end - _constant(operands[1], 0)) % (LIMIT + 1)))


def _range(operands: Sequence[Sized]) -> CallEstimate | None:
    return _new_list(1, exactly(_constant(operands[0], LIMIT)))


def _flatten(operands: Sequence[Sized]) -> CallEstimate | None:
    depth = _constant(operands[1], LIMIT) if len(operands) > 1 else 1
    return _new_list(float(depth), operands[0].size())


def _reverse(operands: Sequence[Sized]) -> CallEstimate | None:
    return _new_list(1, operands[0].size())


def _distinct(operands: Sequence[Sized]) -> CallEstimate | None:
    size = operands[0].size()
    return _new_list(2.0, size.times(size))


def _sort(place: int) -> Callable[[str], Estimator]:
    def for_type(kind: str) -> Estimator:
        factor = 2.0 + (TRAVERSAL if kind in ("string", "bytes") else 0.0)

        def estimate(operands: Sequence[Sized]) -> CallEstimate | None:
            size = operands[place].size()
            return _new_list(factor, size.times(size))

        return estimate

    return for_type


def _sets(factor: float) -> Estimator:
    def estimate(operands: Sequence[Sized]) -> CallEstimate | None:
        return CallEstimate(operands[0].size().times(operands[1].size()).scaled(factor).plus(ONE))

    return estimate


_COMPARABLE = ("int", "uint", "double", "bool", "duration", "timestamp", "string", "bytes")


def _quoted(operands: Sequence[Sized]) -> CallEstimate | None:
    size = operands[0].known_size or UNKNOWN
    return CallEstimate(size.scaled(TRAVERSAL), Estimate(size.least + 2, min(size.most * 2 + 2, LIMIT)))


def _to_bytes(operands: Sequence[Sized]) -> CallEstimate | None:
    size = operands[0].known_size or UNKNOWN
    return CallEstimate(size.scaled(TRAVERSAL), Estimate(size.least, size.most * 4 % (LIMIT + 1)))


def _to_text(operands: Sequence[Sized]) -> CallEstimate | None:
    size = operands[0].known_size or UNKNOWN
    return CallEstimate(size.scaled(TRAVERSAL), Estimate(size.least // 4, size.most))


def _first_text(operands: Sequence[Sized]) -> CallEstimate | None:
    return CallEstimate((operands[0].known_size or UNKNOWN).scaled(TRAVERSAL))


def _second_text(operands: Sequence[Sized]) -> CallEstimate | None:
    return CallEstimate((operands[1].known_size or UNKNOWN).scaled(TRAVERSAL))


def _in_list(operands: Sequence[Sized]) -> CallEstimate | None:
    return CallEstimate((operands[1].known_size or UNKNOWN).scaled(1))


def _matches(operands: Sequence[Sized]) -> CallEstimate | None:
    text, pattern = ((operand.known_size or UNKNOWN) for operand in operands)
    return CallEstimate(_search_cost(text, pattern))


def _contains(operands: Sequence[Sized]) -> CallEstimate | None:
    text, part = ((operand.known_size or UNKNOWN).scaled(TRAVERSAL) for operand in operands)
    return CallEstimate(text.times(part))


def _compared(operands: Sequence[Sized]) -> CallEstimate | None:
    most = min((operand.known_size or UNKNOWN).most for operand in operands)
    return CallEstimate(Estimate(1 if most else 0, most).scaled(TRAVERSAL))


def _concatenated(operands: Sequence[Sized]) -> CallEstimate | None:
    size = (operands[0].known_size or UNKNOWN).plus(operands[1].known_size or UNKNOWN)
    return CallEstimate(size.scaled(TRAVERSAL), size)


def _lists_concatenated(operands: Sequence[Sized]) -> CallEstimate | None:
    size = (operands[0].known_size or UNKNOWN).plus(operands[1].known_size or UNKNOWN)
    return CallEstimate(ONE, size)


#: By overload, asked first.
BY_OVERLOAD: dict[str, Estimator] = {
    "list_slice": _slice,
    "list_flatten": _flatten,
    "list_flatten_int": _flatten,
    "lists_range": _range,
    "list_reverse": _reverse,
    "list_distinct": _distinct,
    **{f"list_{kind}_sort": _sort(0)(kind) for kind in _COMPARABLE},
    **{f"list_{kind}_sortByAssociatedKeys": _sort(1)(kind) for kind in _COMPARABLE},
    "list_sets_contains_list": _sets(1),
    "list_sets_intersects_list": _sets(1),
    "list_sets_equivalent_list": _sets(2),
    "cidr_ip": _nominal,
    "string_to_ip": _read_text,
}

#: By overload, asked last.
BY_CORE_OVERLOAD: dict[str, Estimator] = {
    "string_format": _first_text,
    "string_to_bytes": _to_bytes,
    "bytes_to_string": _to_text,
    "strings_quote": _quoted,
    "starts_with_string": _second_text,
    "ends_with_string": _second_text,
    "in_list": _in_list,
    "matches_string": _matches,
    "contains_string": _contains,
    "add_string": _concatenated,
    "add_bytes": _concatenated,
    "add_list": _lists_concatenated,
    **{
        f"{word}_{kind}": _compared
        for word in ("less", "less_equals", "greater", "greater_equals")
        for kind in ("string", "bytes")
    },
    "equals": _compared,
    "not_equals": _compared,
}
