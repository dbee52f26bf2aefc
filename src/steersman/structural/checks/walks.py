"""Walks over values that stop only at chosen nodes: duplicates in lists, embedded resources.

Subtrees of the schema without such nodes are never entered.
"""

from collections.abc import Callable

from steersman.structural.checks.relative_errors import Check, MapKey, RelativeError, gather
from steersman.structural.checks.value_checks import all_of
from steersman.structural.schema import Structural

#: Returns the check of a single node; ``None`` if the node needs none.
OfNode = Callable[[Structural], Check | None]


def _into_fields(node: Structural, of_node: OfNode) -> Check | None:
    walks = {name: walk for name, child in node.properties.items() if (walk := walk_of(child, of_node))}
    if not walks:
        return None

    def check(value: object) -> list[RelativeError] | None:
        if value.__class__ is not dict:
            return None
        found: list[RelativeError] | None = None
        for name, walk in walks.items():
            if name in value and (bad := walk(value[name])):
                found = gather(found, bad, name)
        return found

    return check


def _into_others(node: Structural, of_node: OfNode) -> Check | None:
    walk = walk_of(node.values, of_node) if node.values is not None else None
    declared = node.properties
    if walk is None:
        return None

    def check(value: object) -> list[RelativeError] | None:
        if value.__class__ is not dict:
            return None
        found: list[RelativeError] | None = None
        for name, child in value.items():
            if name not in declared and (bad := walk(child)):
                found = gather(found, bad, MapKey(name))
        return found

    return check


def _into_list(node: Structural, of_node: OfNode) -> Check | None:
    walk = walk_of(node.items, of_node) if node.items is not None else None
    if walk is None:
        return None

    def check(value: object) -> list[RelativeError] | None:
        if value.__class__ is not list:
            return None
        found: list[RelativeError] | None = None
        for index, item in enumerate(value):
            if bad := walk(item):
                found = gather(found, bad, index)
        return found

    return check


def walk_of(node: Structural, of_node: OfNode) -> Check | None:
    """Build the walk over values of a node; nothing if there is nothing to visit in it."""
    parts = (of_node(node), _into_fields(node, of_node), _into_others(node, of_node), _into_list(node, of_node))
    return all_of([part for part in parts if part is not None])
