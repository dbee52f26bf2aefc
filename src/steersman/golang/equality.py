"""Equality of JSON documents, for patches, ownership tracking and no-op detection.

In Python ``1 == True`` holds; in Kubernetes it does not. ``1`` and ``1.0`` are one number, as in Go after decoding.
"""

from typing import Any


def json_equal(left: Any, right: Any) -> bool:
    """Return whether two JSON values are the same: numbers by value, everything else by type and value."""
    # The built-in comparison is never wrong about a difference, and it runs in C.
    return left is right or (bool(left == right) and _no_bool_for_number(left, right))


def _no_bool_for_number(left: Any, right: Any) -> bool:
    """Return whether two values that Python finds equal have booleans at the same places."""
    kind = left.__class__
    if kind is dict:
        return all(value is right[key] or _no_bool_for_number(value, right[key]) for key, value in left.items())
    if kind is list:
        return all(map(_no_bool_for_number, left, right))
    return kind is right.__class__ or (kind is not bool and right.__class__ is not bool)


def json_identical(left: Any, right: Any) -> bool:
    """Return whether two JSON values would be written the same: ``1`` and ``1.0`` differ here."""
    if left.__class__ is not right.__class__:
        return False
    if left.__class__ is dict:
        return left.keys() == right.keys() and all(json_identical(value, right[key]) for key, value in left.items())
    if left.__class__ is list:
        return len(left) == len(right) and all(map(json_identical, left, right))
    return bool(left == right)
