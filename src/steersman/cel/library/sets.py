"""Lists taken as sets: ``sets.contains``, ``sets.equivalent``, ``sets.intersects``."""

from typing import Any

from steersman.cel.checking.overloads import function
from steersman.cel.types import BOOL, list_of, param
from steersman.cel.values.comparison import contains

_T = list_of(param("T"))


def _contains(whole: object, part: Any) -> bool:
    return all(contains(whole, element) for element in part)


def _equivalent(left: object, right: object) -> bool:
    return _contains(left, right) and _contains(right, left)


def _intersects(left: Any, right: object) -> bool:
    return any(contains(right, element) for element in left)


OVERLOADS = [
    function("sets.contains", "list_sets_contains_list", (_T, _T), BOOL, _contains),
    function("sets.equivalent", "list_sets_equivalent_list", (_T, _T), BOOL, _equivalent),
    function("sets.intersects", "list_sets_intersects_list", (_T, _T), BOOL, _intersects),
]
