"""What an evaluation does cost: the meter that stops a runaway rule, and the price of each call.

A price depends on the values a function was called with, and sometimes on its result.
"""

import math
from collections.abc import Callable, Sequence
from typing import Any

from steersman.cel.cost.factors import LIST_CREATE, PER_CALL_LIMIT, REGEX, TRAVERSAL
from steersman.cel.errors import CostExceeded
from steersman.cel.library.named_formats import NamedFormat
from steersman.cel.library.network import Cidr, Ip
from steersman.cel.values.shapes import LIST_CLASSES, MAP_CLASSES
from steersman.cel.values.values import Opaque, Present

Price = Callable[[Sequence[Any], Any], int]


class Meter:
    """Counts the cost of one evaluation and ends it when the limit is passed."""

    __slots__ = ("cost", "limit")

    def __init__(self, limit: int = PER_CALL_LIMIT) -> None:
        self.cost = 0
        self.limit = limit

    def spend(self, amount: int) -> None:
        """Add a cost; raises ``CostExceeded`` beyond the limit."""
        self.cost += amount
        if self.cost > self.limit:
            raise CostExceeded


_SIZED: frozenset[Any] = LIST_CLASSES | MAP_CLASSES | {str, bytes, Ip, Cidr}


def _size(value: Any) -> int:
    if value.__class__ in _SIZED:
        return len(value)
    if isinstance(value, Present):
        return _size(value.value)
    return 1


def _ceil(amount: float) -> int:
    return math.ceil(amount)


def _traversal(value: Any) -> int:
    if value.__class__ is str:
        return int(len(value.encode()) * TRAVERSAL)
    if value.__class__ is bytes:
        return int(len(value) * TRAVERSAL)
    if value.__class__ in LIST_CLASSES:
        return sum(map(_traversal, value))
    if value.__class__ in MAP_CLASSES:
        return sum(_traversal(key) + _traversal(item) for key, item in value.items())
    return 1


def _read(args: Sequence[object], _result: object) -> int:
    return _ceil(_size(args[0]) * TRAVERSAL)


def _read_twice(args: Sequence[object], _result: object) -> int:
    return _ceil(_size(args[0]) * 2 * TRAVERSAL)


def _joined(_args: Sequence[object], result: object) -> int:
    return _ceil(_size(result) * 2 * TRAVERSAL)


def _searched(args: Sequence[object], _result: object) -> int:
    return _ceil((1 + _size(args[0])) * TRAVERSAL) * _ceil(_size(args[1]) * REGEX)


def _nominal(_args: Sequence[object], _result: object) -> int:
    return 1


def _parsed(value: object) -> int:
    return _ceil(_size(value) * TRAVERSAL) if value.__class__ is str else 0


def _contains_ip(args: Sequence[object], _result: object) -> int:
    return _ceil(2 * _size(args[0]) * TRAVERSAL) + _parsed(args[1])


def _contains_cidr(args: Sequence[object], _result: object) -> int:
    size = _size(args[0])
    return _ceil(2 * size * TRAVERSAL) + _ceil(size * TRAVERSAL) + 1 + _parsed(args[1])


def _validated(args: Sequence[object], _result: object) -> int:
    size = args[0].regex_size if isinstance(args[0], NamedFormat) else 0
    return _ceil((1 + _size(args[1])) * TRAVERSAL) * _ceil(size * REGEX)


def _compared(args: Sequence[object], _result: object) -> int:
    if isinstance(args[0], Opaque):
        return 1
    return _ceil(min(_size(args[0]), _size(args[1])) * TRAVERSAL)


def _concatenated(args: Sequence[object], _result: object) -> int:
    return _ceil((_size(args[0]) + _size(args[1])) * TRAVERSAL)


def _contained(args: Sequence[object], _result: object) -> int:
    return _ceil(_size(args[0]) * TRAVERSAL) * _ceil(_size(args[1]) * TRAVERSAL)


def _in_list(args: Sequence[object], _result: object) -> int:
    return _size(args[1])


def _new_list(amount: float) -> int:
    return int(amount) + 1 + LIST_CREATE


def _output(_args: Sequence[object], result: object) -> int:
    return _new_list(_size(result))


def _flattened(args: Sequence[Any], _result: object) -> int:
    return _new_list(_size(args[0]) * (args[1] if len(args) > 1 else 1))


def _sorted(place: int) -> Price:
    def price(args: Sequence[Any], _result: object) -> int:
        values = args[place]
        factor = 2.0
        if len(values) and values[0].__class__ in (str, bytes):
            factor += TRAVERSAL
        return _new_list(len(values) * len(values) * factor)

    return price


def _sets(factor: int) -> Price:
    return lambda args, _result: 1 + _size(args[0]) * _size(args[1]) * factor


#: Maximum weight of a value that a function looks through, whatever its price.
_HEAVIEST = 10_000_000
_CONTAINERS = LIST_CLASSES | MAP_CLASSES


def check_weight(args: Sequence[object]) -> None:
    """Reject lists of lists that are far larger than what it cost to build them.

    A list may hold the same long list many times: that is cheap to build and would take forever to compare.
    """
    nested = [arg for arg in args if arg.__class__ is list and arg and arg[0].__class__ in _CONTAINERS]
    if nested and math.prod(_weight(arg, {}) for arg in nested) > _HEAVIEST:
        raise CostExceeded


def _weight(value: Any, known: dict[int, int]) -> int:
    if value.__class__ not in _CONTAINERS:
        return 1
    weight = known.get(id(value))
    if weight is None:
        if value.__class__ is list:
            weight = 1 + sum(_weight(item, known) for item in value)
        elif value.__class__ in LIST_CLASSES:
            weight = 1 + len(value)
        else:
            weight = 1 + sum(_weight(item, known) for _, item in value.items())
        known[id(value)] = weight
    return weight


#: By the name of the function.
_BY_FUNCTION: dict[str, Price] = {
    **dict.fromkeys(
        ("isSorted", "sum", "max", "min", "indexOf", "lastIndexOf"), lambda args, _result: _traversal(args[0])
    ),
    **dict.fromkeys(
        (
            *("url", "lowerAscii", "upperAscii", "substring", "trim", "cidr", "isIP", "isCIDR", "quantity"),
            *("isQuantity", "semver", "isSemver"),
        ),
        _read,
    ),
    **dict.fromkeys(("replace", "split", "ip.isCanonical"), _read_twice),
    **dict.fromkeys(("find", "findAll"), _searched),
    "join": _joined,
    "containsIP": _contains_ip,
    "containsCIDR": _contains_cidr,
    "validate": _validated,
    "slice": _output,
    "lists.range": _output,
    "reverse": _output,
    "flatten": _flattened,
    "distinct": _sorted(0),
    "sort": _sorted(0),
    "@sortByAssociatedKeys": _sorted(1),
    "sets.contains": _sets(1),
    "sets.intersects": _sets(1),
    "sets.equivalent": _sets(2),
}

#: By overload, where only one is possible.
_BY_OVERLOAD: dict[str, Price] = {
    "string_to_ip": _read,
    **dict.fromkeys(
        (
            *("starts_with_string", "ends_with_string", "string_to_bytes", "bytes_to_string", "strings_quote"),
            "string_format",
        ),
        _read,
    ),
    "in_list": _in_list,
    "matches_string": _searched,
    "contains_string": _contained,
    "add_string": _concatenated,
    "add_bytes": _concatenated,
    "equals": _compared,
    "not_equals": _compared,
    **{
        f"{word}_{kind}": _compared
        for word in ("less", "less_equals", "greater", "greater_equals")
        for kind in ("string", "bytes")
    },
}


def price_of(function: str, overloads: Sequence[str]) -> Price:
    """Return the price of a call; most cost one."""
    by_function = _BY_FUNCTION.get(function)
    if by_function is not None:
        return by_function
    return _BY_OVERLOAD.get(overloads[0], _nominal) if len(overloads) == 1 else _nominal


def is_flat(price: Price) -> bool:
    """Return whether a price is one for all arguments."""
    return price is _nominal
