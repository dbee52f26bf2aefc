"""`Outline`: the paths of all that a new value sets, found in one walk and remembered by shape.

A value that fits its type, as `fits` says it, has the node that `everything_in` gives; values of the same fields and
items have the very same one. Most objects of a kind have one shape, so their nodes are found instead of made. A value
that does not fit has none, and neither has one with a part so large that remembering it would cost more memory than it
saves time: who asked takes the long way.
"""

from collections.abc import Callable
from typing import Any, Final, TypeVar

from steersman.apiserver.managed_fields.compare import everything_in
from steersman.apiserver.managed_fields.field_set import LEAF, Fields
from steersman.apiserver.managed_fields.field_types import FieldType, ListType, MapType
from steersman.apiserver.managed_fields.typed import fits
from steersman.json_types import JsonObject

#: Gives the node of a value, or nothing for one that does not fit.
_NodeOf = Callable[[Any], Fields | None]

#: The keys of a map in their order, and behind them the classes of what is below them.
_Shape = tuple[object, ...]

#: A node beside those of the parts by whose addresses it is found: they live as long as it does, so that their
#: addresses cannot be reused meanwhile.
_Made = tuple[Fields, list[Fields]]

#: Shapes that are remembered at one place of a type: many for a kind, few for a server.
_MOST: Final = 256
#: Keys or items of one map or list in a shape that is remembered.
_LARGEST: Final = 64

K = TypeVar("K")
V = TypeVar("V")


class Outline:
    """One place of a type, and the nodes of the values that were met there."""

    __slots__ = ("_items", "_kind", "_lists", "_places", "_plans", "of_list", "of_map")

    def __init__(self, kind: FieldType, places: "dict[int, Outline] | None" = None) -> None:
        self._kind = kind
        #: The nodes found so far, by the identity of their type, because types may be cyclic.
        self._places: dict[int, Outline] = {} if places is None else places
        self._places[id(kind)] = self
        self._plans: dict[_Shape, _Plan] = {}
        self._lists: dict[tuple[tuple[str, ...], tuple[int, ...]], _Made] = {}
        is_granular_map = kind.map is not None and not kind.map.is_atomic
        is_granular_list = kind.list is not None and not kind.list.is_atomic
        self._items = self._place(kind.list.element) if kind.list is not None and is_granular_list else self
        self.of_map: _NodeOf = self._of_map if is_granular_map else self._of_whole
        self.of_list: _NodeOf = self._of_list if is_granular_list else self._of_whole

    def of(self, value: object) -> Fields | None:
        """Return the node of a value, which must not be changed; ``None`` if the value does not fit or is large."""
        if value.__class__ is dict:
            return self.of_map(value)
        return self.of_list(value) if value.__class__ is list else self._of_whole(value)

    def _of_whole(self, value: object) -> Fields | None:
        """Return the node of a value whose parts cannot be owned separately."""
        return everything_in(value, self._kind) if fits(value, self._kind) else None

    def _of_map(self, value: JsonObject) -> Fields | None:
        if len(value) > _LARGEST:
            return None
        shape = (*value, *map(type, value.values()))
        plan = self._plans.get(shape) or _remember(self._plans, shape, self._plan(value))
        if not plan.inside:
            return plan.node
        nodes = []
        for key, node_of in plan.inside:
            node = node_of(value[key])
            if node is None:
                return None
            nodes.append(node)
        addresses = tuple(map(id, nodes))
        made = plan.made.get(addresses)
        if made is None:
            made = _remember(plan.made, addresses, (everything_in(value, self._kind), nodes))
        return made[0]

    def _plan(self, value: JsonObject) -> "_Plan":
        """Collect what the node of a map depends on, beside its shape."""
        branch = self._kind.map
        assert branch is not None, "only a type of maps has a plan for them"  # noqa: S101 - see __init__
        inside = {key: below for key, below in value.items() if below.__class__ is dict or below.__class__ is list}
        # Whether a scalar fits is a matter of its class, and so of the shape.
        plain = {key: below for key, below in value.items() if key not in inside}
        if not fits(plain, self._kind) or not all(_declared(branch, key) for key in inside):
            return _Plan(None)
        if not inside:
            return _Plan(everything_in(value, self._kind))
        return _Plan(LEAF, tuple((key, self._below(branch, key, below)) for key, below in inside.items()))

    def _below(self, branch: MapType, key: str, below: object) -> _NodeOf:
        place = self._place(branch.type_of(key))
        return place.of_map if below.__class__ is dict else place.of_list

    def _of_list(self, value: list[object]) -> Fields | None:
        if len(value) > _LARGEST:
            return None
        items, nodes = self._items, []
        for item in value:
            node = items.of_map(item) if item.__class__ is dict else items.of(item)
            if node is None:
                return None
            nodes.append(node)
        elements = _elements(value, self._kind.list)
        if elements is None:
            return None
        key = (elements, tuple(map(id, nodes)))
        made = self._lists.get(key)
        if made is None:
            made = _remember(self._lists, key, (everything_in(value, self._kind), nodes))
        return made[0]

    def _place(self, kind: FieldType) -> "Outline":
        return self._places.get(id(kind)) or Outline(kind, self._places)


class _Plan:
    """What the nodes of maps of one shape depend on."""

    __slots__ = ("inside", "made", "node")

    def __init__(self, node: Fields | None, inside: tuple[tuple[str, _NodeOf], ...] = ()) -> None:
        #: The node of every such map, if it is empty; ``None`` if such maps do not fit.
        self.node = node
        #: The keys of what has parts, and how to get their nodes.
        self.inside = inside
        #: Nodes by the addresses of the nodes inside.
        self.made: dict[tuple[int, ...], _Made] = {}


def _declared(branch: MapType, key: str) -> FieldType | None:
    return branch.fields.get(key) or branch.element


def _elements(value: list[object], branch: ListType | None) -> tuple[str, ...] | None:
    assert branch is not None, "only a type of lists has elements"  # noqa: S101 - see Outline.__init__
    try:
        return tuple(map(branch.element_of, value))
    except ValueError:
        return None


def _remember(known: dict[K, V], key: K, value: V) -> V:
    if len(known) >= _MOST:
        known.clear()
    known[key] = value
    return value
