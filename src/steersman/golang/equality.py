"""When two JSON documents are the same: the one answer that patches, ownership tracking and no-op detection share.

Python says ``1 == True``; Kubernetes does not. ``1`` and ``1.0`` are one number, as they are in Go once decoded.
"""

from typing import Any


def json_equal(left: Any, right: Any) -> bool:
    """Tell whether two JSON values are the same: numbers by value, everything else by type and value."""
    # The built-in comparison never says "different" of what is the same, and it runs in C.
    return left is right or (bool(left == right) and _no_bool_for_number(left, right))


def _no_bool_for_number(left: Any, right: Any) -> bool:
    """Tell whether two values that Python finds equal have booleans at the same places."""
    kind = left.__class__
    if kind is dict:
        return all(value is right[key] or _no_bool_for_number(value, right[key]) for key, value in left.items())
    if kind is list:
        return all(map(_no_bool_for_number, left, right))
    return kind is right.__class__ or (kind is not bool and right.__class__ is not bool)


def json_identical(left: Any, right: Any) -> bool:
    """Tell whether two JSON values would be written the same: ``1`` and ``1.0`` differ here."""
    if left.__class__ is not right.__class__:
        return False
    if left.__class__ is dict:
        return left.keys() == right.keys() and all(json_identical(value, right[key]) for key, value in left.items())
    if left.__class__ is list:
        return len(left) == len(right) and all(map(json_identical, left, right))
    return bool(left == right)
