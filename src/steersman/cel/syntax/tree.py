"""The nodes of an expression: the parser builds them, the checker annotates them and the back ends read them.

Every node has its position in the source. ``type`` is filled in by the checker. Nodes are never shared between two
places of a tree.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from steersman.cel.types import DYN, CelType


@dataclass(slots=True, eq=False)
class Node:
    """What all expressions have: a place, and after checking a type."""

    offset: int
    type: CelType = field(default=DYN, init=False)


@dataclass(slots=True, eq=False)
class Literal(Node):
    """A constant: bool, int, Uint, float, str, bytes or None."""

    value: Any


@dataclass(slots=True, eq=False)
class Ident(Node):
    """A name: a variable, or after checking a type such as ``int`` or ``google.protobuf.Timestamp``."""

    name: str
    #: The value of a name that stands for a constant (types do), set by the checker.
    constant: Any = field(default=None, init=False)


@dataclass(slots=True, eq=False)
class Select(Node):
    """``operand.field``, or ``has(operand.field)`` when it only tests."""

    operand: Node
    field: str
    test_only: bool = False


@dataclass(slots=True, eq=False)
class Call(Node):
    """A function or operator; ``target`` is set for ``target.function(...)``."""

    function: str
    target: Node | None
    args: list[Node]
    #: The overloads that may apply, by id; one unless dynamic types leave several.
    overloads: list[str] = field(default_factory=list, init=False)

    @property
    def operands(self) -> list[Node]:
        """Target, if any, and arguments: what the function is called with."""
        return self.args if self.target is None else [self.target, *self.args]


@dataclass(slots=True, eq=False)
class ListExpr(Node):
    """``[a, ?b]``; ``optional`` holds the places of elements that are left out when they are none."""

    elements: list[Node]
    optional: frozenset[int] = frozenset()


@dataclass(slots=True, eq=False)
class Entry:
    """``key: value`` of a map literal, ``?key: value`` when it may be left out."""

    key: Node
    value: Node
    optional: bool = False


@dataclass(slots=True, eq=False)
class MapExpr(Node):
    """``{key: value}``."""

    entries: list[Entry]


@dataclass(slots=True, eq=False)
class StructExpr(Node):
    """``Name{field: value}``."""

    name: str
    fields: list["StructField"]
    #: Makes the value from the fields; known once the type is.
    build: Callable[[Mapping[str, Any]], Any] | None = field(default=None, init=False)

    @property
    def values(self) -> list[Node]:
        """The values of the fields."""
        return [field.value for field in self.fields]


@dataclass(slots=True, eq=False)
class StructField:
    """``field: value`` of an object, or ``?field: optional``; its position is that of its colon."""

    offset: int
    name: str
    value: Node
    optional: bool = False


@dataclass(slots=True, eq=False)
class Comprehension(Node):
    """A fold over a list or map: what macros expand to.

    ``accumulator = init``; for each element, while ``condition``: ``accumulator = step``; the value is ``result``.
    A fold over an empty list literal whose accumulator is a name of the author is a local binding.
    """

    iter_range: Node
    iter_var: str
    iter_var2: str | None
    accumulator: str
    init: Node
    condition: Node
    step: Node
    result: Node

    @property
    def is_bind(self) -> bool:
        """True when this only names the value of ``init`` within ``result``."""
        return self.accumulator != ACCUMULATOR


#: The accumulator of the built-in macros; no author can write this name.
ACCUMULATOR = "@result"


def children(node: Node) -> list[Node]:
    """Return every direct sub-expression, in source order."""
    match node:
        case Select():
            return [node.operand]
        case Call():
            return node.operands
        case ListExpr():
            return node.elements
        case MapExpr():
            return [part for entry in node.entries for part in (entry.key, entry.value)]
        case StructExpr():
            return node.values
        case Comprehension():
            return [node.iter_range, node.init, node.condition, node.step, node.result]
        case _:
            return []


def depth_exceeds(root: Node, limit: int) -> bool:
    """Return whether any path from the root is longer than the limit, without recursing."""
    level = [root]
    for _ in range(limit):
        level = [child for node in level for child in children(node)]
        if not level:
            return False
    return True


def walk(root: Node) -> list[Node]:
    """Return every node of the tree, parents before children, without recursing."""
    found = [root]
    for node in found:
        found.extend(children(node))
    return found


def copy(node: Node) -> Node:
    """Return a copy of an unchecked tree, so that a macro can use an operand twice."""
    match node:
        case Literal():
            return Literal(node.offset, node.value)
        case Ident():
            return Ident(node.offset, node.name)
        case Select():
            return Select(node.offset, copy(node.operand), node.field, node.test_only)
        case Call():
            target = None if node.target is None else copy(node.target)
            return Call(node.offset, node.function, target, [copy(arg) for arg in node.args])
        case ListExpr():
            return ListExpr(node.offset, [copy(element) for element in node.elements], node.optional)
        case _:
            return _copy_compound(node)


def _copy_compound(node: Node) -> Node:
    match node:
        case MapExpr():
            entries = [Entry(copy(entry.key), copy(entry.value), entry.optional) for entry in node.entries]
            return MapExpr(node.offset, entries)
        case StructExpr():
            fields = [StructField(part.offset, part.name, copy(part.value), part.optional) for part in node.fields]
            return StructExpr(node.offset, node.name, fields)
        case Comprehension():
            return Comprehension(
                node.offset,
                copy(node.iter_range),
                node.iter_var,
                node.iter_var2,
                node.accumulator,
                copy(node.init),
                copy(node.condition),
                copy(node.step),
                copy(node.result),
            )
        case _:
            raise TypeError(f"not an expression: {node!r}")
