"""Operators, ``size``, ``in``, indexing, and the string tests of the language itself."""

import math
import operator
from collections.abc import Callable
from typing import Any

from steersman.cel.checking.overloads import Overload, function, member
from steersman.cel.errors import EvaluationError, NoSuchOverload
from steersman.cel.library.regex import compiled
from steersman.cel.types import (
    BOOL,
    BYTES,
    DOUBLE,
    DURATION,
    INT,
    STRING,
    TIMESTAMP,
    UINT,
    CelType,
    list_of,
    map_of,
    optional_of,
    param,
)
from steersman.cel.values.comparison import compare, contains, equals
from steersman.cel.values.shapes import LIST_CLASSES, MAP_CLASSES, SchemaList, find, keys_of
from steersman.cel.values.times import check_duration, check_timestamp
from steersman.cel.values.values import (
    KEY_CLASSES,
    NONE,
    Absent,
    CelMap,
    Duration,
    Present,
    Timestamp,
    Uint,
    check_int,
    check_uint,
    display,
)
from steersman.json_types import ABSENT

A = param("A")
B = param("B")
LIST_A = list_of(A)
MAP_AB = map_of(A, B)


def add_ints(left: int, right: int) -> int:
    """Add; raises when the sum does not fit."""
    return check_int(left + right)


def subtract_ints(left: int, right: int) -> int:
    """Return the difference; raises if it does not fit."""
    return check_int(left - right)


def multiply_ints(left: int, right: int) -> int:
    """Return the product; raises if it does not fit."""
    return check_int(left * right)


def divide_ints(left: int, right: int) -> int:
    """Return the quotient, rounded towards zero."""
    if right == 0:
        raise EvaluationError("division by zero")
    quotient = abs(left) // abs(right)
    return check_int(quotient if (left < 0) is (right < 0) else -quotient)


def remainder_ints(left: int, right: int) -> int:
    """Return what division leaves; it has the sign of the dividend."""
    if right == 0:
        raise EvaluationError("modulus by zero")
    if right == -1:
        check_int(-left)
    rest = abs(left) % abs(right)
    return -rest if left < 0 else rest


def _divide_uints(left: int, right: int) -> Uint:
    if right == 0:
        raise EvaluationError("division by zero")
    return Uint(left // right)


def _remainder_uints(left: int, right: int) -> Uint:
    if right == 0:
        raise EvaluationError("modulus by zero")
    return Uint(left % right)


def divide_doubles(left: float, right: float) -> float:
    """Return the quotient; division by zero is an infinity, or NaN."""
    if right:
        return left / right
    if math.isnan(left) or left == 0:
        return math.nan
    return math.copysign(math.inf, left) * math.copysign(1.0, right)


def negate_int(value: int) -> int:
    """Return the negated integer; raises for the smallest one."""
    return check_int(-value)


def concatenate(left: Any, right: Any) -> object:
    """Return two lists concatenated; a list of type set or map keeps its meaning when it is on the left."""
    if right.__class__ not in LIST_CLASSES:
        raise NoSuchOverload
    return left.plus(right) if isinstance(left, SchemaList) else [*left, *right]


def size(value: Any) -> int:
    """Return the number of characters, bytes, elements or entries."""
    return len(value)


def index(container: object, key: object) -> object:
    """Return the element at a place or the value under a key."""
    if container.__class__ in LIST_CLASSES:
        return _element(container, key)
    if container.__class__ in MAP_CLASSES:
        found = find(container, key)
        if found is ABSENT:
            raise EvaluationError(f"no such key: {display(key)}")
        return found
    if isinstance(container, Present | Absent):
        return optional_index(container, key)
    if key.__class__ in KEY_CLASSES:
        raise EvaluationError(f"no such key: {display(key)}")
    raise NoSuchOverload


def _place(key: object) -> int:
    if key.__class__ is int or key.__class__ is Uint:
        return int(key)
    if key.__class__ is float and key.is_integer():
        return int(key)
    raise EvaluationError(f"unsupported index value {display(key)} in list")


def _element(container: Any, key: object) -> object:
    place = _place(key)
    if not 0 <= place < len(container):
        raise EvaluationError(f"index out of bounds: {place}")
    return container[place]


def optional_index(container: Any, key: object) -> Present | Absent:
    """Return the element or value if there is one; also of an optional container."""
    if isinstance(container, Absent):
        return NONE
    if isinstance(container, Present):
        return optional_index(container.value, key)
    if container.__class__ in LIST_CLASSES:
        place = _place(key)
        return Present(container[place]) if 0 <= place < len(container) else NONE
    if container.__class__ in MAP_CLASSES:
        found = find(container, key)
        return NONE if found is ABSENT else Present(found)
    raise NoSuchOverload


def map_insert(target: Any, key: object, value: object) -> CelMap:
    """Return a map with one key more, which must be new."""
    if isinstance(target, CelMap):
        return target.with_entry(key, value)
    return CelMap(target.items()).with_entry(key, value)


def map_insert_all(target: Any, more: object) -> CelMap:
    """Return a map with the keys of another one added, which must be new."""
    for key in keys_of(more):
        target = map_insert(target, key, find(more, key))
    return target if isinstance(target, CelMap) else CelMap(target.items())


def _matches(text: str, pattern: str) -> bool:
    return compiled(pattern).search(text) is not None


def _identity(value: object) -> object:
    return value


def _comparison(name: str, word: str, holds: Callable[[int, int], bool]) -> list[Overload]:
    def run(left: object, right: object) -> bool:
        return holds(compare(left, right), 0)

    pairs: list[tuple[str, CelType, CelType]] = [
        ("bool", BOOL, BOOL),
        ("int64", INT, INT),
        ("int64_double", INT, DOUBLE),
        ("int64_uint64", INT, UINT),
        ("uint64", UINT, UINT),
        ("uint64_double", UINT, DOUBLE),
        ("uint64_int64", UINT, INT),
        ("double", DOUBLE, DOUBLE),
        ("double_int64", DOUBLE, INT),
        ("double_uint64", DOUBLE, UINT),
        ("string", STRING, STRING),
        ("bytes", BYTES, BYTES),
        ("timestamp", TIMESTAMP, TIMESTAMP),
        ("duration", DURATION, DURATION),
    ]
    return [function(name, f"{word}_{suffix}", (left, right), BOOL, run) for suffix, left, right in pairs]


def _arithmetic() -> list[Overload]:
    def binary(name: str, suffix: str, kind: CelType, run: Callable[[Any, Any], Any]) -> Overload:
        return function(name, suffix, (kind, kind), kind, run)

    return [
        binary("_+_", "add_bytes", BYTES, operator.add),
        binary("_+_", "add_double", DOUBLE, operator.add),
        binary("_+_", "add_duration_duration", DURATION, lambda a, b: check_duration(a.nanos + b.nanos)),
        function("_+_", "add_duration_timestamp", (DURATION, TIMESTAMP), TIMESTAMP, lambda d, t: _later(t, d)),
        function("_+_", "add_timestamp_duration", (TIMESTAMP, DURATION), TIMESTAMP, _later),
        binary("_+_", "add_int64", INT, add_ints),
        function("_+_", "add_list", (LIST_A, LIST_A), LIST_A, concatenate),
        binary("_+_", "add_string", STRING, operator.add),
        binary("_+_", "add_uint64", UINT, lambda a, b: check_uint(int(a) + int(b))),
        binary("_-_", "subtract_double", DOUBLE, operator.sub),
        binary("_-_", "subtract_duration_duration", DURATION, lambda a, b: check_duration(a.nanos - b.nanos)),
        binary("_-_", "subtract_int64", INT, subtract_ints),
        function(
            "_-_",
            "subtract_timestamp_duration",
            (TIMESTAMP, DURATION),
            TIMESTAMP,
            lambda t, d: _later(t, Duration(-d.nanos)),
        ),
        function(
            "_-_",
            "subtract_timestamp_timestamp",
            (TIMESTAMP, TIMESTAMP),
            DURATION,
            lambda a, b: check_duration(a.nanos - b.nanos),
        ),
        binary("_-_", "subtract_uint64", UINT, lambda a, b: check_uint(int(a) - int(b))),
        binary("_*_", "multiply_double", DOUBLE, operator.mul),
        binary("_*_", "multiply_int64", INT, multiply_ints),
        binary("_*_", "multiply_uint64", UINT, lambda a, b: check_uint(int(a) * int(b))),
        binary("_/_", "divide_double", DOUBLE, divide_doubles),
        binary("_/_", "divide_int64", INT, divide_ints),
        binary("_/_", "divide_uint64", UINT, _divide_uints),
        binary("_%_", "modulo_int64", INT, remainder_ints),
        binary("_%_", "modulo_uint64", UINT, _remainder_uints),
        function("-_", "negate_double", (DOUBLE,), DOUBLE, operator.neg),
        function("-_", "negate_int64", (INT,), INT, negate_int),
    ]


def _later(moment: Timestamp, span: Duration) -> Timestamp:
    return check_timestamp(moment.nanos + span.nanos, moment.offset)


def _containers() -> list[Overload]:
    sized = (("bytes", BYTES), ("list", LIST_A), ("map", MAP_AB), ("string", STRING))
    return [
        function("_[_]", "index_list", (LIST_A, INT), A, index),
        function("_[_]", "index_map", (MAP_AB, A), B, index),
        function("_[_]", "optional_list_index_int", (optional_of(LIST_A), INT), optional_of(A), index),
        function("_[_]", "optional_map_index_value", (optional_of(MAP_AB), A), optional_of(B), index),
        function("@in", "in_list", (A, LIST_A), BOOL, lambda value, container: contains(container, value)),
        function("@in", "in_map", (A, MAP_AB), BOOL, lambda value, container: contains(container, value)),
        *(function("size", f"size_{name}", (kind,), INT, size) for name, kind in sized),
        *(member("size", f"{name}_size", (kind,), INT, size) for name, kind in sized),
        function("cel.@mapInsert", "cel_@mapInsert_map_key_value", (MAP_AB, A, B), MAP_AB, map_insert),
        function("cel.@mapInsert", "cel_@mapInsert_map_map", (MAP_AB, MAP_AB), MAP_AB, map_insert_all),
    ]


def _logic() -> list[Overload]:
    return [
        # The evaluation handles these itself, because they do not always need all their arguments.
        function("_?_:_", "conditional", (BOOL, A, A), A, _identity),
        function("_&&_", "logical_and", (BOOL, BOOL), BOOL, _identity),
        function("_||_", "logical_or", (BOOL, BOOL), BOOL, _identity),
        function("@not_strictly_false", "not_strictly_false", (BOOL,), BOOL, _identity),
        function("!_", "logical_not", (BOOL,), BOOL, operator.not_),
        function("_==_", "equals", (A, A), BOOL, equals),
        function("_!=_", "not_equals", (A, A), BOOL, lambda left, right: not equals(left, right)),
    ]


def _texts() -> list[Overload]:
    return [
        member("contains", "contains_string", (STRING, STRING), BOOL, lambda text, part: part in text),
        member("endsWith", "ends_with_string", (STRING, STRING), BOOL, str.endswith),
        member("startsWith", "starts_with_string", (STRING, STRING), BOOL, str.startswith),
        function("matches", "matches", (STRING, STRING), BOOL, _matches),
        member("matches", "matches_string", (STRING, STRING), BOOL, _matches),
    ]


OVERLOADS = [
    *_logic(),
    *_arithmetic(),
    *_comparison("_<_", "less", operator.lt),
    *_comparison("_<=_", "less_equals", operator.le),
    *_comparison("_>_", "greater", operator.gt),
    *_comparison("_>=_", "greater_equals", operator.ge),
    *_containers(),
    *_texts(),
]
