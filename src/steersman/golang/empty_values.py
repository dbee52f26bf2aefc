"""Empty maps and lists that were given, where none would be written.

Go tells an empty map from none as long as an object is in memory: some rules compare them, and refusals quote them.
What is written and stored does not tell them apart. While a request is judged such values are marked by their type;
they are put back before the rules of a kind see an object, and gone before anybody else does.
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
    """Give a document as it is stored, without what was given empty; the same one if there is nothing of the kind.

    ``keeps_lists`` is for what is shown, or owned, without having been stored: a list that is always written is empty.
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
    """Give an object again what was given empty, at the places that are still there and still have nothing."""
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
    """Tell whether two values are the same once they are written: what was given empty counts as nothing."""
    if json_equal(left, right):
        return True
    left, right = (None if _is_mark(value) else without_empties(value) for value in (left, right))
    return json_equal(left, right)
