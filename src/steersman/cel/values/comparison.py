"""Equality and order of values.

Numbers compare by amount across int, uint and double; other values of different types are unequal, and have no order.
"""

import math
from collections.abc import Callable
from typing import Any

from steersman.cel.errors import EvaluationError, NoSuchOverload
from steersman.cel.values.shapes import LIST_CLASSES, MAP_CLASSES, SchemaList, SchemaMap, find
from steersman.cel.values.values import Absent, Duration, ObjectValue, Opaque, Present, Timestamp, Uint
from steersman.json_types import ABSENT

_SIMPLE = frozenset({str, bool, bytes, int, float, Uint, Timestamp, Duration})
_NUMBERS = frozenset({int, float, Uint})


def equals(left: Any, right: Any) -> bool:
    """Return whether two values are equal; raises where values of Kubernetes cannot be compared."""
    kind, other = left.__class__, right.__class__
    if kind is other and kind in _SIMPLE:
        return bool(left == right)
    if left is None or right is None:
        return left is right
    if kind in _NUMBERS:
        return other in _NUMBERS and _numbers_equal(left, right)
    compare = _EQUALS.get(kind)
    if compare is not None:
        return compare(left, right)
    return _others_equal(left, right)


def _others_equal(left: object, right: object) -> bool:
    if isinstance(left, Opaque):
        return left.equals(right)
    if isinstance(left, Present):
        return isinstance(right, Present) and equals(left.value, right.value)
    if isinstance(left, Absent):
        return isinstance(right, Absent)
    return bool(left.__class__ is right.__class__ and left == right)


def _numbers_equal(left: float, right: float) -> bool:
    if left.__class__ is float or right.__class__ is float:
        return float(left) == float(right)
    return int(left) == int(right)


def _lists_equal(left: Any, right: Any) -> bool:
    if right.__class__ not in LIST_CLASSES or len(left) != len(right):
        return False
    return all(map(equals, left, right))


def _schema_lists_equal(left: SchemaList, right: Any) -> bool:
    if right.__class__ not in LIST_CLASSES:
        raise NoSuchOverload
    if len(left) != len(right):
        return False
    return left.matches(right, equals)


def _maps_equal(left: Any, right: Any) -> bool:
    if right.__class__ not in MAP_CLASSES or len(left) != len(right):
        return False
    for key, value in left.items():
        other = find(right, key)
        if other is ABSENT or not equals(value, other):
            return False
    return True


def _schema_maps_equal(left: SchemaMap, right: Any) -> bool:
    if right.__class__ not in MAP_CLASSES:
        raise NoSuchOverload
    if len(left) != len(right):
        return False
    return left.matches(right, equals)


def _objects_equal(left: ObjectValue, right: Any) -> bool:
    return right.__class__ is ObjectValue and left.type_name == right.type_name and _maps_equal(left, right)


_EQUALS: dict[type, Callable[[Any, Any], bool]] = {
    list: _lists_equal,
    **dict.fromkeys(MAP_CLASSES, _maps_equal),
    **{kind: _schema_lists_equal for kind in LIST_CLASSES if kind is not list},
    SchemaMap: _schema_maps_equal,
    ObjectValue: _objects_equal,
}


def contains(container: object, value: object) -> bool:
    """Return whether a list has an equal element, or a map has the key."""
    if container.__class__ in LIST_CLASSES:
        return _list_contains(container, value)
    if container.__class__ in MAP_CLASSES:
        return find(container, value) is not ABSENT
    raise NoSuchOverload


def _list_contains(container: Any, value: object) -> bool:
    refused = False
    for element in container:
        try:
            if equals(element, value):
                return True
        except NoSuchOverload:
            refused = True
    if refused:
        raise NoSuchOverload
    return False


def compare(left: Any, right: Any) -> int:
    """Return a negative number, zero or a positive number; raises where there is no order."""
    kind, other = left.__class__, right.__class__
    if kind in _NUMBERS and other in _NUMBERS:
        return _compare_numbers(left, right)
    if kind is other and kind in _SIMPLE:
        return -1 if left < right else int(left > right)
    raise NoSuchOverload


def _compare_numbers(left: float, right: float) -> int:
    if left.__class__ is float or right.__class__ is float:
        if math.isnan(left) or math.isnan(right):
            raise EvaluationError("NaN values cannot be ordered")
        left, right = _comparable(left), _comparable(right)
    return -1 if left < right else int(left > right)


def _comparable(number: float) -> float:
    """Return the double that an integer is compared as."""
    return number if number.__class__ is float else float(number)
