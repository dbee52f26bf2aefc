"""Sets of field paths: the FieldsV1 tree itself, and the algebra on it.

A node is a dict from path element to node. It is a *member* of the set iff it is empty or has the key ``"."``;
otherwise it only leads to members. The root is never a member: an empty root is the empty set. No function changes its
arguments; results share nodes with them.
"""

from collections.abc import Iterator
from typing import Final

import msgspec

from steersman.apiserver.managed_fields.path_element import canonical, display
from steersman.json_types import JsonObject

Fields = JsonObject

#: The node of a member without members below it. Never changed.
LEAF: Final[Fields] = {}

_SELF: Final = "."


def is_member(node: Fields) -> bool:
    """Return whether the path to this node is in the set."""
    return not node or _SELF in node


def union(left: Fields, right: Fields) -> Fields:
    """Return the paths that are in either set."""
    if not left or left is right:
        return right
    if not right:
        return left
    return _union_children(left, right)


def _union_children(left: Fields, right: Fields) -> Fields:
    result = dict(left)
    for element, node in right.items():
        mine = result.get(element)
        result[element] = node if mine is None else union_nodes(mine, node)
    return result


def union_nodes(left: Fields, right: Fields) -> Fields:
    """Unite two nodes below the root, where an empty node is a member."""
    if left is right:
        return left
    if not right:
        return as_member(left)
    if not left:
        return as_member(right)
    return _union_children(left, right)


def as_member(node: Fields) -> Fields:
    """Return the node with its own path in the set."""
    return node if not node or _SELF in node else {_SELF: LEAF, **node}


def intersection(left: Fields, right: Fields) -> Fields:
    """Return the paths that are in both sets."""
    if len(right) < len(left):
        left, right = right, left
    result: Fields = {}
    for element, node in left.items():
        other = right.get(element)
        if other is not None and element != _SELF:
            both = _intersect_nodes(node, other)
            if both is not None:
                result[element] = both
    return result


def _intersect_nodes(left: Fields, right: Fields) -> Fields | None:
    below = intersection(left, right) if left and right else LEAF
    if is_member(left) and is_member(right):
        return as_member(below)
    return below or None


def difference(left: Fields, right: Fields) -> Fields:
    """Return the paths of the left set that are not in the right one; a parent and its children are independent."""
    if not right or not left:
        return left
    result: Fields = {}
    for element, node in left.items():
        other = right.get(element)
        if other is None:
            result[element] = node
        elif element != _SELF:
            rest = _subtract_node(node, other)
            if rest is not None:
                result[element] = rest
    return result


def _subtract_node(left: Fields, right: Fields) -> Fields | None:
    stays = is_member(left) and not is_member(right)
    below = {element: node for element, node in difference(left, right).items() if element != _SELF} if left else LEAF
    if stays:
        return as_member(below)
    return below or None


def recursive_difference(left: Fields, right: Fields) -> Fields:
    """Return the paths of the left set that are neither in the right one nor below one of its members."""
    if not right:
        return left
    result: Fields = {}
    for element, node in left.items():
        other = right.get(element)
        if other is None or element == _SELF:
            result[element] = node
        elif not is_member(other):
            rest = recursive_difference(node, other)
            if is_member(node):
                result[element] = rest if len(rest) > 1 else LEAF
            elif rest:
                result[element] = rest
    return result


def is_subset(left: Fields, right: Fields) -> bool:
    """Return whether every path of the left set is in the right one."""
    if left == right:
        return True
    for element, node in left.items():
        if element == _SELF:
            continue
        other = right.get(element)
        if other is None or (is_member(node) and not is_member(other)) or (node and not is_subset(node, other)):
            return False
    return True


def set_of(*paths: tuple[str, ...]) -> Fields:
    """Build a set from paths of field names: ``set_of(("spec", "replicas"), ("status",))``."""
    result: Fields = {}
    for path in paths:
        node: Fields = LEAF
        for name in reversed(path):
            node = {f"f:{name}": node}
        result = union(result, node)
    return result


def paths(fields: Fields, prefix: str = "") -> Iterator[str]:
    """Yield the members as text, sorted, each before what is below it."""
    for element in sorted(fields):
        if element == _SELF:
            continue
        here = prefix + display(element)
        if is_member(fields[element]):
            yield here
        yield from paths(fields[element], here)


def parse(value: object) -> Fields:
    """Read FieldsV1 that a client sent: written our way, path elements of unknown kinds left out.

    Raises ValueError if it is not FieldsV1.
    """
    if value.__class__ is not dict:
        raise ValueError("fieldsV1 must be an object")
    return _parse_children(value)


def _parse_children(value: JsonObject) -> Fields:
    result: Fields = {}
    for element, below in value.items():
        if below.__class__ is not dict:
            raise ValueError(f"{element!r} must be an object")
        if element == _SELF:
            continue
        try:
            name = canonical(element)
        except msgspec.DecodeError as error:
            raise ValueError(f"not a path element: {element!r}") from error
        if name is not None and (node := _parse_node(below)) is not None:
            result[name] = union_nodes(result[name], node) if name in result else node
    return result


def _parse_node(value: JsonObject) -> Fields | None:
    below = _parse_children(value)
    if not value or _SELF in value:
        return as_member(below)
    return below or None
