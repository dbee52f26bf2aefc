"""How comprehensions go through lists and maps, and which of them only build a new one."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from steersman.cel.cost.factors import LIST_CREATE, SELECT
from steersman.cel.errors import NoSuchOverload
from steersman.cel.syntax.tree import Call, Comprehension, ListExpr, MapExpr, Node
from steersman.cel.values.shapes import LIST_CLASSES, MAP_CLASSES, find, keys_of
from steersman.cel.values.values import CelMap

Frame = list[Any]
Elements = Callable[[Frame, Any], Any]


def elements_into(slot: int) -> Elements:
    """Return an iteration that stores the elements of a list or the keys of a map in a slot of the frame."""

    def elements(frame: Frame, container: object) -> Any:
        for frame[slot] in _iterated(container):
            yield

    return elements


def pairs_into(first: int, second: int) -> Elements:
    """Return an iteration that stores indexes and elements of a list, or keys and values of a map, in two slots."""

    def elements(frame: Frame, container: Any) -> Any:
        pairs = enumerate(container) if container.__class__ in LIST_CLASSES else _map_items(container)
        for frame[first], frame[second] in pairs:
            yield

    return elements


def _iterated(container: object) -> Any:
    if container.__class__ in LIST_CLASSES:
        return container
    if container.__class__ in MAP_CLASSES:
        return keys_of(container)
    raise NoSuchOverload


def _map_items(container: Any) -> Any:
    if container.__class__ in MAP_CLASSES:
        return container.items()
    raise NoSuchOverload


@dataclass(frozen=True, slots=True)
class Builder:
    """A step that adds to the accumulator: what is added, how, and under which condition."""

    values: list[Node]
    add: Callable[..., Any]
    price: int
    make: Callable[[], Any]
    predicate: Node | None = None


def _append(made: list[object], value: object) -> list[Any]:
    made.append(value)
    return made


def _insert(made: CelMap, key: object, value: object) -> CelMap:
    made.insert(key, value, "insert failed: key {} already exists")
    return made


def _insert_all(made: CelMap, more: object) -> CelMap:
    for key in keys_of(more):
        _insert(made, key, find(more, key))
    return made


def builder_of(node: Comprehension) -> Builder | None:
    """Return the builder of the steps of ``map``, ``filter`` and the ``transform`` macros; ``None`` for other steps."""
    step, predicate = node.step, None
    if isinstance(step, Call) and step.function == "_?_:_" and isinstance(node.init, ListExpr | MapExpr):
        predicate, step = step.args[0], step.args[1]
    if not isinstance(step, Call):
        return None
    if step.function == "_+_" and isinstance(node.init, ListExpr):
        added = step.args[1]
        if isinstance(added, ListExpr):
            return Builder(added.elements, _append, SELECT + LIST_CREATE + 1, list, predicate)
    if step.function == "cel.@mapInsert":
        insert = _insert if len(step.args) == 3 else _insert_all  # noqa: PLR2004 - accumulator, key, value
        return Builder(step.args[1:], insert, SELECT + 1, CelMap, predicate)
    return None
