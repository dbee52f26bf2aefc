"""Compiles a checked tree into closures that evaluate it exactly: values, errors and cost.

This is the reference implementation: whatever the generated code of `fastpath` cannot decide is decided here.

::

    typed tree ──Interpreter.compile──► Code(run, constant) ──run(frame)──► value, or EvaluationError

    frame = [meter, variable 1, variable 2, …, loop variables and accumulators]

Invariants
----------
1. Compiling allocates all slots; evaluating only reads and writes them. `_slots` maps a name to a stack of slots, so an
   inner loop variable shadows an outer one: a method that pushes a slot pops it before returning. `frame_size` never
   shrinks, so no two loops share a slot.
2. The order of evaluation and of `spend` is part of the result, because the cost limit can end an evaluation anywhere:
   operands from left to right, then the price of the operation, then the operation (for a price that depends on the
   result: the operation first). The prices are those of Kubernetes, including its oddities: a variable costs nothing as
   a branch of a conditional or as an index (`_unpriced`), and if an operand of a call with one or two operands fails,
   the others are still evaluated and the call is charged (`_evaluated`).
3. Errors are values of CEL. ``&&``, ``||`` and the conditions of ``all`` and ``exists`` absorb an error if the other
   side decides; so `_logical` evaluates both sides before it raises the first error. A name whose value failed holds
   `Failed`, and raises when read: ``bind`` and folds that absorb errors store it. `CostExceeded` is never absorbed.
4. What is constant is evaluated while compiling. A constant part that fails makes the whole expression invalid
   (`InstantiationError`), as on the server, although it might never be reached.
5. A call with one overload and definite operand types invokes it directly; otherwise `dispatch` chooses by the values,
   because ``dyn`` hides types from the checker.
6. ``map``, ``filter`` and the transforms become `_builder_fold`, which appends in place; other comprehensions run step
   by step in `_generic_fold`. Both are equal in value and cost.
"""

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import chain
from typing import Any

from steersman.cel.checking.overloads import dispatch
from steersman.cel.cost.factors import LIST_CREATE, MAP_CREATE, SELECT, STRUCT_CREATE
from steersman.cel.cost.metering import check_weight, is_flat, price_of
from steersman.cel.errors import EvaluationError, NoSuchOverload
from steersman.cel.evaluation.folds import Builder, Elements, Frame, builder_of, elements_into, pairs_into
from steersman.cel.library import PATCH_FUNCTIONS
from steersman.cel.library.conversions import FOLDED
from steersman.cel.library.regex import compiled
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
    StructExpr,
)
from steersman.cel.types import CelType, Kind
from steersman.cel.values.comparison import contains
from steersman.cel.values.fields import field_of, has_field, optional_field
from steersman.cel.values.values import Absent, CelMap, Present
from steersman.json_types import ABSENT

Run = Callable[[Frame], Any]


class InstantiationError(Exception):
    """The expression can never work: a constant part of it fails."""


@dataclass(frozen=True, slots=True)
class Code:
    """A compiled expression; ``constant`` is its value if known beforehand."""

    run: Run
    constant: Any = ABSENT

    @property
    def is_constant(self) -> bool:
        """Whether nothing has to be evaluated."""
        return self.constant is not ABSENT


@dataclass(frozen=True, slots=True)
class Failed:
    """The value of a name whose evaluation failed; reading it raises the error."""

    error: EvaluationError


def _constant(value: object) -> Code:
    return Code(lambda _frame: value, value)


class Interpreter:
    """Compiles one tree; ``slots`` maps the names of variables to their places in the frame."""

    def __init__(self, variables: Sequence[str]) -> None:
        self._slots: dict[str, list[int]] = {name: [place] for place, name in enumerate(variables, 1)}
        self.frame_size = len(variables) + 1

    def compile(self, node: Node) -> Code:
        """Compile a node and all below it into a closure; raises ``InstantiationError``."""
        match node:
            case Literal():
                return _constant(node.value)
            case Ident():
                return self._ident(node)
            case Select():
                return self._select(node)
            case Call():
                special = _SPECIAL.get(node.function)
                return self._call(node) if special is None else special(self, node)
            case Comprehension():
                return self._comprehension(node)
            case _:
                return self._aggregate(node)

    def _aggregate(self, node: Node) -> Code:
        match node:
            case ListExpr():
                return self._list(node)
            case MapExpr():
                return self._map(node)
            case StructExpr():
                return self._struct(node)
            case _:
                raise InstantiationError(f"not an expression: {node!r}")

    # Names and fields

    def _ident(self, node: Ident, price: int = SELECT) -> Code:
        if node.constant is not None:
            return _constant(node.constant)
        slot = self._slots[node.name][-1]

        def run(frame: Frame) -> object:
            frame[0].spend(price)
            value = frame[slot]
            if value.__class__ is Failed:
                raise value.error
            return value

        return Code(run)

    def _unpriced(self, node: Node) -> Code:
        """Compile a variable or its fields where reading the variable is free: as a branch, as an index."""
        match node:
            case Ident():
                return self._ident(node, 0)
            case Select(test_only=False):
                return self._select(node, self._unpriced(node.operand))
            case _:
                return self.compile(node)

    def _select(self, node: Select, within: Code | None = None) -> Code:
        operand = (within or self.compile(node.operand)).run
        name = node.field
        if node.test_only:
            return Code(lambda frame: has_field(operand(frame), name))

        def run(frame: Frame) -> object:
            container = operand(frame)
            frame[0].spend(SELECT)
            return field_of(container, name)

        return Code(run)

    # Calls

    def _call(self, node: Call) -> Code:
        operands: list[Code] = []
        for operand in node.operands:  # not a comprehension, which would take room on the stack
            operands.append(self.compile(operand))  # noqa: PERF401 - see above
        if node.function == "_[_]" and isinstance(node.args[0], Ident | Select | Call):
            operands[1] = self._unpriced(node.args[1])
        candidates = [PATCH_FUNCTIONS.by_id[overload] for overload in node.overloads]
        exact = node.function in _LENIENT or (
            len(candidates) == 1 and all(_is_definite(operand.type) for operand in node.operands)
        )
        function = candidates[0].run if exact else dispatch(node.function, candidates)
        if node.function in FOLDED and operands[0].is_constant:
            return _folded(function, operands[0].constant)
        if node.function == "@in" and operands[1].constant.__class__ is list:
            return _in_constant(operands[0], operands[1].constant)
        if node.function in ("find", "findAll", "matches") and operands[1].is_constant:
            _check_pattern(operands[1].constant)
        return Code(_invocation(function, [operand.run for operand in operands], node))

    def _dyn(self, node: Call) -> Code:
        return self.compile(node.args[0])

    def _conditional(self, node: Call) -> Code:
        condition = self.compile(node.args[0]).run
        _, first, second = node.args
        then = (self._unpriced(first) if isinstance(first, Ident | Select) else self.compile(first)).run
        otherwise = (self._unpriced(second) if isinstance(second, Ident | Select) else self.compile(second)).run

        def run(frame: Frame) -> object:
            chosen = condition(frame)
            if chosen is True:
                return then(frame)
            if chosen is False:
                return otherwise(frame)
            raise NoSuchOverload

        return Code(run)

    def _logical(self, node: Call) -> Code:
        left, right = (self.compile(arg).run for arg in node.args)
        decisive = node.function == "_||_"

        def run(frame: Frame) -> object:
            error: EvaluationError | None = None
            for side in (left, right):
                try:
                    value = side(frame)
                except EvaluationError as raised:
                    error = error or raised
                    continue
                if value is decisive:
                    return decisive
                if value.__class__ is not bool:
                    error = error or NoSuchOverload()
            if error is not None:
                raise error
            return not decisive

        return Code(run)

    def _not_strictly_false(self, node: Call) -> Code:
        inner = self.compile(node.args[0]).run

        def run(frame: Frame) -> object:
            try:
                value = inner(frame)
            except EvaluationError:
                value = True
            frame[0].spend(1)
            return value is not False

        return Code(run)

    def _optional_select(self, node: Call) -> Code:
        operand = self.compile(node.args[0]).run
        name = node.args[1].value if isinstance(node.args[1], Literal) else ""

        def run(frame: Frame) -> object:
            found = optional_field(operand(frame), name)
            if isinstance(found, Present):
                frame[0].spend(SELECT)
            return found

        return Code(run)

    def _or(self, node: Call) -> Code:
        first, second = (self.compile(operand).run for operand in node.operands)
        unwrap = node.function == "orValue"

        def run(frame: Frame) -> object:
            optional = first(frame)
            if isinstance(optional, Present):
                return optional.value if unwrap else optional
            if isinstance(optional, Absent):
                return second(frame)
            return optional

        return Code(run)

    # Aggregates

    def _list(self, node: ListExpr) -> Code:
        elements = [self.compile(element) for element in node.elements]
        if not node.optional and all(element.is_constant for element in elements):
            return _constant([element.constant for element in elements])
        runs = [element.run for element in elements]
        optional = node.optional

        def plain(frame: Frame) -> object:
            values = [run(frame) for run in runs]
            frame[0].spend(LIST_CREATE)
            return values

        def selective(frame: Frame) -> object:
            values = [run(frame) for run in runs]
            frame[0].spend(LIST_CREATE)
            return list(chain.from_iterable(_kept(place in optional, value) for place, value in enumerate(values)))

        return Code(selective if optional else plain)

    def _map(self, node: MapExpr) -> Code:
        parts = [(self.compile(entry.key), self.compile(entry.value), entry.optional) for entry in node.entries]
        if all(key.is_constant and value.is_constant and not optional for key, value, optional in parts):
            try:
                return _constant(CelMap((key.constant, value.constant) for key, value, _ in parts))
            except EvaluationError as error:
                raise InstantiationError(str(error)) from None

        def run(frame: Frame) -> object:
            pairs = [(key.run(frame), value.run(frame), optional) for key, value, optional in parts]
            frame[0].spend(MAP_CREATE)
            return CelMap((key, kept) for key, value, optional in pairs for kept in _kept(optional, value))

        return Code(run)

    def _struct(self, node: StructExpr) -> Code:
        build = node.build
        assert build is not None, "only checked expressions are compiled"  # noqa: S101 - the checker sets it
        fields = [(field.name, self.compile(field.value).run, field.optional) for field in node.fields]

        def run(frame: Frame) -> object:
            given = {name: kept for name, value, optional in fields for kept in _kept(optional, value(frame))}
            frame[0].spend(STRUCT_CREATE)
            return build(given)

        return Code(run)

    # Comprehensions

    def _slot(self, name: str) -> int:
        slot = self.frame_size
        self.frame_size += 1
        self._slots.setdefault(name, []).append(slot)
        return slot

    def _comprehension(self, node: Comprehension) -> Code:
        if node.is_bind:
            return self._bind(node)
        source = self.compile(node.iter_range).run
        first_slot = self._slot(node.iter_var)
        second_slot = self._slot(node.iter_var2) if node.iter_var2 is not None else None
        elements = pairs_into(first_slot, second_slot) if second_slot is not None else elements_into(first_slot)
        build = builder_of(node)
        try:
            if build is not None:
                return self._builder_fold(source, elements, build)
            return self._generic_fold(node, source, elements)
        finally:
            self._slots[node.iter_var].pop()
            if node.iter_var2 is not None:
                self._slots[node.iter_var2].pop()

    def _bind(self, node: Comprehension) -> Code:
        value = self.compile(node.init).run
        slot = self._slot(node.accumulator)
        result = self.compile(node.result).run
        self._slots[node.accumulator].pop()

        def run(frame: Frame) -> object:
            try:
                frame[slot] = value(frame)
            except EvaluationError as error:
                frame[slot] = Failed(error)
            return result(frame)

        return Code(run)

    def _generic_fold(self, node: Comprehension, source: Run, elements: Elements) -> Code:
        init = self.compile(node.init).run
        slot = self._slot(ACCUMULATOR)
        condition = self.compile(node.condition)
        step = self.compile(node.step).run
        result = self.compile(node.result).run
        self._slots[ACCUMULATOR].pop()
        absorbs = not condition.is_constant

        def run(frame: Frame) -> object:
            container = source(frame)
            frame[slot] = init(frame)
            for _ in elements(frame, container):
                if condition.run(frame) is False:
                    break
                try:
                    frame[slot] = step(frame)
                except EvaluationError as error:
                    if not absorbs:
                        raise
                    frame[slot] = Failed(error)
            return result(frame)

        return Code(run)

    def _builder_fold(self, source: Run, elements: Elements, build: Builder) -> Code:
        """Compile a fold that only adds to a new list or map, so that it need not copy it each time."""
        keep = self.compile(build.predicate).run if build.predicate is not None else None
        values = [self.compile(value).run for value in build.values]
        add, price = build.add, build.price
        make = build.make

        def run(frame: Frame) -> object:
            container = source(frame)
            made = make()
            spend = frame[0].spend
            for _ in elements(frame, container):
                if keep is not None:
                    kept = keep(frame)
                    if kept is False:
                        continue
                    if kept is not True:
                        raise NoSuchOverload
                spend(price)
                made = add(made, *(value(frame) for value in values))
            spend(SELECT)
            return made

        return Code(run)


def _kept(optional: bool, value: object) -> Sequence[object]:
    """Return the value, or what is inside an optional one, or nothing."""
    if not optional:
        return (value,)
    if isinstance(value, Present):
        return (value.value,)
    if isinstance(value, Absent):
        return ()
    raise EvaluationError(f"cannot initialize optional entry from non-optional value {value}")


def _invocation(function: Callable[..., Any], operands: list[Run], node: Call) -> Run:
    price = price_of(node.function, node.overloads)
    takes_lists = any(operand.type.kind in (Kind.LIST, Kind.DYN) for operand in node.operands)
    if is_flat(price) and not takes_lists:
        return _flat_invocation(function, operands)

    def run(frame: Frame) -> object:
        args = _evaluated(frame, operands)
        if takes_lists:
            check_weight(args)
        try:
            result = function(*args)
        except EvaluationError:
            frame[0].spend(price(args, None))
            raise
        frame[0].spend(price(args, result))
        return result

    return run


def _flat_invocation(function: Callable[..., Any], operands: list[Run]) -> Run:
    def run(frame: Frame) -> object:
        args = _evaluated(frame, operands)
        frame[0].spend(1)
        return function(*args)

    return run


_STRICT = 2


def _evaluated(frame: Frame, operands: list[Run]) -> list[Any]:
    """Evaluate the operands of a call; one or two are all evaluated and the call is charged, even if one fails."""
    args: list[Any] = []
    for place, operand in enumerate(operands, 1):
        try:
            args.append(operand(frame))
        except EvaluationError:
            if len(operands) <= _STRICT:
                _pay_for_failure(frame, operands[place:])
            raise
    return args


def _pay_for_failure(frame: Frame, rest: list[Run]) -> None:
    for operand in rest:
        with suppress(EvaluationError):
            operand(frame)
    frame[0].spend(1)


def _folded(function: Callable[..., Any], argument: object) -> Code:
    try:
        return _constant(function(argument))
    except EvaluationError as error:
        raise InstantiationError(str(error)) from None


def _check_pattern(pattern: object) -> None:
    if pattern.__class__ is str:
        try:
            compiled(pattern)
        except EvaluationError as error:
            raise InstantiationError(str(error)) from None


def _in_constant(value: Code, container: Any) -> Code:
    """Return code that looks a value up in a constant list or map; the list costs nothing."""
    kinds = {element.__class__ for element in container} if container.__class__ is list else set()
    members = frozenset(container) if kinds in ({str}, {int}) else frozenset()
    kind = next(iter(kinds)) if members else None

    def run(frame: Frame) -> object:
        wanted = value.run(frame)
        if wanted.__class__ is kind:
            return wanted in members
        return contains(container, wanted)

    return Code(run)


_DEFINITE = frozenset(Kind) - {Kind.DYN, Kind.ERROR, Kind.PARAM}


def _is_definite(kind: CelType) -> bool:
    return kind.kind in _DEFINITE and all(map(_is_definite, kind.params))


#: Operators that look at their operands themselves.
_LENIENT = frozenset({"_[_]", "_[?_]", "_==_", "_!=_", "flatten"})

_SPECIAL: Mapping[str, Callable[[Interpreter, Call], Code]] = {
    "dyn": Interpreter._dyn,  # noqa: SLF001 - the class's own table of special forms
    "_?_:_": Interpreter._conditional,  # noqa: SLF001 - same
    "_&&_": Interpreter._logical,  # noqa: SLF001 - same
    "_||_": Interpreter._logical,  # noqa: SLF001 - same
    "@not_strictly_false": Interpreter._not_strictly_false,  # noqa: SLF001 - same
    "_?._": Interpreter._optional_select,  # noqa: SLF001 - same
    "or": Interpreter._or,  # noqa: SLF001 - same
    "orValue": Interpreter._or,  # noqa: SLF001 - same
}
