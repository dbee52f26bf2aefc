"""Lists: order, sums, places, slices."""

from collections.abc import Callable
from functools import cmp_to_key
from typing import Any

from steersman.cel.checking.overloads import Overload, function, member
from steersman.cel.cost.factors import PER_CALL_LIMIT
from steersman.cel.errors import CostExceeded, EvaluationError, NoSuchOverload
from steersman.cel.library.core import add_ints
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
    list_of,
    param,
)
from steersman.cel.values.comparison import compare, equals
from steersman.cel.values.shapes import LIST_CLASSES
from steersman.cel.values.times import check_duration
from steersman.cel.values.values import Duration, Uint, check_uint, type_name

_T = param("T")
_LIST = list_of(_T)
_COMPARABLE: list[CelType] = [INT, UINT, DOUBLE, BOOL, DURATION, TIMESTAMP, STRING, BYTES]


def _is_sorted(values: Any) -> bool:
    items = list(values)
    return all(compare(items[place], items[place + 1]) <= 0 for place in range(len(items) - 1))


def _least(values: object) -> object:
    return _extreme("min", values, 1)


def _most(values: object) -> object:
    return _extreme("max", values, -1)


def _extreme(name: str, values: Any, worse: int) -> object:
    items = iter(values)
    try:
        best = next(items)
    except StopIteration:
        raise EvaluationError(f"{name} called on empty list") from None
    for item in items:
        if compare(best, item) * worse > 0:
            best = item
    return best


def _sum(zero: object, add: Callable[[Any, Any], Any]) -> Callable[[Any], Any]:
    def run(values: Any) -> object:
        total = zero
        for value in values:
            total = add(total, value)
        return total

    return run


#: What can be summed: the type, its zero, and how two are added.
_SUMMABLE: list[tuple[CelType, Any, Callable[[Any, Any], Any]]] = [
    (INT, 0, add_ints),
    (UINT, Uint(0), lambda a, b: check_uint(int(a) + int(b))),
    (DOUBLE, 0.0, lambda a, b: a + b),
    (DURATION, Duration(0), lambda a, b: check_duration(a.nanos + b.nanos)),
]


def _index_of(values: Any, wanted: object) -> int:
    return next((place for place, value in enumerate(values) if equals(value, wanted)), -1)


def _last_index_of(values: Any, wanted: object) -> int:
    items = list(values)
    return next((place for place in range(len(items) - 1, -1, -1) if equals(items[place], wanted)), -1)


def _slice(values: Any, start: int, end: int) -> list[Any]:
    call = f"cannot slice({start}, {end}), "
    if start < 0 or end < 0:
        raise EvaluationError(f"{call}negative indexes not supported")
    if start > end:
        raise EvaluationError(f"{call}start index must be less than or equal to end index")
    if len(values) < end:
        raise EvaluationError(f"{call}list is length {len(values)}")
    return list(values)[start:end]


def _flatten(values: Any, depth: int = 1) -> list[Any]:
    if values.__class__ not in LIST_CLASSES:
        raise NoSuchOverload(f"{type_name(values)}.flatten()")
    if depth < 0:
        raise EvaluationError("level must be non-negative")
    items = list(values)
    while depth > 0 and any(item.__class__ in LIST_CLASSES for item in items):
        items = [inner for item in items for inner in (item if item.__class__ in LIST_CLASSES else (item,))]
        depth -= 1
    return items


def _sort(values: object) -> object:
    return _sort_by(values, values)


def _sort_by(values: Any, keys: Any) -> object:
    items, weights = list(values), list(keys)
    if not items:
        return values
    first = type_name(weights[0])
    if any(type_name(weight) != first for weight in weights):
        raise EvaluationError("list elements must have the same type")
    by_weight = cmp_to_key(compare)
    order = sorted(zip(weights, items, strict=True), key=lambda pair: by_weight(pair[0]))
    return [item for _, item in order]


def _range(length: int) -> list[int]:
    # The cost is its length; a list that is too long is not built first.
    if length > PER_CALL_LIMIT:
        raise CostExceeded
    return list(range(length))


def _reverse(values: Any) -> list[Any]:
    return list(values)[::-1]


#: Kinds whose equal values are equal for Python as well, so that a dict can find them.
_HASHABLE = frozenset({int, str, bytes, bool, Uint})


def _distinct(values: Any) -> list[Any]:
    items = list(values)
    kinds = {item.__class__ for item in items}
    if len(kinds) <= 1 and kinds <= _HASHABLE:
        return list(dict.fromkeys(items))
    found: list[Any] = []
    for item in items:
        if not any(equals(item, other) for other in found):
            found.append(item)
    return found


def _templated(build: Callable[[CelType], Overload]) -> list[Overload]:
    return [build(kind) for kind in _COMPARABLE]


OVERLOADS = [
    *_templated(lambda kind: member("isSorted", f"list_{kind}_is_sorted_bool", (list_of(kind),), BOOL, _is_sorted)),
    *(
        member("sum", f"list_{kind}_sum_{kind}", (list_of(kind),), kind, _sum(zero, add))
        for kind, zero, add in _SUMMABLE
    ),
    *_templated(lambda kind: member("max", f"list_{kind}_max_{kind}", (list_of(kind),), kind, _most)),
    *_templated(lambda kind: member("min", f"list_{kind}_min_{kind}", (list_of(kind),), kind, _least)),
    member("indexOf", "list_a_index_of_int", (_LIST, _T), INT, _index_of),
    member("lastIndexOf", "list_a_last_index_of_int", (_LIST, _T), INT, _last_index_of),
    member("slice", "list_slice", (_LIST, INT, INT), _LIST, _slice),
    member("flatten", "list_flatten", (list_of(_LIST),), _LIST, _flatten),
    member("flatten", "list_flatten_int", (list_of(DYN), INT), list_of(DYN), _flatten),
    *_templated(lambda kind: member("sort", f"list_{kind}_sort", (list_of(kind),), list_of(kind), _sort)),
    *_templated(
        lambda kind: member(
            "@sortByAssociatedKeys", f"list_{kind}_sortByAssociatedKeys", (_LIST, list_of(kind)), _LIST, _sort_by
        )
    ),
    function("lists.range", "lists_range", (INT,), list_of(INT), _range),
    member("reverse", "list_reverse", (_LIST,), _LIST, _reverse),
    member("distinct", "list_distinct", (_LIST,), _LIST, _distinct),
]
