"""What differs between two objects, as sets of paths: removed, modified, added.

A leaf (scalar, atomic part, or a container that is empty on both sides) differs as a whole. Where a container exists on
one side only, it is added or removed itself, with everything below it.
"""

from typing import Any, Final, NamedTuple

from steersman.apiserver.managed_fields.field_set import LEAF, Fields, recursive_difference, union, union_nodes
from steersman.apiserver.managed_fields.field_types import DEDUCED, FieldType, ListType, MapType
from steersman.golang.equality import json_equal
from steersman.json_types import ABSENT, JsonObject

#: Nodes of the removed, modified and added sets at one place; ``None`` where there is nothing.
_Delta = tuple[Fields | None, Fields | None, Fields | None]
_MODIFIED: Final[_Delta] = (None, LEAF, None)


class Comparison(NamedTuple):
    """The paths in which a new object differs from an old one."""

    removed: Fields
    modified: Fields
    added: Fields

    @property
    def is_empty(self) -> bool:
        """Whether nothing differs."""
        return not (self.removed or self.modified or self.added)

    @property
    def set_now(self) -> Fields:
        """Fields that the new object sets, and that the old one did not set or set to another value."""
        return union(self.modified, self.added)

    @property
    def all(self) -> Fields:
        """Every path in which they differ."""
        return union(self.set_now, self.removed)

    def without(self, fields: Fields) -> "Comparison":
        """Leave out some fields and all that is below them."""
        if not fields or self.is_empty:
            return self
        return Comparison(
            recursive_difference(self.removed, fields),
            recursive_difference(self.modified, fields),
            recursive_difference(self.added, fields),
        )


def compare(old: object, new: object, kind: FieldType) -> Comparison:
    """Compare two objects of one type; raises ValueError where a list has an item without a path element."""
    delta = _compare(old, new, kind)
    if delta is None:
        return Comparison({}, {}, {})
    return Comparison(*(part or {} for part in delta))


def everything_in(value: object, kind: FieldType) -> Fields:
    """Return the node of an added value: the paths of everything in it, and its own."""
    if value.__class__ is dict:
        inside = kind.map
        return LEAF if inside is None or inside.is_atomic or not value else _everything_in_map(value, inside)
    if value.__class__ is list:
        items = kind.list
        return LEAF if items is None or items.is_atomic or not value else _everything_in_list(value, items)
    return LEAF


def _everything_in_map(value: JsonObject, branch: MapType) -> Fields:
    result: Fields = {".": LEAF}
    fields, names, other = branch.fields, branch.names, branch.element or DEDUCED
    for key, below in value.items():
        kind = fields.get(key)
        element = names[key] if kind is not None else "f:" + key
        if below.__class__ is dict or below.__class__ is list:
            result[element] = everything_in(below, kind or other)
        else:
            result[element] = LEAF
    return result


def _everything_in_list(value: list[object], branch: ListType) -> Fields:
    result: Fields = {".": LEAF}
    for item in value:
        element = _element_of(item, value, branch)
        # Several items of one path element are one bare member.
        result[element] = LEAF if element in result else everything_in(item, branch.element)
    return result


def _element_of(item: object, items: list[object], branch: ListType) -> str:
    try:
        return branch.element_of(item)
    except ValueError as error:
        raise ValueError(f"element {items.index(item)}: {error}") from None


def _grouped(items: list[object], branch: ListType) -> dict[str, list[Any]]:
    """Return the items by path element; live objects may have duplicates."""
    result: dict[str, list[Any]] = {}
    for item in items:
        result.setdefault(_element_of(item, items, branch), []).append(item)
    return result


def _compare(old: object, new: object, kind: FieldType) -> _Delta | None:
    if old is new:
        return None
    old_branch, new_branch = kind.branch_of(old), kind.branch_of(new)
    if old_branch is new_branch or _has_one_branch(kind):
        return _compare_branch(old, new, new_branch)
    # Different branches: the results of both count.
    first, second = _compare_branch(old, new, old_branch), _compare_branch(old, new, new_branch)
    if first is None or second is None:
        return first or second
    removed, modified, added = (_either(*parts) for parts in zip(first, second, strict=True))
    return removed, modified, added


def _has_one_branch(kind: FieldType) -> bool:
    return (kind.map is not None) + (kind.list is not None) + (kind.scalar is not None) == 1


def _either(left: Fields | None, right: Fields | None) -> Fields | None:
    if left is None or right is None:
        return right if left is None else left
    return union_nodes(left, right)


def _compare_branch(old: object, new: object, branch: MapType | ListType | str) -> _Delta | None:
    if branch.__class__ is MapType:
        left = old if old.__class__ is dict else {}
        right = new if new.__class__ is dict else {}
        if (left or right) and not branch.is_atomic:
            return _compare_maps(left, right, branch)
    elif branch.__class__ is ListType:
        before = old if old.__class__ is list else []
        after = new if new.__class__ is list else []
        if (before or after) and not branch.is_atomic:
            return _compare_lists(before, after, branch)
    return None if json_equal(old, new) else _MODIFIED


def _compare_maps(old: JsonObject, new: JsonObject, branch: MapType) -> _Delta | None:
    collector = _Collector()
    fields, names = branch.fields, branch.names
    for key, value in new.items():
        before = old.get(key, ABSENT)
        if before is value:
            continue
        kind = fields.get(key) or branch.type_of(key)
        if before is ABSENT:
            collector.added[names.get(key) or "f:" + key] = everything_in(value, kind)
        elif not (before == value and _is_same_if_equal(before, value, kind)):
            collector.take(names.get(key) or "f:" + key, _compare(before, value, kind))
    for key, value in old.items():
        if key not in new:
            kind = fields.get(key) or branch.type_of(key)
            collector.removed[names.get(key) or "f:" + key] = everything_in(value, kind)
    return collector.delta()


def _is_same_if_equal(old: object, new: object, kind: FieldType) -> bool:
    """Return whether values that are equal in Python are certainly the same: this makes small changes cheap."""
    return kind.is_tight or (kind is DEDUCED and json_equal(old, new))


def _compare_lists(old: list[object], new: list[object], branch: ListType) -> _Delta | None:
    collector = _Collector()
    before, after = _grouped(old, branch), _grouped(new, branch)
    is_tight = branch.element.is_tight
    for element in {**before, **after}:
        left, right = before.get(element, []), after.get(element, [])
        if is_tight and left == right:
            continue
        if len(left) == 1 and len(right) == 1:
            collector.take(element, _compare(left[0], right[0], branch.element))
        elif len(left) > 1 and len(right) > 1:
            if not json_equal(left, right):
                collector.modified[element] = LEAF
        else:
            _compare_groups(element, left, right, branch, collector)
    return collector.delta()


def _compare_groups(
    element: str, left: list[object], right: list[object], branch: ListType, collector: "_Collector"
) -> None:
    """Compare items with the same key if one side has none or several; several count as one member without content."""
    if left:
        collector.removed[element] = LEAF if len(left) > 1 else everything_in(left[0], branch.element)
    if right:
        collector.added[element] = LEAF if len(right) > 1 else everything_in(right[0], branch.element)


class _Collector:
    """The children of one node in the three sets."""

    __slots__ = ("added", "modified", "removed")

    def __init__(self) -> None:
        self.removed: Fields = {}
        self.modified: Fields = {}
        self.added: Fields = {}

    def take(self, element: str, delta: _Delta | None) -> None:
        if delta is None:
            return
        removed, modified, added = delta
        if removed is not None:
            self.removed[element] = removed
        if modified is not None:
            self.modified[element] = modified
        if added is not None:
            self.added[element] = added

    def delta(self) -> _Delta | None:
        if not (self.removed or self.modified or self.added):
            return None
        return self.removed or None, self.modified or None, self.added or None
