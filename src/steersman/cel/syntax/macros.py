"""Macros: calls that are rewritten while parsing, because their arguments are not values but names and predicates."""

from collections.abc import Callable

from steersman.cel.syntax.tree import (
    ACCUMULATOR,
    Call,
    Comprehension,
    Ident,
    ListExpr,
    Literal,
    MapExpr,
    Node,
    Select,
    copy,
    walk,
)


class MacroError(Exception):
    """The call is a macro, but its arguments are not what it needs."""

    def __init__(self, offset: int, message: str) -> None:
        super().__init__(message)
        self.offset = offset
        self.message = message


def expand(offset: int, function: str, target: Node | None, args: list[Node]) -> Node | None:
    """Expand a call if it is a macro with that many arguments; ``None`` leaves it alone."""
    macro = _MACROS.get((function, len(args), target is not None))
    if macro is None:
        return None
    return macro(_Site(offset), target if target is not None else args[0], args)


class _Site:
    """Builds nodes that all stand at the place of the macro."""

    __slots__ = ("offset",)

    def __init__(self, offset: int) -> None:
        self.offset = offset

    def literal(self, value: object) -> Node:
        return Literal(self.offset, value)

    def accumulator(self) -> Node:
        return Ident(self.offset, ACCUMULATOR)

    def ident(self, name: str) -> Node:
        return Ident(self.offset, name)

    def call(self, function: str, *args: Node) -> Node:
        return Call(self.offset, function, None, list(args))

    def member(self, target: Node, function: str, *args: Node) -> Node:
        return Call(self.offset, function, target, list(args))

    def list_of(self, *elements: Node) -> Node:
        return ListExpr(self.offset, list(elements))

    def bind(self, name: str, value: Node, result: Node) -> Node:
        unused = self.list_of()
        return Comprehension(
            self.offset, unused, "#unused", None, name, value, self.literal(value=False), self.ident(name), result
        )

    def fold(self, loop: "_Loop", init: Node, condition: Node, step: Node, result: Node) -> Node:
        return Comprehension(
            self.offset, loop.target, loop.name, loop.name2, ACCUMULATOR, init, condition, step, result
        )


class _Loop:
    """The range of a macro and its loop variables."""

    __slots__ = ("name", "name2", "target")

    def __init__(self, target: Node, name: Node, name2: Node | None = None) -> None:
        self.target = target
        self.name = _variable(name)
        self.name2 = None
        if name2 is not None:
            self.name2 = _variable(name2)
            if self.name2 == self.name:
                raise MacroError(name2.offset, f"duplicate variable name: {self.name}")
        for place, chosen in ((name, self.name), (name2, self.name2)):
            if place is not None and chosen == "__result__":
                raise MacroError(place.offset, "iteration variable overwrites accumulator variable")


def _variable(node: Node) -> str:
    if not isinstance(node, Ident):
        raise MacroError(node.offset, "argument must be a simple name")
    return node.name


_Macro = Callable[[_Site, Node, list[Node]], Node]


def _has(site: _Site, argument: Node, _args: list[Node]) -> Node:
    if not isinstance(argument, Select) or argument.test_only:
        raise MacroError(argument.offset, "invalid argument to has() macro")
    return Select(site.offset, argument.operand, argument.field, test_only=True)


def _loop(target: Node, args: list[Node], variables: int) -> tuple[_Loop, list[Node]]:
    loop = _Loop(target, args[0], args[1] if variables > 1 else None)
    return loop, args[variables:]


def _all(variables: int) -> _Macro:
    def macro(site: _Site, target: Node, args: list[Node]) -> Node:
        loop, (predicate,) = _loop(target, args, variables)
        go_on = site.call("@not_strictly_false", site.accumulator())
        step = site.call("_&&_", site.accumulator(), predicate)
        return site.fold(loop, site.literal(value=True), go_on, step, site.accumulator())

    return macro


def _exists(variables: int) -> _Macro:
    def macro(site: _Site, target: Node, args: list[Node]) -> Node:
        loop, (predicate,) = _loop(target, args, variables)
        go_on = site.call("@not_strictly_false", site.call("!_", site.accumulator()))
        step = site.call("_||_", site.accumulator(), predicate)
        return site.fold(loop, site.literal(value=False), go_on, step, site.accumulator())

    return macro


def _exists_one(variables: int) -> _Macro:
    def macro(site: _Site, target: Node, args: list[Node]) -> Node:
        loop, (predicate,) = _loop(target, args, variables)
        more = site.call("_+_", site.accumulator(), site.literal(1))
        step = site.call("_?_:_", predicate, more, site.accumulator())
        result = site.call("_==_", site.accumulator(), site.literal(1))
        return site.fold(loop, site.literal(0), site.literal(value=True), step, result)

    return macro


def _filtered(site: _Site, parts: list[Node], step: Callable[[Node], Node]) -> Node:
    """Return the step applied to the last part; with a part before it, only where that holds."""
    if len(parts) == 1:
        return step(parts[0])
    predicate, transform = parts
    return site.call("_?_:_", predicate, step(transform), site.accumulator())


def _transform_list(variables: int) -> _Macro:
    def macro(site: _Site, target: Node, args: list[Node]) -> Node:
        loop, parts = _loop(target, args, variables)
        step = _filtered(site, parts, lambda value: site.call("_+_", site.accumulator(), site.list_of(value)))
        return site.fold(loop, site.list_of(), site.literal(value=True), step, site.accumulator())

    return macro


def _filter(site: _Site, target: Node, args: list[Node]) -> Node:
    loop, (predicate,) = _loop(target, args, 1)
    more = site.call("_+_", site.accumulator(), site.list_of(args[0]))
    step = site.call("_?_:_", predicate, more, site.accumulator())
    return site.fold(loop, site.list_of(), site.literal(value=True), step, site.accumulator())


def _transform_map(site: _Site, target: Node, args: list[Node]) -> Node:
    loop, parts = _loop(target, args, 2)
    step = _filtered(
        site, parts, lambda value: site.call("cel.@mapInsert", site.accumulator(), site.ident(loop.name), value)
    )
    return site.fold(loop, MapExpr(site.offset, []), site.literal(value=True), step, site.accumulator())


def _transform_map_entry(site: _Site, target: Node, args: list[Node]) -> Node:
    loop, parts = _loop(target, args, 2)
    step = _filtered(site, parts, lambda value: site.call("cel.@mapInsert", site.accumulator(), value))
    return site.fold(loop, MapExpr(site.offset, []), site.literal(value=True), step, site.accumulator())


#: The target of these macros is duplicated; a chain of them would double it again and again.
_LARGEST_TARGET = 5_000


def _optional_map(name: str, *, flat: bool) -> _Macro:
    def macro(site: _Site, target: Node, args: list[Node]) -> Node:
        variable, transform = args
        if not isinstance(variable, Ident):
            raise MacroError(variable.offset, f"{name}() variable name must be a simple identifier")
        if len(walk(target)) > _LARGEST_TARGET:
            raise MacroError(target.offset, f"{name}() target is too large")
        mapped = site.bind(variable.name, site.member(copy(target), "value"), transform)
        return site.call(
            "_?_:_",
            site.member(target, "hasValue"),
            mapped if flat else site.call("optional.of", mapped),
            site.call("optional.none"),
        )

    return macro


_SORTABLE = (ListExpr, Select, Ident, Comprehension, Call)


def _sort_by(site: _Site, target: Node, args: list[Node]) -> Node:
    if not isinstance(target, _SORTABLE):
        raise MacroError(
            target.offset, "sortBy can only be applied to a list, identifier, comprehension, call or select expression"
        )
    name = "@__sortBy_input__"
    keys = _transform_list(1)(site, site.ident(name), args)
    return site.bind(name, target, site.member(site.ident(name), "@sortByAssociatedKeys", keys))


_MACROS: dict[tuple[str, int, bool], _Macro] = {
    ("has", 1, False): _has,
    ("all", 2, True): _all(1),
    ("all", 3, True): _all(2),
    ("exists", 2, True): _exists(1),
    ("exists", 3, True): _exists(2),
    ("exists_one", 2, True): _exists_one(1),
    ("exists_one", 3, True): _exists_one(2),
    ("existsOne", 3, True): _exists_one(2),
    ("map", 2, True): _transform_list(1),
    ("map", 3, True): _transform_list(1),
    ("filter", 2, True): _filter,
    ("transformList", 3, True): _transform_list(2),
    ("transformList", 4, True): _transform_list(2),
    ("transformMap", 3, True): _transform_map,
    ("transformMap", 4, True): _transform_map,
    ("transformMapEntry", 3, True): _transform_map_entry,
    ("transformMapEntry", 4, True): _transform_map_entry,
    ("optMap", 2, True): _optional_map("optMap", flat=False),
    ("optFlatMap", 2, True): _optional_map("optFlatMap", flat=True),
    ("sortBy", 2, True): _sort_by,
}
