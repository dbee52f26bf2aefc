"""Optional values: ``optional.of``, ``value()``, ``orValue()``, and the first and last element of a list."""

from typing import Any

from steersman.cel.checking.overloads import function, member
from steersman.cel.errors import EvaluationError
from steersman.cel.library.core import optional_index
from steersman.cel.types import BOOL, DYN, INT, STRING, list_of, map_of, optional_of, param
from steersman.cel.values.shapes import LIST_CLASSES, MAP_CLASSES
from steersman.cel.values.times import FIRST_MOMENT
from steersman.cel.values.values import NONE, Absent, Duration, Optional, Present, Timestamp

_V = param("V")
_K = param("K")
_OPTIONAL = optional_of(_V)
_LIST = list_of(_V)
_MAP = map_of(_K, _V)


def value_of(optional: Optional) -> object:
    """Return the value inside; raises if there is none."""
    if isinstance(optional, Absent):
        raise EvaluationError("optional.none() dereference")
    return optional.value


_COUNTED = LIST_CLASSES | MAP_CLASSES


def _of_non_zero(value: Any) -> Optional:
    if value.__class__ in _COUNTED:
        return Present(value) if len(value) else NONE
    if isinstance(value, Duration):
        return Present(value) if value.nanos else NONE
    if isinstance(value, Timestamp):
        return Present(value) if value.nanos != FIRST_MOMENT else NONE
    if isinstance(value, Present):
        return Present(value)
    return Present(value) if value and not isinstance(value, Absent) else NONE


def _first(values: Any) -> Optional:
    return Present(values[0]) if len(values) else NONE


def _last(values: Any) -> Optional:
    return Present(values[len(values) - 1]) if len(values) else NONE


def _unwrap(values: Any) -> list[Any]:
    found: list[Any] = []
    for value in values:
        if not isinstance(value, Present | Absent):
            raise EvaluationError(f"value {value} is not optional")
        if isinstance(value, Present):
            found.append(value.value)
    return found


def _or(first: Optional, second: Optional) -> Optional:
    return first if isinstance(first, Present) else second


def _or_value(first: Optional, second: object) -> object:
    return first.value if isinstance(first, Present) else second


OVERLOADS = [
    function("optional.of", "optional_of", (_V,), _OPTIONAL, Present),
    function("optional.ofNonZeroValue", "optional_ofNonZeroValue", (_V,), _OPTIONAL, _of_non_zero),
    function("optional.none", "optional_none", (), _OPTIONAL, lambda: NONE),
    member("value", "optional_value", (_OPTIONAL,), _V, value_of),
    member("hasValue", "optional_hasValue", (_OPTIONAL,), BOOL, lambda optional: isinstance(optional, Present)),
    # The evaluation asks for the second argument of these two only when it is needed.
    member("or", "optional_or_optional", (_OPTIONAL, _OPTIONAL), _OPTIONAL, _or),
    member("orValue", "optional_orValue_value", (_OPTIONAL, _V), _V, _or_value),
    function("_?._", "select_optional_field", (DYN, STRING), _OPTIONAL, optional_index),
    function("_[?_]", "list_optindex_optional_int", (_LIST, INT), _OPTIONAL, optional_index),
    function("_[?_]", "optional_list_optindex_optional_int", (optional_of(_LIST), INT), _OPTIONAL, optional_index),
    function("_[?_]", "map_optindex_optional_value", (_MAP, _K), _OPTIONAL, optional_index),
    function("_[?_]", "optional_map_optindex_optional_value", (optional_of(_MAP), _K), _OPTIONAL, optional_index),
    member("first", "list_first", (_LIST,), _OPTIONAL, _first),
    member("last", "list_last", (_LIST,), _OPTIONAL, _last),
    function("optional.unwrap", "optional_unwrap", (list_of(_OPTIONAL),), _LIST, _unwrap),
    member("unwrapOpt", "optional_unwrapOpt", (list_of(_OPTIONAL),), _LIST, _unwrap),
]
