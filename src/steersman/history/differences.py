"""Which fields two documents differ in, as people name them: ``spec.containers[main].image  app:1 → app:2``.

A difference is for reading, not for patching: elements of lists are matched by ``name`` (or ``type``, for conditions)
where every element has one, values are cut short, and there is a limit to the number of fields. Values of fields that
are named like a password or a token are not shown.
"""

import re
from collections.abc import Mapping
from typing import Any, Final

import msgspec

from steersman.history.records import FieldChange
from steersman.json_types import JsonObject

#: Fields that are named; the number of the others is told.
LIMIT: Final = 8
#: Fields that are counted; beyond that two documents are simply very different.
_COUNTED: Final = 100
#: Characters of a value.
_VALUE: Final = 60
#: Fields of metadata that change with every write, whatever it was.
_ALWAYS: Final = frozenset({"managedFields", "resourceVersion", "generation"})
#: By which field the elements of a list are told apart, in this order.
_ELEMENT_NAMES: Final = ("name", "type", "key")

#: Names of fields whose values are not shown.
_CONFIDENTIAL: Final = re.compile(
    r"(?i)(passw(or)?d|passphrase|token|credentials?|(api|private|secret|access)[-_]?key)\b\]?$"
)
_MASK: Final = "<secret>"

_encode = msgspec.json.encode


def field_changes(
    before: Mapping[str, Any], after: Mapping[str, Any], *, limit: int = LIMIT
) -> tuple[tuple[FieldChange, ...], int]:
    """Return the fields in which two documents differ, at most ``limit``, and how many more there are."""
    found = _Found(max(limit, _COUNTED))
    _compare("", before, after, found)
    return tuple(found[:limit]), max(len(found) - limit, 0)


class _Found(list[FieldChange]):
    """The differences found so far, and how many are counted."""

    __slots__ = ("counted",)

    def __init__(self, counted: int) -> None:
        super().__init__()
        self.counted = counted


def without_bookkeeping(document: Mapping[str, Any]) -> JsonObject:
    """Return an object without the fields that change with every write."""
    metadata = document.get("metadata")
    if not isinstance(metadata, Mapping):
        return dict(document)
    return {**document, "metadata": {key: value for key, value in metadata.items() if key not in _ALWAYS}}


def value_text(value: Any) -> str:
    """Return a value on one line, cut short; empty for an absent one."""
    if value is None:
        return ""
    text = " ".join(value.split()) if value.__class__ is str and value else _encode(value).decode()
    return text if len(text) <= _VALUE else f"{text[: _VALUE - 1]}…"


# Documents are what a JSON decoder returns, so that exact types tell them apart; this runs for every write.


def _compare(path: str, before: Any, after: Any, found: _Found) -> None:
    """Add the differences of two values to ``found``, until there are more than anybody counts."""
    if before == after or len(found) > found.counted:
        return
    if after.__class__ is dict and (before.__class__ is dict or (before is None and after)):
        _compare_members(path, before or {}, after, found)
    elif before.__class__ is list and after.__class__ is list:
        _compare_elements(path, before, after, found)
    elif _CONFIDENTIAL.search(path):
        found.append(FieldChange(path, _MASK if before is not None else "", _MASK if after is not None else ""))
    else:
        found.append(FieldChange(path, value_text(before), value_text(after)))


def _compare_members(path: str, before: JsonObject, after: JsonObject, found: _Found) -> None:
    for key, value in before.items():
        other = after.get(key)
        if value != other:
            _compare(_member(path, key), value, other, found)
    for key, value in after.items():
        if key not in before:
            _compare(_member(path, key), None, value, found)


def _compare_elements(path: str, before: list[Any], after: list[Any], found: _Found) -> None:
    for name in _ELEMENT_NAMES:
        old, new = _by_name(before, name), _by_name(after, name)
        if old is not None and new is not None:
            for key in [*old, *(key for key in new if key not in old)]:
                _compare(f"{path}[{key}]", old.get(key), new.get(key), found)
            return
    if len(before) == len(after):
        for number, (one, other) in enumerate(zip(before, after, strict=True)):
            _compare(f"{path}[{number}]", one, other, found)
        return
    found.append(FieldChange(path, value_text(before), value_text(after)))


def _by_name(elements: list[Any], name: str) -> JsonObject | None:
    """Return the elements by a field that all of them have with different texts; ``None`` if they have not."""
    found: JsonObject = {}
    for element in elements:
        value = element.get(name) if element.__class__ is dict else None
        if not isinstance(value, str) or value in found:
            return None
        found[value] = element
    return found


def _member(path: str, key: str) -> str:
    if "." in key or "/" in key:
        return f"{path}[{key}]"
    return f"{path}.{key}" if path else key
