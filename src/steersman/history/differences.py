"""Which fields two documents differ in, as people name them: ``spec.containers[main].image  app:1 → app:2``.

A difference is for reading, not for patching: elements of lists are matched by ``name`` (or ``type``, for conditions)
where every element has one, paths and values are cut short, and there is a limit to the number of fields and to the
depth. Values of fields that are named like a password or a token, or lie below one, are not shown, wherever they occur.
"""

import re
from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any, Final

import msgspec

from steersman.history.records import FieldChange
from steersman.history.redaction import MASK, without_credentials
from steersman.json_types import JsonObject

#: Number of differences that are listed; the others are only counted.
LIMIT: Final = 8
#: Number of differences that are counted; the comparison stops there.
_COUNTED: Final = 100
#: Characters of a path and of a value.
_PATH, _VALUE = 120, 60
#: Levels that are compared; below, a difference is shown as one value.
_DEEPEST: Final = 32
#: Fields of metadata that change with every write, whatever it was.
_ALWAYS: Final = frozenset({"managedFields", "resourceVersion", "generation"})
#: By which field the elements of a list are told apart, in this order.
_ELEMENT_NAMES: Final = ("name", "type", "key")
#: The value of an element whose name says what it is, such as a variable of a container.
_NAMED_VALUE: Final = "value"

#: Names of fields, list elements and variables whose values are not shown.
_CONFIDENTIAL: Final = re.compile(
    r"""(?ix) (?: passw(?:or)?d | passphrase | (?:^|[_-]) (?:pass|pwd|secret) | token | credential
    | client[_-]?secret | (?:api|private|secret|access|signing|encryption)[_-]?key ) s? $"""
)

#: The annotation in which `kubectl apply` keeps the whole manifest.
_LAST_APPLIED: Final = "kubectl.kubernetes.io/last-applied-configuration"

#: Replaces the contents of Secrets in a text.
Mask = Callable[[str], str]

_encode = msgspec.json.encode


@lru_cache(maxsize=4096)
def is_confidential_name(name: str) -> bool:
    """Return whether a field of that name holds a password, a token or a key."""
    return _CONFIDENTIAL.search(name) is not None


def field_changes(
    before: Mapping[str, Any], after: Mapping[str, Any], mask: Mask = str, *, limit: int = LIMIT
) -> tuple[tuple[FieldChange, ...], int]:
    """Return the fields in which two documents differ, at most ``limit``, and how many more there are."""
    comparison = _Comparison(mask, max(limit, _COUNTED))
    comparison.compare("", before, after, 0)
    return tuple(comparison.found[:limit]), max(len(comparison.found) - limit, 0)


def without_bookkeeping(document: Mapping[str, Any]) -> JsonObject:
    """Return an object without the fields that change with every write."""
    metadata = document.get("metadata")
    if not isinstance(metadata, Mapping):
        return dict(document)
    return {**document, "metadata": {key: value for key, value in metadata.items() if key not in _ALWAYS}}


def object_changes(
    before: bytes, after: bytes, mask: Mask = str, *, without: str = ""
) -> tuple[tuple[FieldChange, ...], int]:
    """Return the fields in which two states of an object differ, except those that change with every write.

    ``without`` names a part that is not compared. Only the parts whose bytes differ are decoded. Raises
    ``msgspec.MsgspecError`` if one is not a JSON object.
    """
    old, new = _differing(_parts(before), _parts(after))
    old.pop(without, None)
    new.pop(without, None)
    if "metadata" in old and "metadata" in new:
        fields = (_parts(old.pop("metadata")), _parts(new.pop("metadata")))
        old_fields, new_fields = _differing(*({key: one[key] for key in one if key not in _ALWAYS} for one in fields))
        return field_changes(
            {"metadata": _decoded(old_fields), **_decoded(old)},
            {"metadata": _decoded(new_fields), **_decoded(new)},
            mask,
        )
    return field_changes(_decoded(old), _decoded(new), mask)


_parts = msgspec.json.Decoder(dict[str, msgspec.Raw]).decode
_decode = msgspec.json.Decoder().decode
_Parts = dict[str, msgspec.Raw]


def _differing(old: _Parts, new: _Parts) -> tuple[_Parts, _Parts]:
    """Return the members of two objects whose bytes differ."""
    changed = [key for key in old if old[key] != new.get(key)]
    return {key: old[key] for key in changed}, {
        key: value for key, value in new.items() if key not in old or key in changed
    }


def _decoded(parts: _Parts) -> JsonObject:
    return {key: _decode(value) for key, value in parts.items()}


def value_text(value: Any, mask: Mask = str) -> str:
    """Return a value on one line, masked and cut short; empty for an absent one."""
    if value is None:
        return ""
    if value.__class__ is int:
        return mask(str(value))
    if value.__class__ is str and value:
        return _cut(without_credentials(mask(" ".join(value.split()))), _VALUE)
    if value.__class__ in (dict, list):
        value = _without_confidential(value, _DEEPEST)
    return _cut(without_credentials(mask(_encode(value).decode())), _VALUE)


def without_confidential(document: JsonObject) -> JsonObject:
    """Return a document as `value_text` shows its values, but uncut: without passwords, tokens and credentials."""
    hidden: JsonObject = _without_credentials(_without_confidential(document, _DEEPEST))
    annotations = (hidden.get("metadata") or {}).get("annotations") or {}
    if _LAST_APPLIED in annotations:
        shown = {**annotations, _LAST_APPLIED: _manifest_text(annotations[_LAST_APPLIED])}
        hidden = {**hidden, "metadata": {**hidden["metadata"], "annotations": shown}}
    return hidden


def _manifest_text(text: Any) -> str:
    """Return the manifest in the annotation of `kubectl apply` without what is confidential in it."""
    try:
        manifest = _decode(text)
    except (msgspec.MsgspecError, TypeError):
        return MASK
    return _encode(without_confidential(manifest)).decode() if manifest.__class__ is dict else MASK


def _without_credentials(value: Any) -> Any:
    if value.__class__ is dict:
        return {name: _without_credentials(one) for name, one in value.items()}
    if value.__class__ is list:
        return [_without_credentials(one) for one in value]
    return without_credentials(value) if value.__class__ is str else value


def _cut(text: str, limit: int) -> str:
    return text if len(text) <= limit else f"{text[: limit - 1]}…"


def _without_confidential(value: Any, levels: int) -> Any:
    """Return a value with the values of confidential fields masked, at every level."""
    if value.__class__ is dict:
        if not levels:
            return "…"
        masks_value = any(is_confidential_name(value[name]) for name in _ELEMENT_NAMES if _is_text(value.get(name)))
        return {
            name: _masked(one)
            if is_confidential_name(name) or (masks_value and name == _NAMED_VALUE)
            else _without_confidential(one, levels - 1)
            for name, one in value.items()
        }
    if value.__class__ is list:
        return [_without_confidential(one, levels - 1) for one in value] if levels else "…"
    return value


def _masked(value: Any) -> Any:
    """Return the text of a confidential value: booleans as they are, anything else masked."""
    return value if value is None or value.__class__ is bool else MASK


def _is_equal(one: Any, other: Any) -> bool:
    """Return whether two values are equal; those that are too deep to compare count as different."""
    try:
        return bool(one == other)
    except RecursionError:
        return False


def _is_text(value: Any) -> bool:
    return value.__class__ is str


# Documents are what a JSON decoder returns, so that exact types tell them apart; this runs for every write.


class _Comparison:
    """The differences found so far, and how many are counted."""

    def __init__(self, mask: Mask, counted: int) -> None:
        self.found: list[FieldChange] = []
        self._mask = mask
        self._counted = counted

    def compare(self, path: str, before: Any, after: Any, depth: int) -> None:
        """Add the differences of two values, up to the number that is counted."""
        if len(self.found) > self._counted or _is_equal(before, after):
            return
        if depth < _DEEPEST and after.__class__ is dict and (before.__class__ is dict or (before is None and after)):
            self._members(path, before or {}, after, depth + 1)
        elif depth < _DEEPEST and before.__class__ is list and after.__class__ is list:
            self._elements(path, before, after, depth + 1)
        else:
            self._add(path, before, after)

    def _add(self, path: str, before: Any, after: Any) -> None:
        shown = _cut(self._mask(path), _PATH)
        self.found.append(FieldChange(shown, value_text(before, self._mask), value_text(after, self._mask)))

    def _named(self, path: str, name: str, before: Any, after: Any, depth: int) -> None:
        """Add the differences of two values under a name, which may say that they are confidential."""
        if is_confidential_name(name):
            self._add(path, _masked(before), _masked(after))
        else:
            self.compare(path, before, after, depth)

    def _members(self, path: str, before: JsonObject, after: JsonObject, depth: int) -> None:
        for key, value in before.items():
            other = after.get(key)
            if not _is_equal(value, other):
                self._named(_member(path, key), key, value, other, depth)
        for key, value in after.items():
            if key not in before:
                self._named(_member(path, key), key, None, value, depth)

    def _elements(self, path: str, before: list[Any], after: list[Any], depth: int) -> None:
        for name in _ELEMENT_NAMES:
            old, new = _by_name(before, name), _by_name(after, name)
            if old is not None and new is not None:
                for key in [*old, *(key for key in new if key not in old)]:
                    self._element(f"{path}[{key}]", key, old.get(key), new.get(key), depth)
                return
        if len(before) == len(after):
            for number, (one, other) in enumerate(zip(before, after, strict=True)):
                self.compare(f"{path}[{number}]", one, other, depth)
            return
        self._add(path, before, after)

    def _element(self, path: str, name: str, before: Any, after: Any, depth: int) -> None:
        """Add the differences of two elements of a list; a name may say that their value is confidential."""
        if is_confidential_name(name):
            before, after = _without_value(before), _without_value(after)
            if before == after:
                self._add(f"{path}.{_NAMED_VALUE}", MASK, MASK)
                return
        self.compare(path, before, after, depth)


def _without_value(element: JsonObject | None) -> JsonObject | None:
    if element is None or _NAMED_VALUE not in element:
        return element
    return {**element, _NAMED_VALUE: _masked(element[_NAMED_VALUE])}


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
