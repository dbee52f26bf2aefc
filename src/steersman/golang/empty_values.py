"""Empty maps and lists that a client sent, where an absent one would not be written.

Go distinguishes an empty map from an absent one while an object is in memory: some rules compare them, and messages
quote them. Once written and stored they are the same. During a request such values are marked by their type; they are
put back before the rules of a kind see an object, and removed before it is stored or sent.
"""

from typing import Any

from steersman.golang.equality import json_equal
from steersman.json_types import JsonObject


class GivenMap(JsonObject):
    """An empty map that a client gave."""


class GivenList(list[Any]):
    """An empty list that a client gave."""


class ShownList(list[Any]):
    """An empty list that a client gave, where even none is written: as null, once it is stored."""


_MARKS = (GivenMap, GivenList, ShownList)


def _is_mark(value: Any) -> bool:
    return not value and value.__class__ in _MARKS


def without_empties(value: Any, *, keeps_lists: bool = False) -> Any:
    """Return a document as it is stored, without empty values that were sent; the same document if it has none.

    ``keeps_lists`` is for documents that are shown, or owned, without having been stored: required lists stay empty
    lists.
    """
    if value.__class__ is dict:
        parts = {
            key: without_empties(part, keeps_lists=keeps_lists)
            for key, part in value.items()
            if not _is_mark(part) or part.__class__ is ShownList
        }
        is_same = len(parts) == len(value) and all(part is value[key] for key, part in parts.items())
        return value if is_same else parts
    if value.__class__ is list:
        items = [without_empties(item, keeps_lists=keeps_lists) for item in value]
        return value if all(item is before for item, before in zip(items, value, strict=True)) else items
    if value.__class__ is ShownList and not value:
        return [] if keeps_lists else None
    return value


def put_back(obj: Any, given: Any) -> None:
    """Put empty values that were sent back into an object, where their parent still exists and lacks them."""
    if obj.__class__ is dict and given.__class__ is dict:
        for key, part in given.items():
            if _is_mark(part):
                if not obj.get(key):
                    obj[key] = part
            elif key in obj:
                put_back(obj[key], part)
    elif obj.__class__ is list and given.__class__ is list and len(obj) == len(given):
        for item, before in zip(obj, given, strict=True):
            put_back(item, before)


def same_content(left: Any, right: Any) -> bool:
    """Return whether two values are equal once written, when empty values that were sent count as absent."""
    if json_equal(left, right):
        return True
    left, right = (None if _is_mark(value) else without_empties(value) for value in (left, right))
    return json_equal(left, right)
